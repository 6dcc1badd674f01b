"""What AWS does where tests/aws-behavior.md has only a likely answer. Each observation gives a line for each of its rows."""

import collections
import concurrent.futures
import io
import itertools
import json
import pathlib
import urllib.parse
import zipfile

import boto3

import recordings
from run import Unseen, policy, seconds
from story import create_role, delete_role

# Rows that no run can observe, and why.
RATES = "a run that finds the rate of these calls would throttle others in the account"
NOT_HERE = {
    "N3": "the commands of this program would wait for the name of their own parameter",
    "N4": "kibus reads its settings again, so an old answer is not seen from outside",
    "M4": "a mapping of another version or of the function would route events of the hub",
    "S27": RATES,
    "I10": RATES,
    "G1": RATES,
    "G5": "metrics come minutes later, and the run reads none",
    "G6": "metrics come minutes later, and the run reads none",
    "T4": "a run that empties the bucket would throttle others in the account",
    "T5": "the run starts no instance",
    "W3": "it needs hours of rest before the first message, and alarms",
    "F4": "the run starts no experiment",
}

# How long a grant may take to become effective, and until Lambda can assume a new role, in seconds.
GRANTED, ASSUMED = 180, 300

EC2 = {"Service": "ec2.amazonaws.com"}
LAMBDA = {"Service": "lambda.amazonaws.com"}
RECEIVES = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]


