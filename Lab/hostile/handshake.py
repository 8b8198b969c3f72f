"""Servers that do not become a WebSocket: slow, endless or contradicting answers, and TLS that is no TLS."""

import ssl
import subprocess
import time

import frames
from measure import MIB, now
from peer import Gone
from pusher import PusherPeer, comes_through, event, listen, send_all
from scenario import scenario


def reconnects_into(trial, hostile, *arguments, seconds=4, attempts=None, phase="requested", server=None, patience=8):
    """A client loses its connection and finds this instead, for a while; then the server behaves."""
    server, client = listen(trial, *arguments, server=server)
    before = server.accepted
    with trial.attack(client):
        server.strike(hostile, phase)
        server.connection().close()
        end = now() + seconds
        while now() < end:
            time.sleep(0.1)
        server.relent()
    if attempts:
        trial.expect(server.accepted - before <= attempts, f"{server.accepted - before} attempts in {seconds} s")
    trial.expect(server.accepted > before, "it does not try again")
    trial.is_back(comes_through(server, client, trial.attack_ended, patience))
    return server, client


ACCEPTED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"


def upgraded(connection, extra=b""):
    return frames.upgrade(connection.request, extra)


def answers(data):
    """Sends this instead of an upgrade, and waits for the end."""
    def hostile(connection):
        connection.send(data(connection) if callable(data) else data)
        connection.wait_for_end(3)
    return hostile


def repeats(start, data, megabytes):
    def hostile(connection):
        connection.send(start(connection) if callable(start) else start)
        send_all(connection, data, megabytes * MIB // len(data))
        connection.wait_for_end(3)
    return hostile


HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b"<html>log in first</html>" * 50_000

for name, hostile, bounds in [
    ("a page instead of an upgrade", answers(HTML), {}),
    ("a redirect to itself", answers(lambda connection: b"HTTP/1.1 302 Found\r\nLocation: " + b"/" * 5000 + b"\r\n"
                                     b"Content-Length: 0\r\n\r\n"), {}),
    ("407, again and again", answers(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x"
                                     b"\r\nContent-Length: 0\r\n\r\n"), {}),
    ("401, with a body that never ends", repeats(b"HTTP/1.1 401 Unauthorized\r\n\r\n", b"x" * 65536, 64), {}),
    ("the wrong accept key", answers(ACCEPTED + b"Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n"), {}),
    ("two accept keys", answers(lambda connection: upgraded(connection, b"Sec-WebSocket-Accept: x\r\n")), {}),
    ("an extension that nobody offered",
     answers(lambda connection: upgraded(connection, b"Sec-WebSocket-Extensions: permessage-deflate\r\n")), {}),
    ("a subprotocol that nobody offered",
     answers(lambda connection: upgraded(connection, b"Sec-WebSocket-Protocol: chat\r\n")), {}),
    ("header lines without end", repeats(ACCEPTED, b"X-Filler: " + b"f" * 100 + b"\r\n", 64), {"smoke": True}),
    ("one header line without end", repeats(ACCEPTED + b"X-Filler: ", b"f" * 65536, 64), {}),
    ("a status line without end", repeats(b"HTTP/1.1 101 ", b"f" * 65536, 64), {}),
    ("cookies without end", repeats(ACCEPTED, b"Set-Cookie: a=" + b"c" * 4000 + b"\r\n", 64), {}),
    ("100 Continue without end", repeats(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 32), {}),
    ("garbage", repeats(b"", b"\x00\xff\x16\x03garbage", 16), {}),
    ("an SSH server's greeting", answers(b"SSH-2.0-OpenSSH_9.2\r\n"), {}),
    ("a close before the first message",
     answers(lambda connection: upgraded(connection) + frames.close(1000, b"no")), {}),
    ("an event before the connection is established",
     answers(lambda connection: upgraded(connection) + frames.text(event("e", "x", "calm"))), {}),
    ("a socket id of 5 MiB", answers(
        lambda connection: upgraded(connection) + frames.text(event(
            "pusher:connection_established", {"socket_id": "1." + "1" * 5 * MIB, "activity_timeout": 120}))),
     {"grows": 24}),
    ("a socket id that adds to what is signed", answers(
        lambda connection: upgraded(connection) + frames.text(event(
            "pusher:connection_established", {"socket_id": "1.1:private-other", "activity_timeout": 120}))), {}),
    ("a reset", lambda connection: connection.reset(), {}),
]:
    bounds = {"idle": "cpu" not in bounds, "back": 5, **bounds}
    scenario(f"handshake: {name}", **bounds)(
        lambda trial, hostile=hostile: reconnects_into(trial, hostile, attempts=25))


@scenario("handshake: bytes one by one", idle=True, back=18, cpu=3)
def slow_handshake(trial):
    """The connect time-out, 15 s, is for all of it."""
    gave_up = []

    def hostile(connection):
        try:
            connection.send_slowly(upgraded(connection), 0.3, 30)
        except Gone:
            gave_up.append(now())
    reconnects_into(trial, hostile, seconds=18, patience=25)
    trial.expect(gave_up, "it waits for ever")


@scenario("handshake: accepted, and then silence", idle=True, back=22, cpu=3)
def silent(trial):
    reconnects_into(trial, lambda connection: connection.wait_for_end(30), seconds=4, patience=25, phase="accepted")


@scenario("handshake: accepted and reset, a thousand times a second", idle=True, smoke=True, cpu=4)
def resets(trial):
    """The wait between attempts has to hold, however quickly they fail."""
    reconnects_into(trial, lambda connection: connection.reset(), phase="accepted", seconds=5, attempts=30)


@scenario("handshake: established and reset", idle=True, smoke=True, cpu=4, back=5)
def established_and_reset(trial):
    """Each attempt succeeds, so that there is no back-off by failures alone."""
    def hostile(connection):
        connection.send(upgraded(connection) + frames.text(event(
            "pusher:connection_established", {"socket_id": "1.1", "activity_timeout": 120})))
        time.sleep(0.02)
        connection.reset()
    reconnects_into(trial, hostile, seconds=5, attempts=40)


# Each attempt that gets so far has eight lines in the log; how many there are in five seconds is up to the jitter.
@scenario("handshake: 4200, come back at once", idle=True, smoke=True, cpu=4, back=5, log=120)
def come_back(trial):
    def hostile(connection):
        connection.send(upgraded(connection) + frames.text(event(
            "pusher:connection_established", {"socket_id": "1.1", "activity_timeout": 120})))
        connection.send(frames.text(event("pusher:error", {"code": 4200, "message": "come back"})))
        connection.send(frames.close(4200, b"come back"))
        connection.wait_for_end(1)
    reconnects_into(trial, hostile, seconds=5, attempts=40)


# TLS

def certificate(folder):
    """A certificate for this machine, which is its own authority."""
    certificate, key = folder / "server.pem", folder / "server.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", key, "-out", certificate, "-subj", "/CN=hostile", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True)
    return certificate, key


