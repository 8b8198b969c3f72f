"""A server of the Pusher protocol that behaves until a scenario tells it otherwise, and clients of it."""

import json
import threading
import time

import frames
from measure import now, slowness
from peer import Connection, Gone, Peer


OFFERED = b"Sec-WebSocket-Extensions: permessage-deflate\r\n"


def event(name, data=None, channel=None, **more):
    """A frame's JSON; data is text inside, as the protocol has it."""
    fields = {"event": name}
    if channel is not None:
        fields["channel"] = channel
    if data is not None:
        fields["data"] = data if isinstance(data, str) else json.dumps(data)
    return json.dumps({**fields, **more})


def established(socket_id="1.1", activity_timeout=120):
    return event("pusher:connection_established", {"socket_id": socket_id, "activity_timeout": activity_timeout})


def succeeded(channel, data="{}"):
    return event("pusher_internal:subscription_succeeded", data, channel)


class PusherPeer(Peer):
    """`hostile(connection)` plays instead of the protocol for the connections whose numbers are in `turns`; at
    `phase`: "accepted", "requested" (the HTTP request was read), or "established"."""

    def __init__(self, context=None, extension=b""):
        self.extension = extension
        self.hostile, self.phase, self.turns = None, "established", lambda number: False
        self.socket_id, self.activity_timeout = "1.1", 120
        self.reads = True
        self.answer = None  # of a subscription: answer(connection, channel) says whether it did so itself
        self.refuses_pings = False
        self.established = 0
        self.received = []
        self.changed = threading.Condition()
        self.live = []
        super().__init__(context=context)

    def is_turn(self, connection, phase):
        return self.hostile is not None and self.phase == phase and self.turns(connection.number)

    def strike(self, hostile, phase="accepted", turns=lambda number: True):
        """From the next connection on."""
        self.hostile, self.phase, self.turns = hostile, phase, turns

    def relent(self):
        self.hostile = None

    def handle(self, connection):
        if self.is_turn(connection, "accepted"):
            return self.hostile(connection)
        request = connection.read_until(b"\r\n\r\n")
        connection.request = request
        if self.is_turn(connection, "requested"):
            return self.hostile(connection)
        # A client that has fallen back to no compression would refuse an answer that it did not ask for.
        offered = b"permessage-deflate" in request
        connection.send(frames.upgrade(request, self.extension if offered else b""))
        connection.send(frames.text(established(f"1.{connection.number + 1}", self.activity_timeout)))
        self.established += 1
        if self.is_turn(connection, "established"):
            return self.hostile(connection)
        self.serve(connection)

    def serve(self, connection):
        with self.changed:
            self.live.append(connection)
            self.changed.notify_all()
        try:
            while True:
                while not self.reads:
                    time.sleep(0.02)
                self.received_frame(connection, *frames.read(connection))
        finally:
            self.drop(connection)

    def drop(self, connection):
        """Nothing more is told to it."""
        with self.changed:
            self.live = [other for other in self.live if other is not connection]

    def received_frame(self, connection, opcode, payload):
        if opcode == frames.CLOSE:
            connection.send(frames.frame(frames.CLOSE, payload))
            raise Gone("closed")
        if opcode == frames.PING:
            connection.send(frames.frame(frames.PONG, payload))
        if opcode != frames.TEXT:
            return
        message = json.loads(payload)
        with self.changed:
            if len(self.received) < 10_000:
                self.received.append(message)
            self.changed.notify_all()
        if message["event"] == "pusher:ping" and not self.refuses_pings:
            connection.send(frames.text(event("pusher:pong", "{}")))
        if message["event"] == "pusher:subscribe":
            channel = message["data"]["channel"]
            if not (self.answer and self.answer(connection, channel)):
                connection.send(frames.text(succeeded(channel, self.presence(channel))))

    @staticmethod
    def presence(channel):
        if channel.startswith("presence-"):
            return {"presence": {"ids": ["me"], "hash": {"me": {}}, "count": 1}}
        return "{}"

    def connection(self, within=10):
        """The newest that behaves."""
        with self.changed:
            self.changed.wait_for(lambda: self.live, within)
            return self.live[-1] if self.live else None

    def tell(self, message):
        """Sends to all that behave; says whether there are any."""
        data = frames.text(message)
        told = False
        for connection in list(self.live):
            try:
                connection.send(data)
                told = True
            except Gone:
                pass
        return told

    def wait_for(self, condition, within=10):
        with self.changed:
            return self.changed.wait_for(lambda: any(condition(message) for message in self.received), within)


