# Runs the emulator behind a guard, because the emulator would run code for anyone who reaches its port. A request must
# name a loopback address as its host (a page whose domain points to this machine does not), must not come from a web
# page, and must carry the secret of this server. The emulator also starts a server for each running function. The
# client of that server does not know the secret, so only the first two rules apply to it.
#
# The emulator ends when its standard input is closed. The kernel closes it when the process that holds it ends for any
# reason; the emulator and its functions (its process group) are then killed.
#
# With the argument `account`, the emulator starts with two EKS clusters and plays their Karpenter controllers. One cluster
# already has its own rules and queue.
import asyncio
import contextlib
import contextvars
import hmac
import json
import os
import queue
import re
import resource
import select
import signal
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote_to_bytes

SECRET = os.environ["AWS_SESSION_TOKEN"]
LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?")
# How users and roles of the emulator sign. `test` and account ids do not count: any caller can claim to be this root user.
SIGNED = re.compile(r"AWS4-HMAC-SHA256 Credential=(?!(?:test|\d{12})/)[^/\s,]+/[^\s]+.*")


def is_local(hosts, of_browsers):
    return len(hosts) == 1 and bool(LOOPBACK.fullmatch(hosts[0])) and not of_browsers


def allowed(scope, checks_signatures):
    headers = scope.get("headers", [])

    def values(name):
        return [value.decode("latin-1") for key, value in headers if key.lower() == name]

    tokens = values(b"x-amz-security-token")
    if not is_local(values(b"host"), values(b"origin") + values(b"sec-fetch-site")):
        return False
    if len(tokens) == 1 and hmac.compare_digest(tokens[0].encode(), SECRET.encode()):
        return True
    # Users and roles of the emulator sign with their own secrets. The emulator checks these signatures, except on its own
    # paths. A credential in the query could differ from the one in the header.
    signed, query = values(b"authorization"), unquote_to_bytes(scope.get("query_string", b"")).lower()
    other_key = b"credential" in query or b"accesskeyid" in query
    own_path = scope.get("path", "").startswith(("/_", "/health"))
    return checks_signatures and len(signed) == 1 and bool(SIGNED.fullmatch(signed[0])) and not (other_key or own_path)


def guarded(app, checks_signatures):
    async def guard(scope, receive, send):
        if scope["type"] == "lifespan" or allowed(scope, checks_signatures):
            await app(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"the sandbox answers only requests with its secret\n"})

    return guard


def parse_guarded(handler, parse=BaseHTTPRequestHandler.parse_request):
    if not parse(handler):
        return False
    values = handler.headers.get_all
    if is_local(values("Host", []), values("Origin", []) + values("Sec-Fetch-Site", [])):
        return True
    handler.send_error(403)
    return False


def watch():
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


threading.Thread(target=watch, daemon=True).start()

BaseHTTPRequestHandler.parse_request = parse_guarded

import uvicorn  # noqa: E402
from ministack import app as emulator  # noqa: E402
from ministack.core import lambda_runtime, router  # noqa: E402
from ministack.core.responses import AccountRegionScopedDict, get_account_id, get_region, request_scope  # noqa: E402
from ministack.services import cloudwatch, cloudwatch_logs, ec2, eks, eventbridge, iam, lambda_svc, sqs  # noqa: E402


# The emulator lacks this SQS call.
def list_dead_letter_source_queues(data, url):
    target = sqs._get_q(data.get("QueueUrl", url), "sqs:ListDeadLetterSourceQueues")["attributes"]["QueueArn"]

    def redrives(queue):
        policy = json.loads(queue["attributes"].get("RedrivePolicy") or "{}")
        return policy.get("deadLetterTargetArn") == target

    return {"queueUrls": [url for url, queue in sqs._queues.items() if redrives(queue)]}


sqs._HANDLERS.setdefault("ListDeadLetterSourceQueues", list_dead_letter_source_queues)


# The emulator lists only the first page.
def list_clusters(query):
    begin = int(query.get("nextToken", 0))
    end = begin + int(query.get("maxResults", 100))
    names = list(eks._clusters.keys())
    more = {"nextToken": str(end)} if end < len(names) else {}
    return eks._json_resp(200, {"clusters": names[begin:end], **more})


