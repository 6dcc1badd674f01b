"""The story: what an operator does with a bus, from the first command to the last."""

import json

from run import Failed

# How long AWS may take to show a change everywhere, in seconds. Attributes of queues take up to 60 (S4).
SETTLED = 180

# How often a probe of the bus is repeated. A new rule may miss the first (E1).
PROBES = 4

# The clusters. No real cluster has such a name, so no events arrive for them.
ONE, TWO = "kibus-rt-one", "kibus-rt-two"

# What `verify` must report of the drift.
DRIFT = {"K102", "K111", "K210", "K223"}


def tell(run):
    """Runs every step."""
    role = run.role("controller")
    create_role(run, role, {"Service": "ec2.amazonaws.com"})
    # The queue template keeps them apart from all other clusters in the account.
    bootstrap = ["bootstrap-hub", "--queue-name", f"{run.bus}-c-{{cluster}}", "--yes"]
    add_one = ["add-cluster", ONE, "--no-eks-check", "--controller-role", role, "--yes"]
    add_two = ["add-cluster", TWO, "--no-eks-check", "--no-controller-role", "--yes"]
    for words in [
        bootstrap, "probe", add_one, add_two, "clean",
        "drift", bootstrap, add_one, "clean", "probe",
        ["remove-cluster", ONE, TWO, "--yes"], add_one, "clean",
        ["teardown", "--yes"], bootstrap, "clean", "probe", ["teardown", "--yes"],
    ]:
        if words == "probe":
            probe(run)
        elif words == "clean":
            clean(run)
        elif words == "drift":
            drift(run, role)
        else:
            code, _, text = run.kibus(*words)
            if code != 0:
                raise Failed(text)
            run.tell(" ".join(words[: next(at for at, word in enumerate(words) if word.startswith("--"))]))


def create_role(run, name, principal):
    """Creates a role that this principal can assume."""
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    run.call("iam", "create_role", RoleName=name, AssumeRolePolicyDocument=trust)


def delete_policies(run, role):
    for policy in run.call("iam", "list_role_policies", RoleName=role)["PolicyNames"]:
        run.call("iam", "delete_role_policy", RoleName=role, PolicyName=policy)


def delete_role(run, role):
    """Deletes a role with its inline policies. IAM may still see those that were just deleted (I4)."""

    def deleted():
        policies = run.ok("iam", "list_role_policies", RoleName=role) or {"PolicyNames": []}
        for policy in policies["PolicyNames"]:
            run.ok("iam", "delete_role_policy", RoleName=role, PolicyName=policy)
        return run.ok("iam", "delete_role", RoleName=role)

    run.until(SETTLED, deleted, otherwise="a role cannot be deleted")


def reported(run, words, is_expected, what):
    """Waits until a command reports the expected result."""
    last = ""

    def asked():
        nonlocal last
        code, stdout, last = run.kibus(*words)
        return is_expected(code, stdout) or None

    ended = run.until(SETTLED, asked)
    if not ended:
        raise Failed(f"{what} does not come:\n{last}")
    run.tell(f"{what} after {ended[1]:.1f} s")


def clean(run):
    """Waits until `verify` finds nothing."""
    reported(run, ["verify"], lambda code, _: code == 0, "verify: no findings")


def probe(run):
    """Sends probes until one arrives. Nothing reads the queues of the clusters, which `verify` reports too."""
    for time in range(1, PROBES + 1):
        _, stdout, text = run.kibus("verify", "--probe")
        if "probe delivered through the bus" in stdout:
            return run.tell(f"verify --probe: delivered, run {time}")
    raise Failed(f"no probe arrives:\n{text}")


def drift(run, controller):
    """Makes changes that an operator might make by accident, and waits until `verify` reports all of them."""

    def changed():
        # A queue is not found everywhere immediately (S3).
        url = run.ok("sqs", "get_queue_url", QueueName=f"{run.bus}-c-{ONE}")
        return url and run.ok("sqs", "set_queue_attributes", QueueUrl=url["QueueUrl"], Attributes={"VisibilityTimeout": "77"})

    run.until(SETTLED, changed, otherwise="the queue of a cluster cannot be changed")
    run.call("events", "disable_rule", Name=f"{run.bus}-spot-interruption")
    delete_policies(run, controller)
    # A role that is deleted and created again has another identity (L19), so this is the hardest case.
    delete_role(run, f"{run.bus}-router-{run.region}")

    def is_reported(_, stdout):
        hubs = json.loads(stdout or "{}").get("hubs") or [{}]
        return DRIFT <= {problem.get("code") for problem in hubs[0].get("problems", [])}

    reported(run, ["verify", "--output", "json"], is_reported, f"drift: {', '.join(sorted(DRIFT))}")
