"""Auth endpoints that mean harm, while events of other channels have to come through."""

import json
import time

from http_peer import WAYS, HTTPPeer, slowly
from measure import now
from pusher import PusherPeer, comes_through, event, listen
from scenario import scenario
from messages import sealed
from subject import EVIL


def asked(trial, answers, *arguments, channels=8, seconds=3, requests=None, prefix="private-"):
    """A client whose private channels ask this endpoint; the slowest event on the channel beside counts."""
    endpoint, server = trial.peer(HTTPPeer(answers)), trial.peer(PusherPeer())
    _, client = listen(trial, "--auth-endpoint", f"http://127.0.0.1:{endpoint.port}/auth", *arguments, server=server,
                       warm_up=False,
                       channels=("calm", "victim", *(f"{prefix}{step}" for step in range(channels))))
    slowest = 0
    with trial.attack(client):
        trial.need(comes_through(server, client, 0, 20), "it never connected")
        # It has started meanwhile; what it has now is the base, as far as it is not the attack's.
        end = now() + seconds
        while now() < end:
            sent = now()
            arrived = comes_through(server, client, sent, trial.scenario.back + 5)
            slowest = max(slowest, (arrived or float("inf")) - sent)
            time.sleep(0.05)
    trial.meter.baseline = 0
    trial.is_back(trial.attack_ended + slowest)
    if requests:
        trial.expect(endpoint.requests <= requests, f"{endpoint.requests} requests")
    return endpoint, server, client


WHOLE = 64

for way in ("header lines without end", "chunk extensions without end", "100 Continue without end",
            "a body without end", "a gzip bomb", "a redirect to itself", "JSON 100,000 deep", "nothing, and resets",
            "two answers at once", "trailers without end"):
    scenario(f"auth endpoint: {way}", grows=WHOLE, cpu=12, back=15, log=90, idle=True, smoke=way.startswith("header"))(
        lambda trial, answers=WAYS[way]: asked(trial, answers, requests=40))


@scenario("auth endpoint: answers byte by byte", idle=True, grows=WHOLE, cpu=4, back=2)
def slow(trial):
    def answers(request):
        request.start(fields=b"Content-Length: 1000\r\n\r\n")
        slowly(request.connection, b"x" * 1000, 10)
    asked(trial, answers, seconds=8, requests=20)


@scenario("auth endpoint: never answers, for 300 channels", idle=True, grows=WHOLE, cpu=6, back=2, smoke=True)
def never(trial):
    """A few at a time: eight requests wait, and everything else goes on."""
    endpoint, _, _ = asked(trial, lambda request: request.connection.wait_for_end(20), channels=300, seconds=5)
    trial.expect(endpoint.accepted <= 8, f"{endpoint.accepted} connections at a time")


@scenario("auth endpoint: hostile text and values", grows=WHOLE, cpu=8, back=2, log=90)
def hostile_text(trial):
    bodies = [json.dumps({"auth": EVIL}), json.dumps({"auth": "k:" + "f" * 900_000}), '{"auth":{}}', '{"auth":null}',
              "[]", json.dumps({"auth": "k:0", "channel_data": EVIL}), json.dumps({"error": EVIL}), EVIL,
              json.dumps({"auth": "k:0", "channel_data": "{" * 1000}),
              json.dumps({"auth": "k:0", "shared_secret": EVIL})]
    turns = iter(range(1 << 30))

    def answers(request):
        turn = next(turns)
        request.answer(bodies[turn % len(bodies)], "200 OK" if turn % 3 else "403 Forbidden")
    for prefix in ("presence-",):
        asked(trial, answers, channels=40, prefix=prefix)


@scenario("auth endpoint: 503 with a Retry-After of any size", grows=WHOLE, cpu=8, back=2, log=90)
def retry_after(trial):
    values = iter([b"-1", b"0", b"1e9", b"99999999999999999999", b"x", b""] * 1000)
    asked(trial, lambda request: request.answer(
        "no", "503 Service Unavailable", fields=b"Retry-After: " + next(values) + b"\r\n"), seconds=5, requests=40)


@scenario("auth endpoint: a key that opens nothing, and events that ask for another", grows=WHOLE, cpu=12, back=3,
          log=60, smoke=True)
def wrong_keys(trial):
    """Each event that cannot be opened may ask for a newer key; a flood of them must not become a flood of requests."""
    answer = {"auth": "k:0", "shared_secret": "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="}
    endpoint, server = trial.peer(HTTPPeer(lambda request: request.answer(answer))), trial.peer(PusherPeer())
    _, client = listen(trial, "--auth-endpoint", f"http://127.0.0.1:{endpoint.port}/auth", server=server,
                       channels=("calm", "victim", "private-encrypted-victim"))
    before = endpoint.requests
    with trial.attack(client):
        end = now() + 5
        while now() < end:
            server.tell(event("e", sealed(), "private-encrypted-victim"))
            time.sleep(0.002)
    trial.is_back(comes_through(server, client, trial.attack_ended, 8))
    trial.expect(endpoint.requests - before <= 40, f"{endpoint.requests - before} requests in 5 s")