eks._list_clusters = list_clusters


# The emulator keeps only what it evaluates of an alarm, and adds a period and a statistic to alarms on metric math.
def put_metric_alarm(params, alarm, is_cbor, is_json=False, put=cloudwatch._put_metric_alarm):
    answer = put(params, alarm, is_cbor, is_json)
    kept = cloudwatch._alarms.get(alarm.get("AlarmName"))
    if kept:
        kept.update({"Period": None, "Statistic": None} if "Metrics" in alarm else {})
        kept.update({member: value for member, value in alarm.items() if member != "Tags"})
    return answer


cloudwatch._put_metric_alarm = put_metric_alarm


# The role of a router is not allowed to create a log group, which the emulator does not check.
def emit_logs(function, *about, emit=lambda_svc._emit_lambda_logs, **more):
    config = function.get("config") or function
    is_router = config.get("Role", "").endswith(f"-router-{get_region()}")
    if not is_router or f"/aws/lambda/{config.get('FunctionName')}" in cloudwatch_logs._log_groups:
        emit(function, *about, **more)


lambda_svc._emit_lambda_logs = emit_logs


# The emulator would stop functions with this name in all accounts and Regions when one of them is updated.
def invalidate_worker(name, qualifier=None, account=None, region=None, invalidate=lambda_runtime.invalidate_worker):
    invalidate(name, qualifier, account or get_account_id(), region or get_region())


lambda_svc.invalidate_worker = invalidate_worker


# When a function answers, the emulator logs only the output that another thread has read by then. On a busy machine, that
# thread is late, and lines are lost. Here, all output up to then is read first.
READS = threading.Lock()


def readable(stream, timeout):
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    return poll.poll(timeout)


def read_output(worker, stream, lines):
    with READS:
        # A function that never stops printing must not keep the lock.
        for _ in range(16):
            if not readable(stream, 0):
                break
            data = os.read(stream.fileno(), 65536)
            if not data:
                return False
            *whole, worker.rest = (getattr(worker, "rest", b"") + data).split(b"\n")
            for line in whole:
                with contextlib.suppress(queue.Full):
                    lines.put_nowait(line.decode(errors="replace"))
        return True


def pump_output(worker, stream, lines):
    worker.rest = b""
    with stream, contextlib.suppress(OSError, ValueError):
        while readable(stream, None) and read_output(worker, stream, lines):
            pass


def drain_output(worker, **_):
    with contextlib.suppress(AttributeError, OSError, ValueError):
        read_output(worker, worker._proc.stdout, worker._stderr_queue)
    return worker._drain_stderr()


lambda_runtime.ProvidedWorker._pump_output = pump_output
lambda_runtime.ProvidedWorker._drain_stderr_bounded = drain_output

# The emulator lacks FIS and the lifecycle of instances. Here, experiments interrupt Spot instances within seconds instead of
# minutes.
TEMPLATES, EXPERIMENTS, SPOT = AccountRegionScopedDict(), AccountRegionScopedDict(), AccountRegionScopedDict()
TASKS = set()


def run_instances(parameters, launch=ec2._run_instances):
    status, headers, body = launch(parameters)
    if ec2._p(parameters, "InstanceMarketOptions.MarketType") == "spot":
        for id in re.findall(rb"<instanceId>(i-\w+)</instanceId>", body):
            SPOT[id.decode()] = True
    return status, headers, body


def instance_xml(instance, xml=ec2._instance_xml):
    text = xml(instance).rstrip()
    if instance["InstanceId"] not in SPOT:
        return text
    return text.removesuffix("</item>") + "<instanceLifecycle>spot</instanceLifecycle></item>"


def put_event(source, detail_type, detail, resources):
    event = {"Source": source, "DetailType": detail_type, "Detail": json.dumps(detail), "Resources": resources}
    eventbridge._put_events({"Entries": [event]}, allow_aws_source=True)


