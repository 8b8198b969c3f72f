"""Messages of the Pusher protocol that are well-formed frames and mean harm."""

import base64
import json
import time

import frames
from measure import MIB, now
from pusher import PusherPeer, attack, comes_through, established, event, listen, succeeded
from scenario import scenario
from subject import EVIL

SECRET = {"PUSHER_SECRET": "s"}


def tell(trial, messages, *arguments, **options):
    """Sends these to a client that is subscribed."""
    def hostile(connection):
        batch = bytearray()
        for message in messages:
            batch += frames.text(message)
            if len(batch) > 1 << 18:
                connection.send(bytes(batch))
                batch.clear()
        connection.send(bytes(batch))
    return attack(trial, hostile, *arguments, **options)


# Names

@scenario("messages: 40 unknown channels whose names have 8 MiB", grows=48, cpu=12, back=8, smoke=True)
def huge_unknown_names(trial):
    tell(trial, (event("e", "x", f"{step}" + "n" * 8 * MIB) for step in range(trial.scale(40))))


@scenario("messages: 100,000 unknown channels", cpu=25)
def many_unknown_names(trial):
    tell(trial, (event("e", "x", f"unknown-{step}-" + "n" * 150) for step in range(trial.scale(100_000))))


@scenario("messages: 20,000 unknown channels whose names have 10 KiB", grows=24, cpu=15)
def large_unknown_names(trial):
    tell(trial, (event("e", "x", f"{step}" + "n" * 10_000) for step in range(trial.scale(20_000))))


@scenario("messages: 50,000 event names on a channel", cpu=25)
def many_event_names(trial):
    tell(trial, (event(f"name-{step}-" + "n" * 500, "x", "victim") for step in range(trial.scale(50_000))))


@scenario("messages: event names of 5 MiB", grows=160, cpu=20, back=25)
def huge_event_names(trial):
    """16 MiB of them may wait for the callbacks, as many for a sequence, each in a buffer of 8, beside the one that is read
    and the copies of the one that is printed. Six times as many names take no more."""
    tell(trial, (event(f"{step}" + "n" * 5 * MIB, "x", "victim") for step in range(trial.scale(20))))


@scenario("messages: events like the protocol's, of every name", cpu=15, smoke=True)
def near_misses(trial):
    names = ["pusher", "pusherx", "pusher-news", "PUSHER:x", "pusher_internal", "pusher_internal:", "pusher:",
             "pusher:nothing", "pusher_internal:nothing", "pusher:subscribe", "pusher:signin", "pusher:cache_miss"]
    tell(trial, (event(names[step % len(names)], "x", "victim") for step in range(trial.scale(20_000))))


# JSON

@scenario("messages: JSON 100,000 deep", cpu=10, smoke=True)
def deep(trial):
    nested = "[" * 100_000 + "]" * 100_000
    objects = '{"a":' * 100_000 + "1" + "}" * 100_000
    tell(trial, [event("e", nested, "victim"), f'{{"event":"e","channel":"victim","data":{nested}}}', nested, objects,
                 f'{{"event":"e","channel":"victim","data":{objects}}}', f'{{"event":{nested}}}',
                 event("pusher_internal:subscription_succeeded", nested, "victim"), event("pusher:error", objects)] * 5)


@scenario("messages: numbers of a million digits", grows=48, cpu=15, back=10)
def long_numbers(trial):
    digits = "9" * 1_000_000
    tell(trial, [f'{{"event":"e","channel":"victim","data":{digits}}}',
                 f'{{"event":"pusher:error","data":{{"code":{digits},"message":"m"}}}}',
                 event("pusher_internal:subscription_count", f'{{"subscription_count":{digits}}}', "victim"),
                 f'{{"event":"e","channel":"victim","data":0.{digits}e{digits}}}'] * trial.scale(5))


@scenario("messages: 200,000 keys in a frame", grows=96, cpu=20, back=8)
def many_keys(trial):
    keys = ",".join(f'"key{step}":{step}' for step in range(200_000))
    tell(trial, [f'{{{keys},"event":"e","channel":"victim","data":"x"}}'] * 3)


