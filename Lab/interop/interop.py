"""Checks our mock server and command against server libraries and clients that are not ours, all with default options.

The commands find the server by themselves, and the libraries use what `serve` prints."""

import base64
import http.server
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import nacl.secret
import pusher
import pusher.crypto
import pusher.errors
import pusher.signature
import pysher

import peers

COMMAND = sys.argv[1]
# Those of the mock server. A check makes sure that `serve` prints the same.
APP_ID, KEY, SECRET = "1", "app-key", "app-secret"
MASTER_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
# A user's whole environment. The folder is where commands find a running `serve`.
HOME = tempfile.TemporaryDirectory()
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": HOME.name}
WAIT = 20  # seconds that anything may take

results = {"passed": 0, "failed": 0}


def check(name, condition, detail=""):
    results["passed" if condition else "failed"] += 1
    print(f"{'ok  ' if condition else 'FAIL'}  {name}" + (f"  {detail}" if not condition else ""), flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


class Serve:
    """`pusher-cli serve`, plain or with TLS. Its port is the default one if nobody uses that."""

    def __init__(self, *arguments):
        port = [] if is_free(6001) else ["--port", "0"]
        self.process = subprocess.Popen(
            [COMMAND, "serve", *port, *arguments], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.printed = [self.process.stdout.readline().rstrip("\n") for _ in range(6)]
        self.port = int(self.printed[0].rsplit(":", 1)[1])
        self.url = self.printed[5].removeprefix("PUSHER_URL=")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        check("serve ends with status 0", self.process.wait(WAIT) == 0)


def official(port, secret=SECRET):
    return pusher.Pusher(
        app_id=APP_ID, key=KEY, secret=secret, host="127.0.0.1", port=port, ssl=False, timeout=WAIT,
        encryption_master_key_base64=MASTER_KEY)


def pause():
    threading.Event().wait(0.02)


class Listener:
    """Pysher, with what it receives in a queue."""

    def __init__(self, port):
        self.received = queue.Queue()
        self.connected = threading.Event()
        self.client = pysher.Pusher(
            KEY, secure=False, custom_host="127.0.0.1", port=port, secret=SECRET, user_data={"user_id": "py", "user_info": {"name": "Py"}})
        self.client.connection.bind("pusher:connection_established", lambda _: self.connected.set())
        self.client.connect()

    def subscribe(self, name, api):
        channel = self.client.subscribe(name)  # the answer may come before anything could be bound to it
        for event in ("greeting", "client-hello"):
            channel.bind(event, lambda data, event=event: self.received.put((name, event, data)))
        return wait_for_subscribers(api, name)

    def next(self):
        try:
            return self.received.get(timeout=WAIT)
        except queue.Empty:
            return None


def subscribe_command(*arguments):
    """`pusher-cli`, which finds the running server."""
    return subprocess.Popen(
        [COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


def run_command(*arguments, text="", **variables):
    return subprocess.run(
        [COMMAND, *arguments], input=text, capture_output=True, text=True, timeout=WAIT, env=ENVIRONMENT | variables)


def wait_for_subscribers(api, channel):
    for _ in range(WAIT * 50):
        if channel in api.channels_info()["channels"]:
            return True
        pause()
    return False


def plain():
    with Serve() as server:
        check("serve prints what other programs need", server.printed[1:] == [
            f"app id: {APP_ID}", f"key: {KEY}", f"secret: {SECRET}", f"encryption master key: {MASTER_KEY}",
            f"PUSHER_URL=http://{KEY}:{SECRET}@127.0.0.1:{server.port}/apps/{APP_ID}"], str(server.printed))
        api = official(server.port)
        listener = Listener(server.port)
        check("Pysher connects", listener.connected.wait(WAIT))
        for name in ("public", "private-x", "presence-room"):
            check(f"Pysher subscribes to {name}", listener.subscribe(name, api))
            api.trigger(name, "greeting", {"to": name})
            check(f"Pysher receives on {name}", listener.next() == (name, "greeting", json.dumps({"to": name})))

        api.trigger(["public", "private-x"], "greeting", "two channels ☃")
        check("one trigger on two channels", {listener.next(), listener.next()} == {
            ("public", "greeting", "two channels ☃"), ("private-x", "greeting", "two channels ☃")})
        api.trigger_batch([
            {"channel": "public", "name": "greeting", "data": "1"},
            {"channel": "private-x", "name": "greeting", "data": {"n": 2}}])
        check("a batch keeps its order", [listener.next(), listener.next()] == [
            ("public", "greeting", "1"), ("private-x", "greeting", json.dumps({"n": 2}))])

        check("channels", set(api.channels_info()["channels"]) == {"public", "private-x", "presence-room"})
        check("channels by prefix", api.channels_info("presence-", ["user_count"])["channels"]
              == {"presence-room": {"user_count": 1}})
        check("a channel", api.channel_info("presence-room", ["user_count"]) == {"occupied": True, "user_count": 1})
        check("an empty channel", api.channel_info("nobody")["occupied"] is False)
        check("users", api.users_info("presence-room") == {"users": [{"id": "py"}]})
        for name, call, error in (
                ("a wrong secret is refused", lambda: official(server.port, "wrong").trigger("public", "e", "x"),
                 pusher.errors.PusherBadAuth),
                ("more than 10 KB are refused", lambda: api.trigger("public", "e", "x" * 10241),
                 pusher.errors.PusherBadStatus)):
            try:
                call()
                check(name, False, "no error")
            except error:
                check(name, True)

        commands(server, api, listener)
        listener.client.disconnect(1)


def commands(server, api, listener):
    process = subscribe_command("subscribe", "c", "private-c", "presence-c", "--json", "--count", "3", "--user-id", "swift")
    for channel in ("c", "private-c", "presence-c"):
        wait_for_subscribers(api, channel)
        api.trigger(channel, "greeting", {"to": channel})
    out, err = process.communicate(timeout=WAIT)
    lines = [json.loads(line) for line in out.splitlines()]
    check("subscribe prints three JSON lines and ends with 0", process.returncode == 0 and len(lines) == 3, err)
    check("they are the events", [(line["type"], line["channel"], json.loads(line["data"])) for line in lines]
          == [("event", channel, {"to": channel}) for channel in ("c", "private-c", "presence-c")], out)

    socket_process = subscribe_command("listen", "c", "--json", "--count", "1")
    socket_id = None
    for line in socket_process.stdout:
        record = json.loads(line)
        socket_id = record.get("socket_id", socket_id)
        if record["type"] == "subscribed":
            break
    api.trigger("c", "greeting", "not for you", socket_id)
    api.trigger("c", "greeting", "for you")
    check("socket_id is left out", json.loads(socket_process.stdout.readline())["data"] == "for you")
    check("listen ends with 0", socket_process.wait(WAIT) == 0)

    done = run_command("trigger", "public", "greeting", "from Swift")
    check("Pysher receives what trigger publishes",
          done.returncode == 0 and listener.next() == ("public", "greeting", "from Swift"))


def encrypted():
    with Serve() as server:
        api = official(server.port)
        channel = "private-encrypted-c"
        form = urllib.parse.urlencode({"socket_id": "1.2", "channel_name": channel}).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/pusher/auth", form) as answer:
            theirs = api.authenticate(channel=channel, socket_id="1.2")
            theirs["shared_secret"] = theirs["shared_secret"].decode()
            check("the auth endpoint gives the key that the official library gives", json.load(answer) == theirs)
        process = subscribe_command("subscribe", channel, "--json", "--count", "3")
        wait_for_subscribers(api, channel)
        texts = ["hidden", "", json.dumps({"snow": "☃", "long": "x" * 5000}, ensure_ascii=False)]
        for text in texts:
            api.trigger(channel, "greeting", text)
        out, err = process.communicate(timeout=WAIT)
        check("what the official library encrypts is read", process.returncode == 0
              and [json.loads(line)["data"] for line in out.splitlines()] == texts, out + err)


def users():
    with Serve() as server:
        api = official(server.port)
        process = subscribe_command("listen", "c", "--json", "--sign-in", "--user-id", "ann")
        records = (json.loads(line) for line in process.stdout)
        check("the client signs in", any(record["type"] == "signed_in" and record["user_id"] == "ann" for record in records))
        wait_for_subscribers(api, "#server-to-user-ann")
        api.send_to_user("ann", "notice", {"n": 1})
        event = next(record for record in records if record["type"] == "event")
        check("what the official library sends to the user arrives",
              (event["event"], json.loads(event["data"])) == ("notice", {"n": 1}), str(event))
        api.terminate_user_connections("ann")
        check("terminated by the official library, it does not come back", any(
            record["type"] == "error" and record["code"] == 4009 and not record["will_retry"] for record in records))
        check("and ends with 77", process.wait(WAIT) == 77)


class WebhookSink(http.server.BaseHTTPRequestHandler):
    """Takes webhooks and keeps what a server would check."""

    received = queue.Queue()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.received.put((self.headers["X-Pusher-Key"], self.headers["X-Pusher-Signature"], body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def sent_webhooks():
    sink = http.server.ThreadingHTTPServer(("127.0.0.1", 0), WebhookSink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    with Serve("--webhook-url", f"http://127.0.0.1:{sink.server_port}/hook") as server:
        api = official(server.port)
        process = subscribe_command("subscribe", "cache-c", "presence-c", "--user-id", "ann", "--count", "1")
        names = set()
        while not {"channel_occupied", "cache_miss", "member_added"} <= names:
            key, signature, body = WebhookSink.received.get(timeout=WAIT)
            webhook = api.validate_webhook(key, signature, body)
            if webhook is None:
                break
            names |= {event["name"] for event in webhook["events"]}
        check("the official library accepts the webhooks that our server sends",
              names >= {"channel_occupied", "cache_miss", "member_added"}, str(names))
        api.trigger("cache-c", "greeting", "1")
        check("the receiver gets its event", process.wait(WAIT) == 0)
    sink.shutdown()


class CompactEncoder(json.JSONEncoder):
    """Writes JSON as our command does, so that signatures over it can be equal."""

    def __init__(self, **options):
        super().__init__(**{**options, "ensure_ascii": False, "separators": (",", ":")})


def signing():
    api = pusher.Pusher(
        app_id=APP_ID, key=KEY, secret=SECRET, encryption_master_key_base64=MASTER_KEY, json_encoder=CompactEncoder)
    info = {"name": "Ann ☃", "list": [1, {"b": None, "a": True}]}
    member = {"user_id": "ann", "user_info": info}
    user = {"id": "ann", "user_info": info, "watchlist": ["bob"]}
    encrypted_answer = api.authenticate("private-encrypted-c", "1.2")
    encrypted_answer["shared_secret"] = encrypted_answer["shared_secret"].decode()
    for name, arguments, theirs in (
            ("a private channel", ("private-x", "1.2"), api.authenticate("private-x", "1.2")),
            ("a presence channel",
             ("presence-x", "1.2", "--user-id", "ann", "--user-info", json.dumps(info, cls=CompactEncoder)),
             api.authenticate("presence-x", "1.2", member)),
            ("an encrypted channel", ("private-encrypted-c", "1.2"), encrypted_answer),
            ("a sign-in", ("--user", json.dumps(user, cls=CompactEncoder), "1.2"), api.authenticate_user("1.2", user)),
            ("a sign-in by id", ("--user", "ann", "1.2"), api.authenticate_user("1.2", {"id": "ann"}))):
        done = run_command("auth", *arguments)
        check(f"auth for {name} is what the official library gives",
              done.returncode == 0 and json.loads(done.stdout) == theirs, done.stdout + done.stderr)


def webhooks():
    api = official(1)
    vectors = json.loads((Path(__file__).parents[2] / "Fixtures" / "vectors.json").read_text())["webhook"]
    check("the official library signs webhooks as our vectors do", all(
        pusher.signature.sign(vector["secret"], vector["body"]) == vector["x_pusher_signature"] for vector in vectors))
    now = int(time.time() * 1000)
    events = [
        {"name": "member_added", "channel": "presence-x", "user_id": "ann"},
        {"name": "client_event", "channel": "private-x", "event": "client-e", "data": '{"snow":"☃"}', "socket_id": "1.2"}]
    body = json.dumps({"time_ms": now, "events": events}, ensure_ascii=False)
    old = json.dumps({"time_ms": now - 400_000, "events": events})
    for name, text, secret, status in (
            ("accepted", body, SECRET, 0), ("not accepted with another secret", body, "wrong", 77),
            ("not accepted when old", old, SECRET, 65)):
        signature = pusher.signature.sign(secret, text)
        done = run_command("webhook", "verify", "--signature", signature, "--maximum-age", "300", "--json", text=text)
        accepted = api.validate_webhook(KEY, signature, text) is not None
        check(f"a webhook that the official library signs is {name} by both",
              done.returncode == status and accepted == (status == 0), done.stdout + done.stderr)
        records = [json.loads(line) for line in done.stdout.splitlines()]
        check("its events are printed" if accepted else "nothing is printed",
              [{key: record[key] for key in record if key not in ("type", "time")} for record in records]
              == (events if accepted else []), done.stdout)


def encryption():
    channel, texts = "private-encrypted-c", ["hidden", "", json.dumps({"snow": "☃", "long": "x" * 5000})]
    variables = {"PUSHER_ENCRYPTION_MASTER_KEY": MASTER_KEY}  # these two don't look for a server
    master_key = base64.b64decode(MASTER_KEY)
    box = nacl.secret.SecretBox(pusher.crypto.generate_shared_secret(channel.encode(), master_key))
    theirs = [json.dumps(pusher.crypto.encrypt(channel, text, master_key)) for text in texts]
    check("decrypt reads what the official library encrypts", texts == [
        run_command("decrypt", channel, "-", text=data, **variables).stdout.removesuffix("\n") for data in theirs])
    ours = [json.loads(run_command("encrypt", channel, "-", text=text, **variables).stdout) for text in texts]
    check("what encrypt prints is opened with the official library's key", texts == [
        box.decrypt(base64.b64decode(data["ciphertext"]), base64.b64decode(data["nonce"])).decode() for data in ours])


def tls():
    with tempfile.TemporaryDirectory() as folder:
        ca, key = Path(folder) / "ca.pem", Path(folder) / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key, "-out", ca],
            check=True, capture_output=True)
        with Serve("--certificate", str(ca), "--private-key", str(key)) as server:
            api = pusher.Pusher(
                app_id=APP_ID, key=KEY, secret=SECRET, host="127.0.0.1", port=server.port, ssl=True, timeout=WAIT)
            api._pusher_client.http.options["verify"] = str(ca)  # the library has no option for it
            process = subscribe_command("subscribe", "c", "--json", "--count", "3")
            wait_for_subscribers(api, "c")
            for number in range(3):
                api.trigger("c", "greeting", str(number))
            out, err = process.communicate(timeout=WAIT)
            check("subscribe over TLS, with the certificate that serve was given", process.returncode == 0
                  and [json.loads(line)["data"] for line in out.splitlines()] == ["0", "1", "2"], out + err)
            process = subscribe_command("subscribe", "c", "--host", f"127.0.0.1:{server.port}", "--connect-timeout", "1")
            _, err = process.communicate(timeout=WAIT)
            check("without it the certificate is refused, and the reason is said",
                  process.returncode == 69 and "self-signed" in err, err)
            http2(server.port, str(ca), str(key))


def http2(port, ca, key):
    """The auth endpoint speaks HTTP/2."""
    auth_port = free_port()
    endpoint = subprocess.Popen(
        [sys.executable, "-m", "hypercorn", "--bind", f"127.0.0.1:{auth_port}", "--certfile", ca, "--keyfile", key,
         "http2_auth:app"],
        cwd=Path(__file__).parent, env={**os.environ, "PUSHER_KEY": KEY, "PUSHER_SECRET": SECRET},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        while "Running on" not in endpoint.stdout.readline():
            assert endpoint.poll() is None, "the auth endpoint did not start"
        process = subprocess.Popen(
            [COMMAND, "listen", "private-c", "--json", "--count", "1", "--timeout", "2", "--key", KEY, "--host",
             "127.0.0.1", "--port", str(port), "--ca-file", ca, "--auth-endpoint", f"https://127.0.0.1:{auth_port}/auth"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = process.communicate(timeout=WAIT)
        check("a private channel through an auth endpoint with TLS", '"subscribed"' in out, out + err)
        check("it was asked over HTTP/2", endpoint.stdout.readline().strip() == "asked over HTTP 2")
    finally:
        endpoint.terminate()
        endpoint.wait(WAIT)


plain()
encrypted()
users()
sent_webhooks()
with Serve():
    signing()
    webhooks()
encryption()
tls()
peers.run(sys.modules[__name__])
print(f"{results['passed']} passed, {results['failed']} failed")
sys.exit(1 if results["failed"] else 0)