def send_event(id, detail_type, **detail):
    arn = f"arn:aws:ec2:{get_region()}:{get_account_id()}:instance/{id}"
    put_event("aws.ec2", detail_type, {"instance-id": id, **detail}, [arn])


def change_state(id, code, name):
    # The emulator forgets an instance a minute after this time.
    ec2._instances[id].update({"State": {"Code": code, "Name": name}, "_terminated_at": time.time()})
    send_event(id, "EC2 Instance State-change Notification", state=name)


def steps_of(template):
    action, target = (next(iter(template[member].values())) for member in ("actions", "targets"))
    id = target["resourceArns"][0].rsplit("/", 1)[-1]
    if id not in SPOT or ec2._instances[id]["State"]["Name"] != "running":
        yield 1, "failed", lambda: None
        return
    # Less than the second that kibus waits before it looks again.
    yield 0.5, "running", lambda: None
    if action["parameters"]["durationBeforeInterruption"] != "PT2M":
        yield 1, "running", lambda: send_event(id, "EC2 Instance Rebalance Recommendation")
    warning = "EC2 Spot Instance Interruption Warning"
    yield 1, "running", lambda: send_event(id, warning, **{"instance-action": "terminate"})
    yield 12, "running", lambda: change_state(id, 32, "shutting-down")
    yield 3, "completed", lambda: change_state(id, 48, "terminated")


def may_interrupt(arn):
    policies = str(iam._roles.get(arn.rsplit("/", 1)[-1], {}).get("InlinePolicies", {}))
    return all(action in policies for action in ("ec2:DescribeInstances", "ec2:SendSpotInstanceInterruptions"))


async def interrupt(experiment, template):
    for seconds, status, act in list(steps_of(template)):
        await asyncio.sleep(seconds)
        if experiment["state"]["status"] == "stopped":
            return
        experiment["state"] = {"status": status}
        act()


def fis_made(store, made):
    for found in store.values():
        if found["clientToken"] == made["clientToken"]:
            return found
    template = TEMPLATES.get(made.get("experimentTemplateId"))
    if store is EXPERIMENTS and not template:
        return None
    id = ("EXT" if store is TEMPLATES else "EXP") + uuid.uuid4().hex[:14]
    store[id] = {**made, "id": id}
    if template:
        store[id].update({"roleArn": template["roleArn"], "state": {"status": "pending"}})
        if not may_interrupt(template["roleArn"]):
            error, reason = {"code": "AuthorizationFailure", "location": "targets"}, "Not authorized"
            store[id]["state"] = {"status": "failed", "reason": reason, "error": error}
            return store[id]
        task = asyncio.create_task(interrupt(store[id], template))
        TASKS.add(task)
        task.add_done_callback(TASKS.discard)
    return store[id]


async def handle_fis(method, path, headers, body, query):
    kind, _, id = path.strip("/").partition("/")
    store, member = (TEMPLATES, "experimentTemplate") if kind == "experimentTemplates" else (EXPERIMENTS, "experiment")
    if method == "GET" and not id:
        # Experiments are listed by their template.
        listed = [found for found in store.values() if found.get("experimentTemplateId", "") in str(query)]
        return 200, {}, json.dumps({kind: listed}).encode()
    found = fis_made(store, json.loads(body)) if method == "POST" else store.get(id)
    if not found:
        return 404, {"x-amzn-ErrorType": "ResourceNotFoundException"}, b'{"message": "it does not exist"}'
    if method == "DELETE" and store is TEMPLATES:
        del store[id]
    elif method == "DELETE" and found["state"]["status"] in ("pending", "running"):
        found["state"] = {"status": "stopped"}
    return 200, {}, json.dumps({member: found}).encode()


ec2._instance_xml = instance_xml
ec2._ACTION_MAP["RunInstances"] = run_instances
router.SERVICE_PATTERNS["fis"] = {}
emulator.SERVICE_HANDLERS["fis"] = handle_fis


