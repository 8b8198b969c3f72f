"""Frames below the protocol: floods, fragments, lengths, and a server that does not read."""

import frames
from bombs import deflated
from frames import BINARY, CONTINUATION, PING, PONG, TEXT
from measure import MIB
from peer import Gone
from pusher import OFFERED, PusherPeer, attack, comes_through, event, listen, send_all
from scenario import scenario


def flood(data, count):
    return lambda trial: attack(trial, lambda connection: send_all(connection, data, trial.scale(count)))


# The same bytes, again and again, with a reader at the other end.
for name, data, count, bounds in [
    ("pings, empty", frames.frame(PING), 300_000, {}),
    ("pings, 125 bytes", frames.frame(PING, b"p" * 125), 200_000, {}),
    ("pongs nobody asked for", frames.frame(PONG, b"p" * 125), 300_000, {"smoke": True}),
    ("text frames, empty", frames.text(""), 20_000, {"back": 8}),
    ("text frames, no JSON", frames.text("no JSON at all"), 20_000, {"smoke": True, "back": 8}),
    ("text frames, no UTF-8", frames.frame(TEXT, b"\xff\xfe\x80"), 20_000, {}),
    ("binary frames", frames.frame(BINARY, b"b" * 100), 20_000, {"back": 8}),
    ("events for nobody", frames.text(event("e", "x" * 100, "elsewhere")), 100_000, {"smoke": True}),
    ("events without a channel", frames.text(event("e", "x" * 100)), 20_000, {"cpu": 15, "back": 10}),
    ("close frames", frames.close(1000, b"bye"), 20_000, {}),
    ("frames with reserved bits", frames.frame(TEXT, b"{}", reserved=7), 20_000, {}),
    ("frames with a mask", frames.frame(TEXT, b"{}", mask=b"mask"), 20_000, {}),
    ("unknown opcodes", frames.frame(11, b"control") + frames.frame(3, b"data"), 20_000, {}),
    ("control frames in pieces", frames.frame(PING, b"p", final=False), 20_000, {}),
    ("lengths that are not the shortest", frames.frame(TEXT, b"{}", form=64), 20_000, {}),
    ("continuations of nothing", frames.frame(CONTINUATION, b"{}"), 20_000, {}),
]:
    scenario(f"websocket: flood of {name}", **bounds)(flood(data, count))


def unread(data, count):
    """The server sends, and reads nothing: what the client answers has to wait in the client."""
    def play(trial):
        server, client = listen(trial)
        connection = trial.need(server.connection(), "no connection")
        server.reads = False
        with trial.attack(client):
            try:
                connection.socket.settimeout(10)
                send_all(connection, data, trial.scale(count))
            except Gone:
                pass
        # The connection still works in this direction.
        trial.is_back(comes_through(server, client, trial.attack_ended, trial.scenario.back + 5))
        server.reads = True
    return play


scenario("websocket: pings, and nobody reads the pongs", grows=8, cpu=8, smoke=True)(
    unread(frames.frame(PING, b"p" * 125), 400_000))
scenario("websocket: pusher:ping, and nobody reads the answers", grows=8, cpu=25)(
    unread(frames.text(event("pusher:ping", "{}")), 250_000))


@scenario("websocket: a message of empty fragments", cpu=8, smoke=True)
def empty_fragments(trial):
    def hostile(connection):
        connection.send(frames.frame(TEXT, final=False))
        send_all(connection, frames.frame(CONTINUATION, final=False), trial.scale(300_000))
        connection.send(frames.frame(CONTINUATION, b"{}"))
    attack(trial, hostile)


@scenario("websocket: a message of one-byte fragments", cpu=8)
def tiny_fragments(trial):
    def hostile(connection):
        connection.send(frames.frame(TEXT, b"{", final=False))
        send_all(connection, frames.frame(CONTINUATION, b" ", final=False), trial.scale(500_000))
        connection.send(frames.frame(CONTINUATION, b"}"))
    attack(trial, hostile)


@scenario("websocket: pings between the fragments of a message", cpu=8)
def pings_between(trial):
    def hostile(connection):
        connection.send(frames.frame(TEXT, b"{", final=False))
        send_all(connection, frames.frame(CONTINUATION, b" ", final=False) + frames.frame(PING, b"p"),
                 trial.scale(150_000))
        connection.send(frames.frame(CONTINUATION, b"}"))
    attack(trial, hostile)


@scenario("websocket: a frame of 2^62 bytes", smoke=True)
def huge_length(trial):
    def hostile(connection):
        connection.send(frames.head(TEXT, 1 << 62))
        send_all(connection, b"x" * 65536, trial.scale(1600))
    attack(trial, hostile)


@scenario("websocket: a frame with the highest bit of its length")
def negative_length(trial):
    attack(trial, lambda connection: connection.send(frames.head(TEXT, (1 << 64) - 1) + b"x" * 1000))


