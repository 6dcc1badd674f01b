"""A run: its account, its bus, its calls to AWS, and the real kibus."""

import copy
import json
import os
import re
import secrets
import subprocess
import threading
import time
import urllib.parse

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

# How the name of every bus of this program begins.
PREFIX = "kibus-rt-"

# The headers of an answer that say what it means.
HEADERS = ["content-type", "x-amz-function-error", "x-amzn-errortype", "x-amzn-query-error"]

ERRORS = (BotoCoreError, ClientError, ResponseParserError)
CONNECTING = threading.Lock()


class Stopped(Exception):
    """The run was interrupted, or another part of it failed."""


class Failed(Exception):
    """The run failed, for this reason."""


class Unseen(Exception):
    """Why nothing was observed: a text, or the AWS error of a call."""

    def __init__(self, why, said="", code=""):
        super().__init__(why)
        self.said, self.code = said, code

    @classmethod
    def answered(cls, error):
        response = getattr(error, "response", {})
        code, message = (response.get("Error", {}).get(member) for member in ["Code", "Message"])
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        said = f'{code} "{message.strip()}"' if code and message else code or (f"HTTP status {status}" if status else "no answer")
        return cls(f"a call was answered with {said}", said, code)


def say(line):
    try:
        print(line, flush=True)
    except BrokenPipeError:
        pass  # After an interruption, there may be no reader anymore, but the cleanup continues.


def policy(actions, resource, condition=None, principal=None):
    """A document with one statement that allows something."""
    statement = {"Effect": "Allow", "Action": actions, "Resource": resource, "Condition": condition, "Principal": principal}
    statement = {member: value for member, value in statement.items() if value}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def seconds(found, bound):
    """The time in the result of `until`, in words."""
    return f"{found[1]:.1f} s" if found else f"not within {bound} s"


