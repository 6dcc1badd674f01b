# Runs the emulator behind a guard, because it would run code for everybody who reaches its port. A request must
# name a loopback address as its host (a page whose domain was pointed at this machine does not), come from no web
# page, and carry the secret of this server.
#
# With the argument `watched` the emulator ends when its standard input is closed. The kernel closes it when the process
# that holds it ends for any reason; the emulator and its functions (its process group) are then killed.
import hmac
import os
import re
import signal
import sys
import threading

SECRET = os.environ["AWS_SESSION_TOKEN"]
LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?")
# What any caller may claim to be: the emulator treats these keys as the root user.
ROOT_KEY = re.compile(r"Credential=(test|\d{12})/")


def allowed(headers, checks_signatures):
    def values(name):
        return [value.decode("latin-1") for key, value in headers if key.lower() == name]

    hosts, tokens = values(b"host"), values(b"x-amz-security-token")
    if len(hosts) != 1 or not LOOPBACK.fullmatch(hosts[0]) or values(b"origin"):
        return False
    if len(tokens) == 1 and hmac.compare_digest(tokens[0].encode(), SECRET.encode()):
        return True
    # Users and roles of the emulator sign with secrets of their own, which it checks.
    signed = "".join(values(b"authorization"))
    return checks_signatures and "Credential=" in signed and not ROOT_KEY.search(signed)


def guarded(app, checks_signatures):
    async def guard(scope, receive, send):
        if scope["type"] == "lifespan" or allowed(scope.get("headers", []), checks_signatures):
            await app(scope, receive, send)
        elif scope["type"] == "http":
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"the sandbox answers only requests with its secret\n"})
        else:
            await send({"type": "websocket.close", "code": 1008})

    return guard


def watch():
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


if "watched" in sys.argv:
    threading.Thread(target=watch, daemon=True).start()
# The emulator parses its arguments, too.
sys.argv = sys.argv[:1]

from ministack import app as emulator  # noqa: E402

emulator.app = guarded(emulator.app, emulator.AUTH)
emulator.main()
