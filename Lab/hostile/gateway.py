"""Homeservers that mean harm, against `pusher-cli matrix push-gateway`."""

import json
import time

from measure import now
from mock_server import connect, request, sends_http
from peer import Gone
from scenario import scenario
from subject import EVIL

PATH = "POST /_matrix/push/v1/notify HTTP/1.1\r\nContent-Type: application/json"


def notification(body="x", **more):
    return json.dumps({"notification": {"event_id": "$e", "room_id": "!r:h", "type": "m.room.message",
                                        "sender": "@a:h", "content": {"body": body}, "devices": [
                                            {"app_id": "a", "pushkey": "k", "pushkey_ts": 1, "data": {}}],
                                        **more}}).encode()


def attack(trial, hostile, *arguments):
    gateway = trial.start("matrix", "push-gateway", "--port", 0, *arguments, json="--json" in arguments)
    trial.need(gateway.says("listening on", 20), "it does not start")
    port = int(next(line for line in gateway.log if "listening on" in line).split("//")[1].split(":")[1].split("/")[0])
    for _ in range(50):
        trial.expect(request(port, PATH, notification("warm")) == 200, "it does not take a push")
    with trial.attack(gateway):
        try:
            hostile(port)
        except Gone:
            pass
    sent = now()
    trial.expect(request(port, PATH, notification("calm-push")) == 200, "it takes no push any more")
    trial.is_back(gateway.find(lambda line: b"calm" in line or b"$e" in line, sent, 8))


@scenario("push gateway: bodies and heads without end", grows=24, cpu=15, back=3, log=5, smoke=True)
def endless(trial):
    def hostile(port):
        head = PATH.encode() + b"\r\nHost: x\r\n"
        for start, data in ((head, b"X: " + b"f" * 100 + b"\r\n"), (head + b"X: ", b"f" * 65536),
                            (head + b"Content-Length: 99999999999\r\n\r\n", b"x" * 65536),
                            (head + b"Transfer-Encoding: chunked\r\n\r\n1;", b"e" * 65536),
                            (head + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"e" * 100 + b"\r\nx\r\n")):
            try:
                sends_http(start, data, 16)(port)
            except Gone:
                pass
    attack(trial, hostile)


@scenario("push gateway: JSON of every shape and depth", grows=32, cpu=20, back=3, log=5, smoke=True)
def shapes(trial):
    values = [b"", b"[" * 200_000, b'{"a":' * 40_000, b"null", b"9" * 200_000, b'{"notification":[]}',
              b'{"notification":{}}', notification(devices=[]),
              notification(devices=[1, None, {"app_id": [], "pushkey": 1e308}]),
              notification(counts={"unread": 1e308, "missed_calls": -1}), notification(content=[[]], prio=1, type=None),
              notification(EVIL, sender_display_name=EVIL, room_name=EVIL, room_alias=EVIL, event_id="$e" + EVIL,
                           room_id=EVIL, sender=EVIL, type=EVIL),
              json.dumps({f"k{step}": step for step in range(15_000)}).encode()]

    def hostile(port):
        for body in values * trial.scale(10):
            request(port, PATH, body)
    attack(trial, hostile)


@scenario("push gateway: 600 connections that say nothing", grows=24, cpu=10, back=3, log=5, smoke=True)
def idle(trial):
    """More than it takes: those beyond are closed, and when the others go, all is well."""
    def hostile(port):
        connections = [connect(port) for _ in range(600)]
        for connection in connections[::3]:
            try:
                connection.send(b"POST /_matrix/push")
            except Gone:
                pass
        time.sleep(0.5)
        for connection in connections:
            connection.close()
        time.sleep(0.2)
    attack(trial, hostile)


@scenario("push gateway: pushes that nobody prints", grows=160, cpu=30, back=8, log=5)
def flood(trial):
    """A thousand may wait, of at most 256 KiB each; then it says 429."""
    def hostile(port):
        body = notification("x" * 50_000)
        for _ in range(trial.scale(3000)):
            request(port, PATH, body)
    attack(trial, hostile)
