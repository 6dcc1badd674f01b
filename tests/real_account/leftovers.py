"""What a run leaves behind, and its deletion. All names begin with the name of a bus of this program."""

import re

from run import PREFIX, Failed, Unseen

# How many consecutive times nothing must be found. Lists lag (S21).
TIMES = 3

# How often the deletion is tried, a second apart: a deleted queue is listed for up to a minute (S21).
TRIES = 300


def found(run, prefix):
    """Everything with this name prefix: its kind, its name, and the calls that delete it. Dependent resources come first."""

    def add(kind, name, *calls):
        if name.startswith(prefix):
            all.append((kind, name, calls))

    all = []
    for mapping in run.all("lambda", "list_event_source_mappings", "EventSourceMappings"):
        add("mapping", mapping["EventSourceArn"].split(":")[-1], ("lambda", "delete_event_source_mapping", {"UUID": mapping["UUID"]}))
    for rule in run.all("events", "list_rules", "Rules", NamePrefix=prefix):
        name = rule["Name"]
        targets = [target["Id"] for target in run.all("events", "list_targets_by_rule", "Targets", Rule=name)]
        calls = [("events", "remove_targets", {"Rule": name, "Ids": targets})] if targets else []
        add("rule", name, *calls, ("events", "delete_rule", {"Name": name}))
    for function in run.all("lambda", "list_functions", "Functions"):
        name = function["FunctionName"]
        add("function", name, ("lambda", "delete_function", {"FunctionName": name}))
    for url in run.all("sqs", "list_queues", "QueueUrls", QueueNamePrefix=prefix, MaxResults=1000):
        add("queue", url.split("/")[-1], ("sqs", "delete_queue", {"QueueUrl": url}))
    for role in run.all("iam", "list_roles", "Roles"):
        name = role["RoleName"]
        # Roles have no Region. A run in another Region may need the roles with its name.
        if name.startswith(prefix) and name.endswith(run.region):
            policies = run.all("iam", "list_role_policies", "PolicyNames", RoleName=name)
            calls = [("iam", "delete_role_policy", {"RoleName": name, "PolicyName": policy}) for policy in policies]
            add("role", name, *calls, ("iam", "delete_role", {"RoleName": name}))
    for group in run.all("logs", "describe_log_groups", "logGroups", logGroupNamePrefix=f"/aws/lambda/{prefix}"):
        name = group["logGroupName"]
        add("log group", name.removeprefix("/aws/lambda/"), ("logs", "delete_log_group", {"logGroupName": name}))
    for parameter in run.all("ssm", "get_parameters_by_path", "Parameters", Path="/kibus", Recursive=True):
        name = parameter["Name"]
        add("parameter", name.removeprefix("/kibus/"), ("ssm", "delete_parameter", {"Name": name}))
    for alarm in run.all("cloudwatch", "describe_alarms", "MetricAlarms", AlarmNamePrefix=prefix):
        add("alarm", alarm["AlarmName"], ("cloudwatch", "delete_alarms", {"AlarmNames": [alarm["AlarmName"]]}))
    for dashboard in run.all("cloudwatch", "list_dashboards", "DashboardEntries", DashboardNamePrefix=prefix):
        name = dashboard["DashboardName"]
        add("dashboard", name, ("cloudwatch", "delete_dashboards", {"DashboardNames": [name]}))
    return all


def clean(run, prefix):
    """Deletes the buses with this name prefix, and everything else with such a name. Fails with the names of what is left."""
    try:
        left = found(run, prefix)
    except Unseen as error:
        raise Failed(f"Whether an earlier run left something is unknown: {error}") from error
    buses = {bus[0] for _, name, _ in left if (bus := re.match(rf"{PREFIX}[0-9a-f]{{8}}", name))}
    for bus in sorted(buses):
        code, _, _ = run.kibus("teardown", "--yes", bus=bus)
        run.tell(f"clean up {bus}: teardown {'failed; its resources are deleted one by one' if code else 'done'}")
    nothing, unread = 0, ""
    for _ in range(TRIES):
        try:
            left, unread = found(run, prefix), ""
            nothing = 0 if left else nothing + 1
            for _, _, calls in left:
                for service, operation, parameters in calls:
                    # Resources that cannot be deleted yet, or are already deleted but still listed, are found again.
                    run.ok(service, operation, **parameters)
        except Unseen as error:
            unread = f" The last list is incomplete: {error}."
        if nothing == TIMES:
            return
        run.wait(5 if nothing else 1)
    names = ", ".join(f"{kind} {name}" for kind, name, _ in left)
    raise Failed(f"Not everything is deleted; docs/real-account.md says how to delete it: {names}.{unread}")