def launch(cluster):
    tags = {
        "aws:eks:cluster-name": cluster,
        "eks:eks-cluster-name": cluster,
        f"kubernetes.io/cluster/{cluster}": "owned",
        "karpenter.sh/nodepool": "default",
        "karpenter.k8s.aws/ec2nodeclass": "default",
    }
    [instance] = ec2._launch_instances_internal("ami-12345678", "m5.large", ec2._DEFAULT_SUBNET_ID, 1)
    id = instance["InstanceId"]
    SPOT[id] = True
    ec2._tags[id] = [{"Key": key, "Value": value} for key, value in tags.items()]
    return id


# Serves `kibus sandbox send`: an AWS event about an instance, or about a new instance of a cluster. Only AWS itself can send
# such events, so PutEvents rejects them.
async def handle_send(method, path, headers, body, query):
    request = json.loads(body)
    id = request.get("instance") or launch(request["cluster"])
    if id not in ec2._instances:
        return 404, {}, b""
    event = json.loads(json.dumps(request["event"]).replace("INSTANCE", id))
    put_event(event["source"], event["detail-type"], event["detail"], event["resources"])
    return 200, {}, id.encode()


router.SERVICE_PATTERNS["kibus"] = {}
emulator.SERVICE_HANDLERS["kibus"] = handle_send


# Receives the messages in the queue of each cluster, and deletes them a few seconds later.
def play_karpenter():
    while True:
        time.sleep(1)
        for (account, region, url), queue in list(sqs._queues._data.items()):
            if "kibus:cluster" not in queue["tags"] or queue["name"].endswith("-probe"):
                continue
            with request_scope(account, region), contextlib.suppress(sqs._Err):
                taken = {message["receipt_handle"] for message in sqs._receive_messages_for_esm(url, 10)}
                in_scope = contextvars.copy_context().run
                if taken:
                    threading.Timer(3.5, in_scope, (sqs._delete_messages_for_esm, url, taken)).start()


# What a cluster has before it joins a bus: `kibus discover` finds these rules and their queue. Nothing reads the queue.
RULES = {
    "capacity-reservation": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
    "instance-state": ("aws.ec2", "EC2 Instance State-change Notification"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "scheduled-change": ("aws.health", "AWS Health Event"),
    "spot-interruption": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
}


def create_own_setup(cluster, queue):
    arn = f"arn:aws:sqs:{get_region()}:{get_account_id()}:{queue}"
    sender = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}}
    policy = {"Version": "2012-10-17", "Statement": [{**sender, "Action": "sqs:SendMessage", "Resource": arn}]}
    attributes, tags = {"Policy": json.dumps(policy)}, {"ClusterName": cluster}
    sqs._HANDLERS["CreateQueue"]({"QueueName": queue, "Attributes": attributes, "tags": tags}, "")
    eventbridge._ensure_default_bus()
    for name, (source, detail_type) in RULES.items():
        rule, pattern = f"karpenter-{name}", json.dumps({"source": [source], "detail-type": [detail_type]})
        eventbridge._put_rule({"Name": rule, "EventPattern": pattern})
        eventbridge._put_targets({"Rule": rule, "Targets": [{"Id": "karpenter", "Arn": arn}]})


if "account" in sys.argv:
    trust = {"Effect": "Allow", "Principal": {"Service": "pods.eks.amazonaws.com"}, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    with request_scope("000000000000", "us-west-2"):
        for cluster in ("base", "tenant-1"):
            eks._create_cluster({"name": cluster})
            iam._create_role({"RoleName": f"KarpenterServiceAccount-{cluster}", "AssumeRolePolicyDocument": trust})
        create_own_setup("tenant-1", "node-interruptions")
    threading.Thread(target=play_karpenter, daemon=True).start()

# Each running function uses several files and connections.
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
with contextlib.suppress(OSError, ValueError):
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
# The emulator's default HTTP server takes several times as long for each request.
uvicorn.run(
    guarded(emulator.app, emulator.AUTH),
    host=os.environ["BIND_HOST"],
    port=int(os.environ["GATEWAY_PORT"]),
    loop="asyncio",
    http="httptools",
    ws="none",
    log_level="warning",
    date_header=False,
    server_header=False,
    timeout_keep_alive=75,
    timeout_graceful_shutdown=1,
)