def tls_context(folder):
    pem, key = certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    return context, pem


class TLSPeer(PusherPeer):
    """Speaks TLS unless a hostile turn comes before it."""

    def __init__(self, tls):
        self.tls = tls
        super().__init__()

    def handle(self, connection):
        if self.is_turn(connection, "accepted"):
            return self.hostile(connection)
        connection.socket = self.tls.wrap_socket(connection.socket, server_side=True)
        super().handle(connection)


def tls_reconnects_into(trial, hostile, **options):
    context, pem = tls_context(trial.folder)
    return reconnects_into(trial, hostile, "--tls", "--ca-file", pem, server=trial.peer(TLSPeer(context)), **options)


def silently(data):
    def hostile(connection):
        connection.send(data)
        connection.wait_for_end(3)
    return hostile


ALERTS = b"\x15\x03\x03\x00\x02\x01\x00" * 100_000  # warnings, close_notify

for name, hostile in [
    ("plain HTTP in its place", silently(b"HTTP/1.1 200 OK\r\n\r\n")),
    ("a record of the largest size", silently(b"\x16\x03\x03\xff\xff" + b"x" * 65535)),
    ("warnings without end", silently(ALERTS)),
    ("garbage records", silently(b"\x17\x03\x03\x00\x10garbagegarbage!!" * 10_000)),
    ("a hello without an end", silently(b"\x16\x03\x03\x40\x00\x02\xff\xff\xff" + b"\0" * 16380)),
]:
    scenario(f"TLS: {name}", idle=True, back=5, smoke=name == "warnings without end")(
        lambda trial, hostile=hostile: tls_reconnects_into(trial, hostile, phase="accepted", attempts=25))


@scenario("TLS: records one byte at a time", idle=True, back=12, grows=16, cpu=4)
def slow_records(trial):
    """Right in every byte, and in no hurry: either it comes about, or the connect time-out ends it."""
    context, pem = tls_context(trial.folder)

    def hostile(connection):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                connection.send_slowly(outgoing.read(), 0.01, 20)
                incoming.write(connection.receive())
        while True:
            connection.send_slowly(outgoing.read(), 0.01, 20)
            tls.write(b"HTTP/1.1 101 Switching Protocols\r\n")
    reconnects_into(trial, hostile, "--tls", "--ca-file", pem, server=trial.peer(TLSPeer(context)), phase="accepted",
                    seconds=6, patience=25)
