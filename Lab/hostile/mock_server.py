"""Clients that mean harm, against `pusher-cli serve` and `pusher-cli auth-server`; another client, which behaves, has
to get what is published."""

import hashlib
import hmac
import json
import socket
import threading
import time

import frames
from frames import CONTINUATION, PING, PONG, TEXT
from measure import MIB, now, slowness
from peer import Connection, Gone
from pusher import Client, send_all
from scenario import scenario

SERVER = {"PUSHER_SECRET": "app-secret"}


def connect(port):
    return Connection(socket.create_connection(("127.0.0.1", port), 10))


def request(port, text, body=b""):
    """An HTTP request; the status of its answer, None if there is none."""
    try:
        connection = connect(port)
        try:
            connection.send(
                f"{text}\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            return int(connection.read_until(b"\r\n").split()[1])
        finally:
            connection.close()
    except (Gone, OSError, ValueError):
        return None


def publish(port, channel, data):
    """Through the HTTP API."""
    return post_signed(port, json.dumps({"name": "tick", "channels": [channel], "data": data}).encode())


def post_signed(port, body):
    """To the HTTP API, as it wants it."""
    digest = hashlib.md5(body).hexdigest()
    query = f"auth_key=app-key&auth_timestamp={int(time.time())}&auth_version=1.0&body_md5={digest}"
    text = f"POST\n/apps/1/events\n{query}"
    signature = hmac.new(b"app-secret", text.encode(), hashlib.sha256).hexdigest()
    return request(port, f"POST /apps/1/events?{query}&auth_signature={signature} HTTP/1.1\r\n"
                         "Content-Type: application/json", body)


class Witness:
    """A well-behaved client that is subscribed, and what it gets."""

    def __init__(self, port):
        self.port = port
        self.client = Client(port)
        self.client.subscribe("calm")
        self.client.wait_for("pusher_internal:subscription_succeeded")
        self.client.connection.socket.settimeout(120)
        self.got = []
        self.changed = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while True:
                message = self.client.message()
                if message["event"] == "pusher:ping":
                    self.client.send('{"event":"pusher:pong"}')
                with self.changed:
                    self.got = self.got[-100:] + [(now(), message.get("data"))]
                    self.changed.notify_all()
        except Gone:
            pass

    def gets(self, since, within):
        """The moment at which something that is published now arrives."""
        end = now() + within * slowness()
        while now() < end:
            data = f"tick-{now()}"
            publish(self.port, "calm", data)
            with self.changed:
                self.changed.wait_for(lambda: any(got == data for _, got in self.got), 0.5)
                for moment, got in self.got:
                    if got == data and moment >= since:
                        return moment
        return None


def serve(trial, *options, command="serve"):
    server = trial.start(command, "--port", 0, *options, environment={**SERVER, "PUSHER_KEY": "app-key"})
    moment = trial.need(server.find(lambda line: line.startswith(b"listening on"), 0, 20), "it does not start")
    line = next(line for at, line in server.lines if at == moment)
    return server, int(line.rsplit(b":", 1)[1])


def attack(trial, hostile, *options, within=15):
    server, port = serve(trial, *options)
    witness = Witness(port)
    for step in range(100):
        publish(port, "calm", "warm" * 50)
    trial.need(witness.gets(0, 10), "it does not warm up")
    with trial.attack(server):
        try:
            hostile(port)
        except Gone:
            pass
    trial.is_back(witness.gets(trial.attack_ended, within))
    return server, port


def flood(trial, data, count, reads=True, start=b""):
    """On an established connection. Whether the answers are read is the difference."""
    def hostile(port):
        client = Client(port)
        client.connection.socket.settimeout(8)
        reader = threading.Thread(target=drain, args=(client,), daemon=True)
        if reads:
            reader.start()
        try:
            client.connection.send(start)
            send_all(client.connection, data, trial.scale(count))
            client.connection.socket.shutdown(socket.SHUT_WR)
            if reads:
                reader.join(30)  # until the server has read all of it, and closes
            else:
                time.sleep(2)
        finally:
            client.close()
    attack(trial, hostile)


def m(opcode, payload=b"", **options):
    return frames.masked(opcode, payload, **options)


def says(event, **fields):
    return m(TEXT, json.dumps({"event": event, **fields}).encode())


for name, data, count, bounds in [
    ("pings", m(PING, b"p" * 125), 40_000, {"cpu": 25}),
    ("pongs", m(PONG, b"p" * 125), 40_000, {"cpu": 25}),
    ("empty fragments", m(CONTINUATION, b"", final=False), 400_000, {"cpu": 25, "grows": 48, "smoke": True,
                                                                    "start": m(TEXT, b"", final=False)}),
    ("one-byte fragments", m(CONTINUATION, b" ", final=False), 400_000, {"cpu": 25, "grows": 48,
                                                                         "start": m(TEXT, b"{", final=False)}),
    ("pusher:ping", says("pusher:ping"), 15_000, {"cpu": 25}),
    ("text that is no JSON", m(TEXT, b"x" * 100), 15_000, {"cpu": 25}),
    ("text that is no UTF-8", m(TEXT, b"\xff"), 20_000, {}),
    ("JSON 100,000 deep", m(TEXT, b"[" * 100_000), 50, {"cpu": 15, "smoke": True}),
    ("frames without a mask", frames.text("{}"), 20_000, {}),
    ("reserved bits", m(TEXT, b"{}", reserved=7), 20_000, {}),
    ("binary frames", m(frames.BINARY, b"x"), 20_000, {}),
    ("client events that nobody may send", says("client-x", channel="private-x", data="x" * 500), 10_000, {"cpu": 25}),
    ("subscriptions without a signature", says("pusher:subscribe", data={"channel": "private-x", "auth": "k:0"}),
     10_000, {"cpu": 40}),
    ("sign-ins without a signature", says("pusher:signin", data={"auth": "k:0", "user_data": "{}"}),
     10_000, {"cpu": 40}),
    ("messages of 1 MiB", m(TEXT, b" " * (MIB - 100)), 400, {"cpu": 40, "grows": 64}),
]:
    start = bounds.pop("start", b"")
    scenario(f"mock server: flood of {name}", **{"grows": 24, "cpu": 15, "back": 8, "log": 5, **bounds})(
        lambda trial, data=data, count=count, start=start: flood(trial, data, count, start=start))


@scenario("mock server: pings, and the pongs are not read", grows=24, cpu=25, back=5, log=5, smoke=True)
def unread_pongs(trial):
    flood(trial, m(PING, b"p" * 125), 400_000, reads=False)


@scenario("mock server: pusher:ping, and the answers are not read", grows=32, cpu=60, back=8, log=5)
def unread_answers(trial):
    flood(trial, says("pusher:ping"), 150_000, reads=False)


@scenario("mock server: a subscriber who reads nothing", grows=80, cpu=40, back=5, log=5, smoke=True)
def unread_events(trial):
    """32 MiB of what is published for it wait, in buffers up to twice as large, beside 16 MiB of the server's history; then
    it is let go."""
    def hostile(port):
        client = Client(port)
        client.subscribe("calm")
        client.subscribe("loud")
        for _ in range(trial.scale(3000)):
            publish(port, "loud", "x" * 10_000)
            publish(port, "loud", "y" * 10_000)
        client.close()
    attack(trial, hostile)


@scenario("mock server: subscriptions to 100,000 channels", grows=64, cpu=60, back=8, log=5)
def many_channels(trial):
    def hostile(port):
        client = Client(port)
        threading.Thread(target=lambda: drain(client), daemon=True).start()
        batch = b""
        for step in range(trial.scale(100_000)):
            batch += says("pusher:subscribe", data={"channel": f"channel-{step}-" + "n" * 140})
            if len(batch) > 1 << 16:
                client.connection.send(batch)
                batch = b""
        client.connection.send(batch)
        time.sleep(1)
        client.close()
    attack(trial, hostile)


def drain(client):
    try:
        while True:
            client.connection.receive()
    except Gone:
        pass


@scenario("mock server: names and keys of 1 MiB", grows=80, cpu=30, back=5, log=5)
def huge_names(trial):
    def hostile(port):
        name = "n" * 900_000
        client = Client(port)
        threading.Thread(target=lambda: drain(client), daemon=True).start()
        for step in range(trial.scale(100)):
            client.send(json.dumps({"event": "pusher:subscribe", "data": {"channel": f"{step}{name}"}}))
            client.send(json.dumps({"event": f"{step}{name}", "data": {}}))
            client.send(json.dumps({"event": "client-x", "channel": f"private-{name}", "data": name[:80_000]}))
        client.close()
        for step in range(5):
            try:
                Client(port, key=name[:60_000])
            except (Gone, OSError, KeyError, TypeError):
                pass
    attack(trial, hostile)


@scenario("mock server: a frame of 2^62 bytes", grows=16, cpu=8, back=3, log=5, smoke=True)
def huge_frame(trial):
    def hostile(port):
        for length in (1 << 62, (1 << 64) - 1, 1 << 21):
            client = Client(port)
            try:
                client.connection.send(frames.head(TEXT, length, mask=b"mask") + b"x" * 100_000)
                client.connection.wait_for_end(3)
            except Gone:
                pass
    attack(trial, hostile)


@scenario("mock server: a thousand connections that say nothing", grows=48, cpu=15, back=5, log=5, smoke=True)
def idle_connections(trial):
    def hostile(port):
        connections = [connect(port) for _ in range(trial.scale(1000))]
        for connection in connections[::2]:
            connection.send(b"GET / HTTP/1.1\r\nHost: ")
        time.sleep(0.5)
        for connection in connections:
            connection.close()
    attack(trial, hostile)


@scenario("mock server: connects and resets, as fast as it goes", grows=32, cpu=25, back=5, log=5)
def resets(trial):
    def hostile(port):
        for step in range(trial.scale(5000)):
            connection = connect(port)
            if step % 2:
                connection.send(frames.request("/app/app-key?protocol=7", "x"))
            connection.reset()
    attack(trial, hostile)


@scenario("mock server: connections that open and drop", grows=32, cpu=40, back=5, log=5)
def reconnects(trial):
    def hostile(port):
        for step in range(trial.scale(2000)):
            client = Client(port)
            client.subscribe(f"c{step}")
            client.connection.reset()
    attack(trial, hostile)


def sends_http(start, data, megabytes, end=b""):
    def hostile(port):
        connection = connect(port)
        connection.send(start)
        try:
            send_all(connection, data, megabytes * MIB // len(data))
            connection.send(end)
        finally:
            connection.wait_for_end(2)
            connection.close()
    return hostile


POST = b"POST /apps/1/events HTTP/1.1\r\nHost: x\r\n"
for name, hostile, bounds in [
    ("header lines without end", sends_http(b"GET / HTTP/1.1\r\n", b"X-Filler: " + b"f" * 100 + b"\r\n", 64),
     {"smoke": True}),
    ("one header line without end", sends_http(b"GET / HTTP/1.1\r\nX-Filler: ", b"f" * 65536, 64), {}),
    ("an address without end", sends_http(b"GET /", b"a" * 65536, 64), {}),
    ("a method without end", sends_http(b"", b"A" * 65536, 16), {}),
    ("a body without end", sends_http(POST + b"Content-Length: 99999999999\r\n\r\n", b"x" * 65536, 64), {}),
    ("chunk extensions without end", sends_http(POST + b"Transfer-Encoding: chunked\r\n\r\n1;", b"e" * 65536, 64),
     {"smoke": True}),
    ("chunks with extensions without end", sends_http(
        POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"e" * 1000 + b"\r\nx\r\n", 32), {}),
    ("trailers without end", sends_http(
        POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-T: " + b"t" * 100 + b"\r\n", 64), {}),
    ("requests one after the other, unread", sends_http(b"", b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", 4),
     {"cpu": 60}),
    ("requests without a signature, unread", sends_http(
        b"", POST + b"Content-Length: 2\r\n\r\n{}", 4), {"cpu": 60}),
    ("a length and chunks", sends_http(
        POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", b"0\r\n\r\n", 1), {"cpu": 60}),
    ("an upgrade with header lines without end", sends_http(
        b"GET /app/app-key?protocol=7 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n", b"X: " + b"f" * 100 + b"\r\n",
        32), {}),
]:
    scenario(f"mock server HTTP: {name}", **{"grows": 24, "cpu": 15, "back": 8, "log": 5, **bounds})(
        lambda trial, hostile=hostile: attack(trial, hostile))


@scenario("mock server HTTP: JSON 100,000 deep, numbers, keys", grows=64, cpu=30, back=5, log=5, smoke=True)
def json_bodies(trial):
    """Signed, so that it is read."""
    bodies = ["[" * 100_000, '{"name":"e","channels":["calm"],"data":' + '{"a":' * 50_000, "9" * 500_000,
              json.dumps({f"k{step}": step for step in range(50_000)}),
              json.dumps({"name": "e", "channels": ["c"] * 100_000, "data": "x"}),
              '{"name":"e","channels":{"a":1},"data":1e999}', '{"batch":' + "[" * 90_000]

    def hostile(port):
        for body in bodies * trial.scale(5):
            post_signed(port, body.encode())
    attack(trial, hostile)


@scenario("mock server HTTP: time stamps of year 0 and 10^6, and other parameters", grows=24, cpu=15, back=5, log=5)
def timestamps(trial):
    def hostile(port):
        for value in ["-62167219200", "31494784780800", "1e308", "-9223372036854775808", "9223372036854775807", "x", "",
                      "9" * 5000, "%00", "%ff", "%"]:
            for path in ("/apps/1/events", "/apps/1/channels", "/apps/1/channels/%2e%2e/users",
                         "/apps//x", "/apps/1/users/..%2f/terminate_connections"):
                request(port, f"GET {path}?auth_key=app-key&auth_timestamp={value}&auth_version=1.0"
                              f"&auth_signature={value} HTTP/1.1")
    attack(trial, hostile)


@scenario("mock server HTTP: 100 connections that idle after a body of 1 MiB", grows=48, cpu=20, back=5, log=5)
def idle_after_bodies(trial):
    def hostile(port):
        connections = [connect(port) for _ in range(trial.scale(100))]
        for connection in connections:
            connection.send(POST + f"Content-Length: {MIB}\r\n\r\n".encode() + b"x" * MIB)
            connection.read_until(b"\r\n\r\n")
        for connection in connections:
            connection.close()
    attack(trial, hostile)


@scenario("mock server HTTP: heads byte by byte, 200 at a time", grows=24, cpu=15, back=5, log=5)
def slow_heads(trial):
    def hostile(port):
        connections = [connect(port) for _ in range(trial.scale(200))]
        for byte in b"GET /app/app-key?protocol=7 HTTP/1.1\r\nHost: x\r\nUpg":
            for connection in connections:
                connection.send(bytes([byte]))
        for connection in connections:
            connection.close()
    attack(trial, hostile)


@scenario("mock server: frames byte by byte, 200 at a time", grows=24, cpu=25, back=5, log=5)
def slow_frames(trial):
    def hostile(port):
        clients = [Client(port) for _ in range(trial.scale(200))]
        for byte in says("pusher:ping"):
            for client in clients:
                client.connection.send(bytes([byte]))
        for client in clients:
            client.close()
    attack(trial, hostile)


@scenario("mock server: fields of the auth endpoint, 1 MiB each", grows=80, cpu=30, back=5, log=5)
def auth_fields(trial):
    def hostile(port):
        for step in range(trial.scale(300)):
            request(port, "POST /pusher/auth HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded",
                    b"socket_id=1.1&channel_name=private-" + b"n" * 500_000 + b"&user_info=" + b"%7b" * 100_000)
    attack(trial, hostile)


@scenario("auth server: header lines, bodies and floods", grows=40, cpu=30, back=10, log=5)
def auth_server(trial):
    server, port = serve(trial, command="auth-server")
    fine = b"socket_id=1.1&channel_name=private-x"
    ask = "POST /pusher/auth HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded"
    for _ in range(50):
        trial.expect(request(port, ask, fine) == 200, "it does not sign")
    with trial.attack(server):
        for start, data in ((b"POST /pusher/auth HTTP/1.1\r\n", b"X: " + b"f" * 100 + b"\r\n"),
                            (b"POST /pusher/auth HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", b"x" * 65536)):
            try:
                sends_http(start, data, 16)(port)
            except Gone:
                pass
        for step in range(trial.scale(200)):
            request(port, ask, b"socket_id=" + b"1" * 5000 + b"&channel_name=" + b"%" * 5000)
        for _ in range(trial.scale(1000)):
            connect(port).reset()
    trial.is_back(now() if request(port, ask, fine) == 200 else None)