@scenario("messages: the same keys, again and again", cpu=15)
def repeated_keys(trial):
    pairs = ",".join('"event":"pusher:error","channel":"victim","data":"{}","event":"e"' for _ in range(5000))
    tell(trial, [f"{{{pairs}}}"] * trial.scale(10))


@scenario("messages: strings of escapes", grows=64, cpu=20, back=8)
def escapes(trial):
    tell(trial, ['{"event":"e","channel":"victim","data":"' + "\\u0000\\ud83d\\ude00\\\"" * 100_000 + '"}',
                 '{"event":"e","channel":"victim","data":"' + "\\ud800" * 200_000 + '"}'] * trial.scale(5))


# Numbers that mean a time

@scenario("messages: an activity timeout of a microsecond", cpu=4, smoke=True)
def tiny_timeout(trial):
    server = PusherPeer()
    server.activity_timeout = 1e-6
    _, client = listen(trial, server=trial.peer(server))
    before = len(server.received)
    with trial.attack(client):
        time.sleep(5)
    pings = sum(message["event"] == "pusher:ping" for message in server.received[before:])
    trial.expect(pings <= 30, f"{pings} pings in 5 s")
    trial.is_back(comes_through(server, client, trial.attack_ended, 5))


@scenario("messages: activity timeouts that are no time", log=150, cpu=8, smoke=True)
def strange_timeouts(trial):
    """Each handshake says something else; none may crash, nor make it ping without end."""
    values = ["-1", "0", "1e308", "1e999", "-1e999", "null", "true", '"x"', '"NaN"', '"inf"', '"1e-300"', "[]", "{}",
              "9" * 400, "1e-308", "0.0000001"]
    server, client = listen(trial)

    def hostile(connection):
        connection.send(frames.upgrade(connection.request))
        value = values[connection.number % len(values)]
        connection.send(frames.text('{"event":"pusher:connection_established","data":{"socket_id":"1.1",'
                                    f'"activity_timeout":{value}}}}}'))
        # Back in time, so that the client connects again at once.
        connection.wait_for_end(0.3)
        connection.send(frames.close(4200, b"again"))
    with trial.attack(client):
        server.strike(hostile, "requested")
        server.connection().close()
        end = now() + 25
        while server.accepted < (6 if trial.is_short else 18) and now() < end:
            time.sleep(0.1)
        server.relent()
    trial.expect(server.accepted >= 6, "it does not come again")
    trial.is_back(comes_through(server, client, trial.attack_ended, 8))


# Answers that nobody asked for, or that contradict each other

@scenario("messages: answers to subscriptions that nobody asked for", cpu=30)
def unasked(trial):
    def messages():
        for step in range(trial.scale(30_000)):
            yield succeeded(f"channel-{step}")
            yield event("pusher:subscription_error", {"type": "AuthError", "error": "no"}, f"other-{step}")
    tell(trial, messages())


@scenario("messages: a subscription that succeeds and fails in turns", cpu=25, back=10, smoke=True)
def contradicting(trial):
    refused = event("pusher:subscription_error", {"type": "AuthError", "error": "no", "status": 401}, "victim")
    tell(trial, [succeeded("victim"), refused] * trial.scale(10_000))


@scenario("messages: the connection is established again and again", cpu=20)
def established_again(trial):
    tell(trial, (established(f"{step}.{step}", 1e-6) for step in range(1, trial.scale(20_000))))


@scenario("messages: a sign-in, pongs and counts that nobody asked for", cpu=25, back=15)
def unasked_others(trial):
    def messages():
        for step in range(trial.scale(5_000)):
            yield event("pusher:signin_success", {"user_data": json.dumps({"id": f"user-{step}"})})
            yield event("pusher:pong", "{}")
            yield event("pusher:cache_miss", channel="victim")
            yield event("pusher_internal:subscription_count", {"subscription_count": step}, "victim")
            yield event("pusher_internal:watchlist_events", {"events": [{"name": "online", "user_ids": [str(step)]}]})
            yield event("pusher_internal:member_added", {"user_id": str(step)}, "victim")
    tell(trial, messages())