class Calm:
    """Events on the channel that nobody attacks."""

    count = 0
    lock = threading.Lock()

    @classmethod
    def tick(cls):
        with cls.lock:
            cls.count += 1
            return f"calm-tick-{cls.count}"


def comes_through(server, client, since, within, channel="calm"):
    """The moment at which a fresh event arrives; None: it does not."""
    end = now() + within * slowness()
    while now() < end and client.is_running:
        tick = Calm.tick()
        server.tell(event("tick", tick, channel))
        moment = client.find(lambda line: tick.encode() in line, since, 0.25)
        if moment:
            return moment
    return None


def listen(trial, *arguments, channels=("calm", "victim"), server=None, json=True, warm_up=True, environment=None,
           verbose=True):
    """`pusher-cli listen` on a server that behaves, warmed up. Returns both."""
    server = server or trial.peer(PusherPeer())
    client = trial.start(
        "listen", *channels, "--key", "k", "--host", "127.0.0.1", "--port", server.port, "--connect-timeout", 0,
        "--max-reconnect-delay", 1, *(["--verbose"] if verbose else []), *(["--json"] if json else []),
        *([] if "--tls" in arguments else ["--no-tls"]), *arguments, environment=environment, json=json)
    if warm_up:
        warm(trial, server, client)
    return server, client


def warm(trial, server, client, channel="calm"):
    trial.need(comes_through(server, client, 0, 20, channel), "it never connected")
    for step in range(200):
        server.tell(event("warm", "x" * 200, "victim" if step % 2 else channel))
    trial.need(comes_through(server, client, 0, 10, channel), "it does not warm up")


def attack(trial, hostile, *arguments, at_connection=True, **options):
    """The usual course: a client that is subscribed, `hostile(connection)`, and whether events come through after."""
    server, client = listen(trial, *arguments, **options)
    connection = trial.need(server.connection(), "no connection")
    with trial.attack(client):
        try:
            hostile(connection)
        except Gone:  # it defends itself, and a frame may have been cut off
            server.drop(connection)
            connection.close()
    trial.is_back(comes_through(server, client, trial.attack_ended, trial.scenario.back + 5))
    return server, client


def send_all(connection, data, count, batch=1 << 18):
    """`data` that many times."""
    many = max(1, min(count, batch // max(len(data), 1)))
    block = data * many
    for _ in range(count // many):
        connection.send(block)
    connection.send(data * (count % many))


class Client:
    """A well-behaved client of a Pusher server, for attacks on `pusher-cli serve`."""

    def __init__(self, port, key="app-key"):
        import socket
        self.connection = Connection(socket.create_connection(("127.0.0.1", port), 10))
        self.connection.send(frames.request(f"/app/{key}?protocol=7&client=hostile&version=1", f"127.0.0.1:{port}"))
        answer = self.connection.read_until(b"\r\n\r\n")
        if b" 101 " not in answer.split(b"\r\n")[0]:
            raise Gone("no upgrade")
        self.socket_id = json.loads(self.message()["data"])["socket_id"]

    def message(self):
        while True:
            opcode, payload = frames.read(self.connection)
            if opcode == frames.TEXT:
                return json.loads(payload)
            if opcode == frames.CLOSE:
                raise Gone("closed")

    def send(self, message):
        self.connection.send(frames.masked(frames.TEXT, message.encode() if isinstance(message, str) else message))

    def subscribe(self, channel, **fields):
        self.send(json.dumps({"event": "pusher:subscribe", "data": {"channel": channel, **fields}}))

    def wait_for(self, name, within=10):
        """The next event of this name."""
        self.connection.socket.settimeout(within)
        while (message := self.message())["event"] != name:
            pass
        return message

    def close(self):
        self.connection.close()