class Run:
    """One run in an account and Region. Copies of it record AWS answers separately, or have other credentials."""

    def __init__(self, session, account, arn, kibus, second):
        self.session, self.account, self.region, self.partition = session, account, session.region_name, arn.split(":")[1]
        self.bus = PREFIX + secrets.token_hex(4)
        self.program, self.second, self.begun = kibus, second, time.monotonic()
        self.stopped = threading.Event()
        self.clients, self.answers, self.recorded_from = {}, [], self.begun

    def with_others(self, **others):
        """This run, with some members replaced."""
        run = copy.copy(self)
        run.clients = {}
        vars(run).update(others)
        return run

    def recorded(self):
        """This run, with a separate recording of answers."""
        return self.with_others(answers=[], recorded_from=time.monotonic())

    def client(self, service):
        with CONNECTING:
            if service not in self.clients:
                config = Config(retries={"mode": "standard", "total_max_attempts": 3})
                self.clients[service] = self.recording(self.session.client(service, config=config))
            return self.clients[service]

    def recording(self, client):
        """Records every answer that the client receives, including those that it retries."""
        sent, service = threading.local(), client.meta.service_model.signing_name

        def sending(request, event_name, **_):
            sent.operation = f"{service}:{event_name.rsplit('.')[-1]}"
            if service == "lambda":
                names = urllib.parse.unquote(urllib.parse.urlsplit(request.url).path).strip("/").split("/")[1:]
                path = "/".join("*" if at % 2 else name for at, name in enumerate(names))
                sent.operation = f"{service}:{request.method} {path}"

        def received(response_dict, parsed_response, **_):
            if not response_dict:
                return
            body = response_dict["body"]
            if hasattr(body, "read"):
                body = body.read()
                parsed_response["Payload"] = body
            headers = {name.lower(): value for name, value in response_dict["headers"].items()}
            self.answers.append({
                "at_ms": int((time.monotonic() - self.recorded_from) * 1000),
                "operation": sent.operation,
                "status": response_dict["status_code"],
                "headers": {name: headers[name] for name in HEADERS if name in headers},
                "body": body.decode(errors="replace"),
            })

        client.meta.events.register("before-send", sending)
        client.meta.events.register("response-received", received)
        return client

    def call(self, service, operation, **parameters):
        """Makes a call. An error becomes the reason why nothing was observed."""
        if self.stopped.is_set():
            raise Stopped
        try:
            return getattr(self.client(service), operation)(**parameters)
        except ERRORS as error:
            raise Unseen.answered(error) from error

    def all(self, service, operation, member, **parameters):
        """All members of a list, over all of its pages."""
        try:
            pages = self.client(service).get_paginator(operation).paginate(**parameters)
            return [one for page in pages for one in page.get(member, [])]
        except ERRORS as error:
            raise Unseen.answered(error) from error

    def answer(self, *call, **parameters):
        """The answer of a call in short form: `200`, or the code and message of its error."""
        try:
            self.call(*call, **parameters)
            return "200"
        except Unseen as error:
            return error.said

    def ok(self, *call, **parameters):
        """The answer of a call that succeeds."""
        try:
            return self.call(*call, **parameters)
        except Unseen:
            return None

    def wait(self, count):
        """Waits for this many seconds."""
        if self.stopped.wait(count * self.second):
            raise Stopped

    def until(self, bound, ask, otherwise=None):
        """Retries every second until there is an answer; returns it with the seconds that it took."""
        begun = time.monotonic()
        while True:
            answer = ask()
            if answer is not None and answer is not False:
                return answer, time.monotonic() - begun
            if time.monotonic() - begun > bound * self.second:
                if otherwise:
                    raise Unseen(f"{otherwise} in {bound} s")
                return None
            self.wait(1)

    def tell(self, line):
        """Prints progress, with the time since the start."""
        say(f"{time.monotonic() - self.begun:7.1f} s  {line}")

    def name(self, what):
        """The name of something that this program itself creates."""
        return f"{self.bus}-o-{what}"

    def role(self, what):
        """The name of a role that this program itself creates. Roles have no Region, so their names contain it."""
        return f"{self.bus}-o-{what}-{self.region}"

    def arn(self, service, resource):
        return f"arn:{self.partition}:{service}:{'' if service == 'iam' else self.region}:{self.account}:{resource}"

    def kibus(self, *words, bus=None):
        """Runs kibus: its exit code, its standard output, and all that it printed."""
        # Options of kibus come only from here, except the router, which must match Lambda's libraries.
        variables = {name: value for name, value in os.environ.items() if name == "KIBUS_ROUTER_BINARY" or not name.startswith("KIBUS_")}
        options = ["--bus", bus or self.bus, "--region", self.region, "--color", "never", "--no-input"]
        pipes = {name: subprocess.PIPE for name in ["stdout", "stderr"]}
        # Ctrl-C is for this program, which then deletes what the command created.
        process = subprocess.Popen(
            [self.program, *words, *options], stdin=subprocess.DEVNULL, **pipes, text=True, env=variables, start_new_session=True
        )
        while True:
            try:
                stdout, stderr = process.communicate(timeout=0.2)
                return process.returncode, stdout, f"$ kibus {' '.join(words)}\n{stdout}{stderr}"
            except subprocess.TimeoutExpired:
                if self.stopped.is_set():
                    process.kill()
                    process.communicate()
                    raise Stopped from None


def connect(account, kibus, second):
    """A run with the caller's ordinary configuration. Nothing is changed if its credentials belong to another account."""
    how = (
        "This program creates a bus in a real AWS account and deletes it again, for about one cent. docs/real-account.md describes it. "
        "Name the account to run it:\n    python3 tests/real_account --account 111122223333"
    )
    if not re.fullmatch(r"\d{12}", account or ""):
        raise Failed(f"--account is {f'`{account}`, which is no account id of 12 digits' if account else 'not set'}.\n{how}")
    session = boto3.Session(region_name=os.environ.get("AWS_REGION"))
    if not session.region_name:
        raise Failed("No Region is set. Set AWS_REGION.")
    try:
        caller = session.client("sts").get_caller_identity()
    except ERRORS as error:
        raise Failed(f"AWS does not say who the caller is: {error}") from error
    if caller["Account"] != account:
        raise Failed(
            f"--account is {account}, but these credentials belong to account {caller['Account']} ({caller['Arn']}). "
            f"Nothing was changed. Use credentials of {account}."
        )
    return Run(session, account, caller["Arn"], kibus, second)