@scenario("websocket: a message of 300 MiB", grows=24, cpu=6, smoke=True)
def oversized(trial):
    def hostile(connection):
        size = trial.scale(300) * MIB
        connection.send(frames.head(TEXT, size))
        send_all(connection, b"x" * MIB, size // MIB)
    attack(trial, hostile)


@scenario("websocket: messages just below the limit", grows=80, cpu=20, back=8)
def large_messages(trial):
    message = frames.text(event("big", "x" * (10 * MIB - 200), "elsewhere"))
    attack(trial, lambda connection: send_all(connection, message, trial.scale(20)))


@scenario("websocket: fragments without end, 1 KiB each", grows=40, cpu=8)
def endless_fragments(trial):
    def hostile(connection):
        connection.send(frames.frame(TEXT, b"x", final=False))
        send_all(connection, frames.frame(CONTINUATION, b"x" * 1024, final=False), trial.scale(200_000))
    attack(trial, hostile)


@scenario("websocket: a frame's bytes one by one", idle=True, back=4)
def slow_frame(trial):
    """Bytes that come are a sign of life. When the frame is over, all is well."""
    server, client = listen(trial, "--activity-timeout", 2, "--pong-timeout", 2)
    connection = trial.need(server.connection(), "no connection")
    with trial.attack(client):
        connection.send_slowly(frames.text(event("e", "x" * 10, "victim")), 0.15, 30)
    trial.is_back(comes_through(server, client, trial.attack_ended, 10))
    trial.expect(server.accepted == 1, "it did not wait for a slow frame")


@scenario("websocket: half a frame, and then silence", idle=True, back=8)
def half_frame(trial):
    server, client = listen(trial, "--activity-timeout", 2, "--pong-timeout", 2)
    connection = trial.need(server.connection(), "no connection")
    with trial.attack(client):
        connection.send(frames.text(event("e", "x" * 1000, "victim"))[:500])
        server.drop(connection)  # whatever it sends now would be a part of that frame
        connection.lock.acquire()  # pongs too
    trial.is_back(comes_through(server, client, trial.attack_ended, 15))
    trial.expect(server.accepted == 2, "it did not notice")
    connection.lock.release()


@scenario("websocket: control frames one byte at a time", cpu=8)
def split_controls(trial):
    def hostile(connection):
        for byte in frames.frame(PING, b"p" * 120) * trial.scale(300):
            connection.send(bytes([byte]))
    attack(trial, hostile)


@scenario("websocket: frames of 4 MiB, and nobody takes the output", grows=96, cpu=30, back=40)
def large_output_not_taken(trial):
    """What waits for a slow reader has a bound in bytes, not in events alone."""
    stalls(trial, frames.text(event("e", "x" * 4 * MIB, "victim")), trial.scale(80))


@scenario("websocket: frames, and nobody takes the output", grows=24, cpu=30, back=20)
def output_not_taken(trial):
    stalls(trial, frames.text(event("e", "x" * 1000, "victim")), trial.scale(60_000))


def stalls(trial, data, count):
    server, client = listen(trial)
    connection = trial.need(server.connection(), "no connection")
    # A reader that stops: the pipe is full soon, callbacks wait, and the socket must not be read on.
    client.pause_output()
    with trial.attack(client):
        connection.socket.settimeout(5)
        try:
            send_all(connection, data, count)
        except Gone:
            server.drop(connection)  # a frame was cut off
            connection.close()
    client.resume_output()
    trial.is_back(comes_through(server, client, trial.attack_ended, trial.scenario.back + 5))


# Compression

@scenario("websocket: a message that inflates to 600 MiB", grows=32, cpu=6, smoke=True)
def bomb(trial):
    payload = deflated(trial.scale(600))
    attack(trial, lambda connection: connection.send(frames.frame(TEXT, payload, reserved=4)), "--compression",
           server=trial.peer(PusherPeer(extension=OFFERED)))


@scenario("websocket: fifty messages that inflate to 600 MiB", grows=32, cpu=12, back=10)
def bombs(trial):
    payload = frames.frame(TEXT, deflated(600), reserved=4)
    attack(trial, lambda connection: send_all(connection, payload, trial.scale(50)), "--compression",
           server=trial.peer(PusherPeer(extension=OFFERED)))


@scenario("websocket: compressed garbage")
def compressed_garbage(trial):
    payload = trial.random.randbytes(1000)
    attack(trial, lambda connection: send_all(connection, frames.frame(TEXT, payload, reserved=4), trial.scale(5000)),
           "--compression", server=trial.peer(PusherPeer(extension=OFFERED)))


@scenario("websocket: compression that was never agreed on")
def compression_unasked(trial):
    payload = frames.frame(TEXT, deflated(100), reserved=4)
    attack(trial, lambda connection: send_all(connection, payload, 100))