@scenario("messages: errors of every code", cpu=25, back=10)
def errors(trial):
    codes = [None, -1, 0, 1, 3999, 4301, 4302, 5000, 10 ** 18, 10 ** 30, "x", "4301", 4.5, True]
    tell(trial, (event("pusher:error", {"code": codes[step % len(codes)], "message": "no"})
                 for step in range(trial.scale(10_000))))


@scenario("messages: refused channels without a code, in order", grows=56, back=2, smoke=True)
def refusals(trial):
    """The vendor's form: code null, and the text that should have been signed. The refused channel must be told within
    the bound, the other must be left alone."""
    server = trial.peer(PusherPeer())

    def answer(connection, channel):
        if channel != "private-refused":
            return False
        connection.send(frames.text(event("pusher:error", {
            "code": None, "message": f"Invalid signature: Expected HMAC SHA256 hex digest of "
                                     f"1.1:{channel}, but got 00"})))
        return True
    server.answer = answer
    _, client = listen(trial, server=server, channels=("calm", "private-accepted", "private-refused"),
                       environment=SECRET, warm_up=False)
    with trial.attack(client):
        trial.need(client.find(lambda line: b'"subscribed"' in line and b"private-accepted" in line, 0, 15),
                   "the accepted channel is not subscribed")
    trial.is_back(client.find(lambda line: b'"error"' in line and b"private-refused" in line, 0, 6))
    trial.expect(comes_through(server, client, trial.attack_ended, 5), "calm does not come through")


# Presence, users, encryption

@scenario("messages: 20,000 members of 4 KiB come", grows=48, cpu=60, back=25)
def members(trial):
    def messages():
        for step in range(trial.scale(20_000)):
            yield event("pusher_internal:member_added",
                        {"user_id": f"user-{step}", "user_info": {"name": "n" * 4000}}, "presence-victim")
    tell(trial, messages(), "--user-id", "me", channels=("calm", "victim", "presence-victim"), environment=SECRET)


def tell_members(trial, messages):
    """Sends these as the answer to a subscription: only that one is read."""
    server = trial.peer(PusherPeer())
    server.answer = lambda connection, channel: channel == "presence-victim"
    tell(trial, messages, "--user-id", "me", server=server, channels=("calm", "victim", "presence-victim"),
         environment=SECRET)


@scenario("messages: a presence list of 9 MiB, again and again", grows=128, cpu=60, back=20)
def presence_lists(trial):
    members = {f"user-{step}": {"n": "n" * 60} for step in range(40_000)}
    message = succeeded("presence-victim", {"presence": {"ids": list(members), "hash": members, "count": -7}})
    tell_members(trial, [message] * trial.scale(5))


@scenario("messages: a presence list of 100,000 members", grows=52, cpu=30, back=20, smoke=True)
def large_presence_list(trial):
    """5.5 MB on the wire. What is kept of each member and what reading takes for a moment are ten times that at most."""
    ids = [f"user-{step}" for step in range(100_000)]
    message = succeeded("presence-victim", {"presence": {"ids": ids, "hash": {id: {"n": "n" * 8} for id in ids}}})
    trial.expect(5.2 * MIB < len(message) < 5.3 * MIB, f"the message has {len(message) / MIB:.1f} MiB")
    tell_members(trial, [message])


@scenario("messages: members who come and go", cpu=20, back=10)
def coming_and_going(trial):
    def messages():
        for step in range(trial.scale(5_000)):
            who = {"user_id": f"user-{step % 7}", "user_info": {"a": step}}
            yield event("pusher_internal:member_removed", who, "presence-victim")
            yield event("pusher_internal:member_added", who, "presence-victim")
    tell(trial, messages(), "--user-id", "me", channels=("calm", "victim", "presence-victim"), environment=SECRET)