def create_queue(run, what, **parameters):
    """The URL of a new queue, once it is found everywhere (S3)."""
    url = run.call("sqs", "create_queue", QueueName=run.name(what), **parameters)["QueueUrl"]
    times = 0

    def found():
        nonlocal times
        times = times + 1 if run.ok("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=["QueueArn"]) else 0
        return times == 3

    run.until(60, found, otherwise="a new queue is not found")
    return url


def attributes(run, url, *names):
    return run.call("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=list(names)).get("Attributes", {})


def set_attributes(url, **values):
    return ("sqs", "set_queue_attributes"), {"QueueUrl": url, "Attributes": values}


def send(run, url, body="{}"):
    return run.answer("sqs", "send_message", QueueUrl=url, MessageBody=body)


def messages(run, url):
    received = run.ok("sqs", "receive_message", QueueUrl=url, MaxNumberOfMessages=10) or {}
    return received.get("Messages", [])


def tags_after_a_repeated_create(run):
    """S2"""
    url = create_queue(run, "tags", tags={"first": "1"})
    again = run.answer("sqs", "create_queue", QueueName=run.name("tags"), tags={"first": "2", "second": "2"})
    run.wait(5)
    tags = run.call("sqs", "list_queue_tags", QueueUrl=url).get("Tags", {})
    tags = ", ".join(sorted(f"{key}={value}" for key, value in tags.items()))
    return f"CreateQueue with first=1, then with first=2 and second=2 ({again}): the tags are {tags}"


def largest_message(run):
    """S11"""
    size = attributes(run, create_queue(run, "size"), "MaximumMessageSize").get("MaximumMessageSize", "")
    return f"{run.region}: the largest message of a new queue has {size} bytes"


def lists_of_queues(run):
    """S21"""
    url = create_queue(run, "listed")
    listed = lambda: run.ok("sqs", "list_queues", QueueNamePrefix=run.name("listed"), MaxResults=10)
    shown = run.until(120, lambda: (listed() or {}).get("QueueUrls"))
    run.call("sqs", "delete_queue", QueueUrl=url)
    gone = run.until(180, lambda: (found := listed()) and not found.get("QueueUrls"))
    return f"listed {seconds(shown, 120)} after CreateQueue, gone from the list {seconds(gone, 180)} after DeleteQueue"


def alias_of_a_key(run):
    """R4"""
    read = attributes(run, create_queue(run, "key", Attributes={"KmsMasterKeyId": "alias/aws/sqs"}), "All")
    shown = [f"{name} is {read.get(name, 'absent')}" for name in ["KmsMasterKeyId", "SqsManagedSseEnabled"]]
    return f"created with alias/aws/sqs: {', '.join(shown)}"


def changed_key(run):
    """S25: messages from before and after a change of the key, here from the account's AWS managed key to SSE-SQS."""
    url = create_queue(run, "changed", Attributes={"KmsMasterKeyId": "alias/aws/sqs"})
    before = send(run, url, "before")
    call, change = set_attributes(url, KmsMasterKeyId="", SqsManagedSseEnabled="true")
    changed = run.answer(*call, **change)
    after = send(run, url, "after")

    def read():
        shown = (run.ok("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=["All"]) or {}).get("Attributes")
        return shown if shown and not shown.get("KmsMasterKeyId") else None

    shown = run.until(120, read)
    has_time = "present" if shown and "LastModifiedTimestamp" in shown[0] else "absent"
    received = set()
    run.until(60, lambda: received.update(message["Body"] for message in messages(run, url)) or len(received) == 2)
    return (
        f"sent before: {before}; change: {changed}; sent after: {after}; shown {seconds(shown, 120)} later, "
        f"LastModifiedTimestamp {has_time}; received: {', '.join(sorted(received))}"
    )


def grants(run):
    """P7, P12, S14, S15, S16: a role that can send to one queue by its name and to others by their tag."""
    role = run.role("sender")
    create_role(run, role, {"AWS": run.arn("iam", "root")})
    sender = assume(run, role)
    by_name, by_tag = create_queue(run, "by-name"), create_queue(run, "by-tag")
    run.wait(5)
    without = send(sender, by_name)
    if without == "200":
        raise Unseen("a role without any policy may send here")
    put_policy(run, role, policy("sqs:SendMessage", run.arn("sqs", run.name("by-name"))))
    granted = answered(run, "a grant on the name", lambda: send(sender, by_name))

    condition = {"StringEquals": {"aws:ResourceTag/kibus-rt": run.bus}}
    put_policy(run, role, policy("sqs:SendMessage", run.arn("sqs", run.name("*")), condition))
    # The maximum time of a grant, so that only the tag is late.
    run.wait(60)
    wrong, absent = send(sender, by_tag), send(sender, by_tag.replace("by-tag", "absent"))
    run.call("sqs", "tag_queue", QueueUrl=by_tag, Tags={"kibus-rt": run.bus})
    found = run.until(GRANTED, lambda: send(sender, by_tag) == "200")
    tagged, works = seconds(found, GRANTED), "works" if found else "never allowed"
    return [
        f"SendMessage before PutRolePolicy: {without}; allowed {granted:.1f} s after it",
        f"allowed by its tag {tagged} after TagQueue",
        f"partition {run.partition}, {run.region}: a condition on aws:ResourceTag {works}",
        f"SendMessage without the tag: {wrong}; allowed {tagged} after TagQueue",
        f"under the condition, wrong tag: {wrong}; absent queue: {absent}",
    ]


def new_connections(run, connections=6, rounds=30):
    """S22: a queue is deleted, and a minute later created again under the same name. After each, new connections read it."""
    url = create_queue(run, "several")
    read = ("sqs", "get_queue_attributes")

    def is_found(_):
        return run.with_others().ok(*read, QueueUrl=url, AttributeNames=["CreatedTimestamp"]) is not None

    def counted():
        counts = []
        for _ in range(rounds):
            with concurrent.futures.ThreadPoolExecutor(connections) as readers:
                counts.append(str(sum(readers.map(is_found, range(connections)))))
            run.wait(1)
        return " ".join(counts)

    run.call("sqs", "delete_queue", QueueUrl=url)
    deleted = counted()
    # SQS refuses the name for a minute (S1).
    run.until(120, lambda: run.ok("sqs", "create_queue", QueueName=run.name("several")), otherwise="the queue cannot be created again")
    return (
        f"of {connections} new connections in each of {rounds} rounds, "
        f"found after DeleteQueue: {deleted}; after CreateQueue: {counted()}"
    )


def redrive(run, target):
    """The redrive policy of a queue with this dead-letter queue."""
    return {"RedrivePolicy": json.dumps({"deadLetterTargetArn": run.arn("sqs", run.name(target)), "maxReceiveCount": 1})}


def counts(answers):
    return "; ".join(f"{times} x {answer}" for answer, times in sorted(collections.Counter(answers).items()))


def new_dead_letter_queue(run):
    """S23: the answers of CreateQueue with a dead-letter queue that was created just before."""
    answers = []
    for number in range(5):
        target = f"new-dlq-{number}"
        run.call("sqs", "create_queue", QueueName=run.name(target))
        answers.append(run.answer("sqs", "create_queue", QueueName=run.name(f"new-{number}"), Attributes=redrive(run, target)))
    return f"right after the dead-letter queue: {counts(answers)}"


def locked_dead_letter_queue(run):
    """S24: a source that exists when `denyAll` is set, and a new one. S26: whether SQS moves messages to a queue that denies senders as
    the dead-letter queue of a hub does."""
    target, arn = create_queue(run, "locked-dlq"), run.arn("sqs", run.name("locked-dlq"))
    template = json.loads((pathlib.Path(__file__).parents[2] / "templates/policies/hub-queue.json").read_text())
    lock = [statement for statement in template["Statement"] if statement["Sid"] == "KibusServicesOnly"]
    document = json.dumps({"Version": "2012-10-17", "Statement": lock}).replace("${queue_arn}", arn)
    allow = json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": [run.arn("sqs", run.name("locked"))]})
    call, change = set_attributes(target, Policy=document, RedriveAllowPolicy=allow)
    run.call(*call, **change)
    source = {**redrive(run, "locked-dlq"), "VisibilityTimeout": "0"}
    url = run.call("sqs", "create_queue", QueueName=run.name("locked"), Attributes=source)["QueueUrl"]
    # The maximum time for attributes (S4).
    run.wait(60)

    def moved():
        """When a message of the source, received once, is in its dead-letter queue."""
        run.call("sqs", "send_message", QueueUrl=url, MessageBody="{}")

        def arrived():
            messages(run, url)
            for message in messages(run, target):
                return run.ok("sqs", "delete_message", QueueUrl=target, ReceiptHandle=message["ReceiptHandle"])

        return seconds(run.until(120, arrived), 120)

    sent, first = send(run, target), moved()
    call, change = set_attributes(target, RedriveAllowPolicy='{"redrivePermission":"denyAll"}')
    deny = run.answer(*call, **change)
    run.wait(60)
    still = moved()
    create = run.answer("sqs", "create_queue", QueueName=run.name("locked-late"), Attributes=redrive(run, "locked-dlq"))
    return [
        f"SetQueueAttributes with denyAll while a source redrives: {deny}; its next message is moved: {still}; "
        f"CreateQueue of another source: {create}",
        f"a queue that denies senders (SendMessage: {sent}) and allows the source by byQueue: a message is moved: {first}",
    ]


def event(source, detail):
    return [{"Source": source, "DetailType": "Kibus Real Account", "Detail": json.dumps(detail)}]


def refused_source(run):
    """E11: an event of a source that only AWS may use."""
    put = run.call("events", "put_events", Entries=event("aws.ec2", {}))
    entry = put["Entries"][0]
    code, message = entry.get("ErrorCode", "no code"), entry.get("ErrorMessage", "")
    return f'PutEvents of source aws.ec2: 200, FailedEntryCount {put["FailedEntryCount"]}, {code} "{message}"'


def new_rule(run):
    """E1 and P9: when a new rule matches the first event. R5: how the rule comes back."""
    queue, rule = create_queue(run, "matched"), run.name("matched")
    arn = run.arn("sqs", rule)
    condition = {"ArnEquals": {"aws:SourceArn": run.arn("events", f"rule/{rule}")}}
    call, change = set_attributes(queue, Policy=policy("sqs:SendMessage", arn, condition, {"Service": "events.amazonaws.com"}))
    run.call(*call, **change)
    # The maximum time for a queue policy (S4), so that only the rule is late.
    run.wait(60)
    pattern = f'{{ "source": ["kibus.rt"], "account": ["{run.account}"] }}'
    run.call("events", "put_rule", Name=rule, EventPattern=pattern)
    run.call("events", "put_targets", Rule=rule, Targets=[{"Id": "queue", "Arn": arn}])
    stored = run.call("events", "describe_rule", Name=rule)
    numbers = itertools.count()

    def arrived():
        run.ok("events", "put_events", Entries=event("kibus.rt", {"sent": next(numbers)}))
        return min((1 + json.loads(message["Body"])["detail"]["sent"] for message in messages(run, queue)), default=None)

    found = run.until(120, arrived)
    matched = (
        f"one event a second after PutTargets: the first of them arrived {seconds(found, 120)} later; "
        f"it was event {found[0] if found else 'none'}"
    )
    same = "as sent" if stored.get("EventPattern") == pattern else "changed"
    description = f'"{stored["Description"]}"' if "Description" in stored else "absent"
    return [matched, matched, f"EventPattern {same}, EventBusName {stored.get('EventBusName', 'absent')}, Description {description}"]


def assume(run, role):
    """The run with the credentials of a role that this account may assume."""

    def assumed():
        try:
            return run.call("sts", "assume_role", RoleArn=run.arn("iam", f"role/{role}"), RoleSessionName="kibus-rt")
        except Unseen as error:
            if error.code == "AccessDenied":
                return None  # A new role cannot be assumed immediately.
            raise

    keys = run.until(120, assumed, otherwise="the role cannot be assumed")[0]["Credentials"]
    session = boto3.Session(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"], run.region)
    return run.with_others(session=session)


def put_policy(run, role, document):
    """Writes an inline policy. A new role is not found immediately (I3)."""
    call = {"RoleName": role, "PolicyName": "observed", "PolicyDocument": document}
    run.until(120, lambda: run.ok("iam", "put_role_policy", **call), otherwise="a role policy cannot be written")


def answered(run, what, ask, bound=GRANTED):
    """The seconds until a call is answered with 200."""
    last = ""

    def asked():
        nonlocal last
        last = ask()
        return last == "200"

    found = run.until(bound, asked)
    if not found:
        raise Unseen(f"{what} is answered with {last} after {bound} s")
    return found[1]


TRUST = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": EC2, "Action": "sts:AssumeRole"}]})


def absent_boundary(run):
    """I8: the answers if a boundary does not exist."""
    absent, role = run.arn("iam", f"policy/{run.name('absent')}"), run.role("boundary")
    create = run.answer("iam", "create_role", RoleName=role, AssumeRolePolicyDocument=TRUST, PermissionsBoundary=absent)
    if create != "200":
        create_role(run, role, EC2)
    put = run.answer("iam", "put_role_permissions_boundary", RoleName=role, PermissionsBoundary=absent)
    return f"CreateRole: {create}; PutRolePermissionsBoundary: {put}"


def new_boundary(run):
    """I9: PutRolePolicy under a condition on the boundary, right after CreateRole gave the role that boundary."""
    operator, bounded = run.role("bounder"), run.role("bounded")
    boundary = f"arn:{run.partition}:iam::aws:policy/ReadOnlyAccess"
    create_role(run, operator, {"AWS": run.arn("iam", "root")})
    condition = {"StringEquals": {"iam:PermissionsBoundary": boundary}}
    document = policy(["iam:CreateRole", "iam:PutRolePolicy"], run.arn("iam", f"role/{bounded}"), condition)
    put_policy(run, operator, document)
    role = assume(run, operator)
    create = {"RoleName": bounded, "AssumeRolePolicyDocument": TRUST, "PermissionsBoundary": boundary}
    answered(run, "CreateRole under the condition", lambda: role.answer("iam", "create_role", **create))
    answers = []

    def put():
        answers.append(role.answer("iam", "put_role_policy", RoleName=bounded, PolicyName="first", PolicyDocument=document))
        return answers[-1] == "200"

    allowed = seconds(run.until(180, put), 180)
    return f"PutRolePolicy right after CreateRole: {answers[0]}; allowed {allowed} after it"


def order_of_a_policy(run):
    """R9: whether a policy is returned in the order in which it was sent."""
    role, document = run.role("order"), ""
    create_role(run, role, EC2)
    sent = '{ "Statement": [{"Resource": "*", "Effect": "Deny",\n"Action": ["sqs:b*", "sqs:a*"]}], "Version": "2012-10-17"}'
    put_policy(run, role, sent)
    # The raw response, because the SDK decodes it.
    name = f"{run.client('iam').meta.service_model.signing_name}:GetRolePolicy"
    run.until(120, lambda: run.ok("iam", "get_role_policy", RoleName=role, PolicyName="observed"), otherwise="the policy does not appear")
    body = [answer["body"] for answer in run.answers if answer["operation"] == name][-1]
    document = body.split("<PolicyDocument>")[1].split("</PolicyDocument>")[0]
    encoded = "percent-encoded" if "%" in document else "not encoded"
    same = "as sent, with its white space" if urllib.parse.unquote(document) == sent else "changed"
    return f"{encoded}, {same}"


def archive():
    """A program that ends immediately with an error."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        program = zipfile.ZipInfo("bootstrap")
        program.external_attr = 0o755 << 16
        packed.writestr(program, "#!/bin/sh\nexit 1\n")
    return file.getvalue()


def create_function(run, name, role, **more):
    more |= {"Role": run.arn("iam", f"role/{role}"), "Runtime": "provided.al2023", "Handler": "none", "Timeout": 3}
    last = ""

    def created():
        nonlocal last
        last = run.answer("lambda", "create_function", FunctionName=name, Code={"ZipFile": archive()}, **more)
        return "cannot be assumed" not in last and "CreateGrant" not in last

    run.until(ASSUMED, created)
    if last != "200":
        raise Unseen(f"CreateFunction was answered with {last}")


def ready(run, function, **qualifier):
    """Waits until a function can be changed and run."""

    def is_ready():
        read = run.ok("lambda", "get_function_configuration", FunctionName=function, **qualifier)
        return read and read.get("State") != "Pending" and (qualifier or read.get("LastUpdateStatus") != "InProgress")

    run.until(ASSUMED, is_ready, otherwise=f"{function} stays busy")


def publish(run, function, description):
    version = run.call("lambda", "publish_version", FunctionName=function, Description=description)["Version"]
    ready(run, function, Qualifier=version)


def invoke(run, function, version="$LATEST"):
    """The answer to an invocation in short."""
    try:
        ran = run.call("lambda", "invoke", FunctionName=function, Qualifier=version, Payload=b"{}")
        return "runs" if "FunctionError" in ran else "200"
    except Unseen as error:
        return error.said


def runs(run, function, version, bound):
    """Invokes until the function runs; the answer, with the time or the last error."""
    last = ""

    def ran():
        nonlocal last
        last = invoke(run, function, version)
        return last == "runs"

    found = run.until(bound, ran)
    return f"runs after {found[1]:.1f} s" if found else f"not within {bound} s: {last}"


def functions(run, sealed_bound=60):
    """L7, L19, L20, M5: two functions with one role, one of them with a variable. Neither works: each start ends with an error, which
    differs from the answer for a function that Lambda cannot start."""
    sealed, plain = run.name("sealed"), run.name("plain")
    role, other = run.role("function"), run.role("other")
    for name in [role, other]:
        create_role(run, name, LAMBDA)
    create_function(run, sealed, role, Environment={"Variables": {"SEALED": "yes"}})
    answers = []
    for _ in range(10):
        answers += [f"UpdateFunctionCode {run.answer('lambda', 'update_function_code', FunctionName=sealed, ZipFile=archive())}"]
        answers += [f"Invoke {invoke(run, sealed)}"]
        run.wait(2)  # Few control plane calls are allowed (L21).
    create_function(run, plain, role)
    for function in [sealed, plain]:
        ready(run, function)
    publish(run, sealed, "before")
    result = last_result(run, plain, role)

    delete_role(run, role)
    create_role(run, role, LAMBDA)
    plain_again = runs(run, plain, "$LATEST", ASSUMED)
    # The role can now be assumed, so that only the seal is at fault.
    sealed_again = runs(run, sealed, "$LATEST", sealed_bound)
    for name in [other, role]:
        change = {"FunctionName": sealed, "Role": run.arn("iam", f"role/{name}")}
        changed = lambda: run.ok("lambda", "update_function_configuration", **change)
        run.until(ASSUMED, changed, otherwise="the role of a function cannot be changed")
        ready(run, sealed)
    publish(run, sealed, "after")
    new = runs(run, sealed, "2", ASSUMED)
    old = runs(run, sealed, "1", sealed_bound)
    return [
        f"right after CreateFunction: {counts(answers)}",
        f"with a variable, role made again: Invoke {sealed_again}; "
        f"after another role and back: new version {new}, old version {old}",
        f"without variables, role made again: Invoke {plain_again}",
        result,
    ]


def last_result(run, function, role):
    """M5: what a mapping reports about a function that always fails."""
    queue, arn = create_queue(run, "mapped"), run.arn("sqs", run.name("mapped"))
    put_policy(run, role, policy(RECEIVES, arn))
    create = {"EventSourceArn": arn, "FunctionName": function, "BatchSize": 1}
    created = lambda: run.ok("lambda", "create_event_source_mapping", **create)
    id = run.until(120, created, otherwise="the mapping cannot be created")[0]["UUID"]
    run.call("sqs", "send_message", QueueUrl=queue, MessageBody="{}")
    run.wait(60)
    mapping = run.call("lambda", "get_event_source_mapping", UUID=id)
    run.call("lambda", "delete_event_source_mapping", UUID=id)
    state, last = (mapping.get(member, "absent") for member in ["State", "LastProcessingResult"])
    return f"60 s after a message that fails: State {state}, LastProcessingResult {last}"


def condition_on_a_mapping(run):
    """M13: whether a condition on the function's ARN, or on that of the alias, allows to map a queue to the alias, and to delete the
    mapping."""
    name, role, queue = run.name("aliased"), run.role("aliased"), run.arn("sqs", run.name("aliased"))
    create_role(run, role, LAMBDA)
    create_queue(run, "aliased")
    put_policy(run, role, policy(RECEIVES, queue))
    create_function(run, name, role)
    ready(run, name)
    publish(run, name, "aliased")
    alias = run.call("lambda", "create_alias", FunctionName=name, Name="live", FunctionVersion="1")["AliasArn"]
    # Without a condition first, so that only the condition can deny the others.
    arns = {"any": "*", "function": run.arn("lambda", f"function:{name}"), "alias": alias}
    return "; ".join(f"allowed by the ARN of {what}: {mapped(run, f'by-{what}', arn, alias, queue)}" for what, arn in arns.items())


def mapped(run, what, arn, alias, queue, bound=120):
    """The answers to a role that can map functions with this ARN: to a create, and to the delete."""
    role = run.role(what)
    create_role(run, role, {"AWS": run.arn("iam", "root")})
    actions = ["lambda:CreateEventSourceMapping", "lambda:DeleteEventSourceMapping"]
    put_policy(run, role, policy(actions, "*", {"ArnLike": {"lambda:FunctionArn": arn}}))
    mapper = assume(run, role)
    last = ""

    def create():
        nonlocal last
        try:
            return mapper.call("lambda", "create_event_source_mapping", EventSourceArn=queue, FunctionName=alias)
        except Unseen as error:
            last = error.said

    found = run.until(bound, create)
    if not found:
        why = f"CreateEventSourceMapping is answered with {last} after {bound} s"
        if arn == "*":
            raise Unseen(why)  # Without a condition, something else denies.
        return why
    id, deleted = found[0]["UUID"], ""

    def delete():
        nonlocal deleted
        deleted = mapper.answer("lambda", "delete_event_source_mapping", UUID=id)
        return "ResourceInUse" not in deleted  # A mapping in transition cannot be deleted (M7).

    def is_gone():
        run.ok("lambda", "delete_event_source_mapping", UUID=id)
        return run.ok("lambda", "get_event_source_mapping", UUID=id) is None

    run.until(bound, delete)
    # The next create needs the queue and the function without a mapping.
    run.until(bound, is_gone)
    return f"create 200, delete {deleted}"


def late_tags(run):
    """T1 and P13: how long GetResources misses a new queue, and lists a deleted one."""
    url = create_queue(run, "learned")
    run.call("sqs", "tag_queue", QueueUrl=url, Tags={"kibus-rt-learned": run.bus})
    filters = [{"Key": "kibus-rt-learned", "Values": [run.bus]}]
    listed = lambda: run.ok("resourcegroupstaggingapi", "get_resources", TagFilters=filters)
    shown = run.until(180, lambda: (listed() or {}).get("ResourceTagMappingList"))
    run.call("sqs", "delete_queue", QueueUrl=url)
    gone = run.until(180, lambda: (found := listed()) and not found["ResourceTagMappingList"])
    late = f"GetResources lists a queue {seconds(shown, 180)} after TagQueue, and no longer {seconds(gone, 180)} after DeleteQueue"
    return [late, late]


# The rows, and what observes them. Each has resources and a recording of its own, so that all can run at the same time.
ALL = [
    (["S2"], tags_after_a_repeated_create),
    (["S11"], largest_message),
    (["S21"], lists_of_queues),
    (["R4"], alias_of_a_key),
    (["P7", "P12", "S14", "S15", "S16"], grants),
    (["S22"], new_connections),
    (["S23"], new_dead_letter_queue),
    (["S24", "S26"], locked_dead_letter_queue),
    (["S25"], changed_key),
    (["E11"], refused_source),
    (["E1", "P9", "R5"], new_rule),
    (["L7", "L19", "L20", "M5"], functions),
    (["M13"], condition_on_a_mapping),
    (["I8"], absent_boundary),
    (["R9"], order_of_a_policy),
    (["I9"], new_boundary),
    (["T1", "P13"], late_tags),
]


def observe(run, rows, observation, directory):
    """Observes rows and writes their recording; a line for each row."""
    run = run.recorded()
    try:
        seen = observation(run)
        seen = [seen] if isinstance(seen, str) else seen
    except Unseen as error:
        seen = [f"not seen here, because {error}"] * len(rows)
    lines = dict(zip(rows, seen, strict=True))
    recordings.write(run, rows, in_order(lines), directory)
    return lines


def in_order(lines):
    """A line for each row, in the order of tests/aws-behavior.md."""
    return [f"{row}: {line}" for row, line in sorted(lines.items(), key=lambda one: ("SELMIGTWFRPN".index(one[0][0]), int(one[0][1:])))]