@scenario("messages: hostile text in every field that is shown", cpu=15, log=200, smoke=True)
def hostile_text(trial):
    server = trial.peer(PusherPeer())
    _, client = listen(trial, "--sign-in", "--user-id", "me", server=server, json=False,
                       channels=("calm", "victim", "presence-victim"), environment=SECRET)
    connection = trial.need(server.connection(), "no connection")
    with trial.attack(client):
        for message in [
            event("e" + EVIL, "d" + EVIL, "victim", user_id="u" + EVIL), event("e", "x", "c" + EVIL),
            event("pusher:error", {"code": 4301, "message": "m" + EVIL}),
            event("pusher:error", {"code": None, "message": "m" + EVIL}),
            event("pusher:error", {"message": EVIL}, "victim"), event("pusher:error", {"message": EVIL}, EVIL),
            event("pusher:signin_success", {"user_data": json.dumps({"id": "id" + EVIL})}),
            event("pusher_internal:watchlist_events", {"events": [{"name": EVIL, "user_ids": [EVIL]}]}),
            event("pusher_internal:member_added", {"user_id": EVIL, "user_info": {EVIL: EVIL}}, "presence-victim"),
            event("pusher_internal:" + EVIL, "x", "victim"), event("pusher:" + EVIL, EVIL, "victim"),
            event("pusher:subscription_error", {"type": EVIL, "error": EVIL, "status": EVIL}, "presence-victim"),
            event("pusher_internal:subscription_count", {"subscription_count": EVIL}, "victim"), EVIL,
        ]:
            connection.send(frames.text(message))
        connection.send(frames.text(event("pusher:error", {"code": 4299, "message": "m" + EVIL})))
        connection.send(frames.close(4299, ("r" + EVIL).encode()))
        client.find(lambda line: b"connected" in line, now(), 3)
    trial.is_back(comes_through(server, client, trial.attack_ended, 8))


@scenario("messages: hostile text at the sign-in", grows=56, smoke=True)
def hostile_sign_in(trial):
    """Row 7 of the issue: the user id that the server confirms goes into the log."""
    server = trial.peer(PusherPeer())
    _, client = listen(trial, "--sign-in", "--user-id", "me", server=server, environment=SECRET, json=False,
                       warm_up=False)
    with trial.attack(client):
        trial.need(server.wait_for(lambda message: message["event"] == "pusher:signin", 15), "no sign-in")
        server.tell(event("pusher:signin_success", {"user_data": json.dumps({"id": "ann" + EVIL})}))
    trial.is_back(comes_through(server, client, trial.attack_ended, 5))


def sealed(data=b"secret"):
    """What no key opens."""
    return json.dumps({"nonce": base64.b64encode(b"n" * 24).decode(),
                       "ciphertext": base64.b64encode(b"\0" * 16 + data).decode()})


@scenario("messages: events that no key opens", grows=24, cpu=30, back=10, smoke=True)
def undecryptable(trial):
    master = base64.b64encode(b"k" * 32).decode()
    tell(trial, [event("e", sealed(), "private-encrypted-victim")] * trial.scale(10_000),
         channels=("calm", "victim", "private-encrypted-victim"),
         environment={**SECRET, "PUSHER_ENCRYPTION_MASTER_KEY": master})


@scenario("messages: plain text on an encrypted channel, under names like the protocol's", smoke=True)
def unencrypted(trial):
    master = base64.b64encode(b"k" * 32).decode()
    names = ["pusherorder", "pusher", "pusher-news", "PUSHER:x", "pusher_internal", "order", "client-x"]
    server, client = tell(
        trial, [event(name, "calm-plain-text", "private-encrypted-victim") for name in names],
        channels=("calm", "victim", "private-encrypted-victim"),
        environment={**SECRET, "PUSHER_ENCRYPTION_MASTER_KEY": master})
    trial.expect(not client.find(lambda line: b"calm-plain-text" in line and b'"event"' in line, 0, 0),
                 "plain text was delivered on an encrypted channel")

