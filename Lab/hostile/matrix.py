"""Homeservers that mean harm: against `listen --matrix` beside Pusher channels, and against single commands."""

import json
import threading
import time

from bombs import gzipped
from http_api import STATUSES, measure_command
from http_peer import WAYS, HTTPPeer, repeat, slowly
from measure import MIB, now, slowness
from pusher import PusherPeer, comes_through, listen
from scenario import scenario
from subject import EVIL

ROOM, ME = "!room:hostile.test", "@me:hostile.test"
# Seconds: the command's longest wait before it asks again. The wait is random: one that is late is no "never".
LONGEST_WAIT = 30


def login(trial, port):
    """An account as `matrix login` leaves it."""
    folder = trial.folder / "pusher-cli"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / "matrix.json"
    file.touch(mode=0o600)
    file.write_text(json.dumps({"homeServer": f"http://127.0.0.1:{port}", "userId": ME, "accessToken": "t",
                                "deviceId": "D", "accessTokenExpiresAt": 0}))
    return {"XDG_CONFIG_HOME": str(trial.folder), "XDG_DATA_HOME": str(trial.folder)}


def message(body="x", step=0, kind="m.room.message", **more):
    return {"type": kind, "event_id": f"$event-{step}-{id(body)}", "sender": "@bob:hostile.test",
            "origin_server_ts": 1_700_000_000_000, "content": {"msgtype": "m.text", "body": body}, **more}


def state(kind, content, key="", step=0, **more):
    return {"type": kind, "event_id": f"$state-{kind}-{key}-{step}", "sender": ME, "state_key": key,
            "origin_server_ts": 1_700_000_000_000, "content": content, **more}


def sync(events=(), token="s", rooms=None, **more):
    join = {ROOM: {"timeline": {"events": list(events), "limited": False, "prev_batch": "p"}}}
    return {"next_batch": token, "rooms": {"join": join if rooms is None else rooms}, **more}


FIRST = sync([state("m.room.create", {"room_version": "10"}), state("m.room.member", {"membership": "join"}, ME),
              state("m.room.member", {"membership": "join", "displayname": "Bob"}, "@bob:hostile.test")], "s0")


class Homeserver(HTTPPeer):
    """Answers a sync with what is told, else waits; `hostile(request)` plays the syncs of an attack instead."""

    def __init__(self):
        self.hostile = None
        self.others = None  # plays other requests, unless it says False
        self.told = []
        self.tokens = 0
        self.syncs = 0
        self.changed = threading.Condition()
        super().__init__(self.answer)

    def answer(self, request):
        if request.path.endswith("/v3/sync"):
            self.syncs += 1
            if self.hostile and "since=" in request.target:
                return self.hostile(request)
            if "since=" not in request.target:
                return request.answer(FIRST)
            return self.wait(request)
        if self.others and self.others(request) is not False:
            return None
        if request.path.endswith("/versions"):
            return request.answer({"versions": ["v1.1", "v1.11"]})
        if request.path.endswith("/filter"):
            return request.answer({"filter_id": "1"})
        return request.answer({})

    def wait(self, request):
        with self.changed:
            self.changed.wait_for(lambda: self.told or self.hostile or self.is_closed, 2)
            events, self.told = self.told, []
            self.tokens += 1
            token = f"s{self.tokens}"
        request.answer(sync(events, token))

    def tell(self, *events):
        with self.changed:
            self.told += events
            self.changed.notify_all()

    def strike(self, hostile):
        with self.changed:
            self.hostile = hostile
            self.changed.notify_all()


def both(trial, *arguments, warm_up=True, json=True):
    """Pusher channels and a homeserver in one process."""
    homeserver, server = trial.peer(Homeserver()), trial.peer(PusherPeer())
    _, client = listen(trial, "--matrix", *arguments, server=server, environment=login(trial, homeserver.port),
                       json=json)
    trial.need(client.find(lambda line: b"matrix" in line and b"running" in line.lower(), 0, 15) or not json,
               "the sync does not run")
    if warm_up:
        homeserver.tell(*(message(f"warm {step}", step) for step in range(50)))
        trial.need(message_comes(homeserver, client, 0, 10), "no message comes")
    return homeserver, server, client


COUNT = iter(range(1 << 40))


def message_comes(homeserver, client, since, within):
    end = now() + within * slowness()
    while now() < end and client.is_running:
        number = next(COUNT)
        homeserver.tell(message(f"calm-message-{number}-", 1_000_000 + number))
        moment = client.find(lambda line: f"calm-message-{number}-".encode() in line, since, 0.5)
        if moment:
            return moment
    return None


def attack(trial, hostile, *, seconds=2.5, syncs=None, patience=15, json=True, pause=2):
    """The homeserver does this for a while; channels go on meanwhile, and messages come when it is over."""
    homeserver, server, client = both(trial, json=json)
    slowest = 0
    before = homeserver.syncs
    with trial.attack(client):
        homeserver.strike(hostile)
        end = now() + seconds
        while now() < end:
            sent = now()
            slowest = max(slowest, (comes_through(server, client, sent, patience) or float("inf")) - sent)
            time.sleep(0.05)
        homeserver.strike(None)
        homeserver.hostile = None
    asked = homeserver.syncs - before
    trial.expect_pause(slowest, pause)
    trial.is_back(message_comes(homeserver, client, trial.attack_ended, max(patience, LONGEST_WAIT + 5)))
    if syncs:
        trial.expect(asked <= syncs, f"{asked} syncs in {seconds} s")
    return homeserver, server, client


def answers(trial, bodies, **options):
    """Each sync gets the next of these, once; then nothing more for a while."""
    bodies = iter(bodies)

    def hostile(request):
        body = next(bodies, None)
        if body is None:
            time.sleep(0.5)
            body = sync([], "later")
        request.answer(body)
    return attack(trial, hostile, **options)


for way in ("header lines without end", "chunk extensions without end", "100 Continue without end",
            "trailers without end", "a gzip bomb in a gzip bomb", "thirty codings", "a broken gzip",
            "JSON 100,000 deep", "objects 100,000 deep", "a number of a million digits", "a redirect to itself",
            "nothing, and resets", "two answers at once", "no JSON", "HTTP/0.9"):
    scenario(f"Matrix sync: {way}", grows=300 if "bomb" in way else 48, cpu=12, back=14,
             idle="bomb" not in way,
             smoke=way in ("chunk extensions without end", "objects 100,000 deep"))(
        lambda trial, answers=WAYS[way], pause=8 if "bomb" in way else 2: attack(trial, answers, syncs=60, pause=pause))


@scenario("Matrix sync: a gzip bomb of 4 GiB", grows=320, cpu=30, back=25)
def sync_bomb(trial):
    """A sync may have 256 MiB, and no more."""
    body = gzipped(1024 if trial.is_short else 4096)
    attack(trial, lambda request: request.answer(body, fields=b"Content-Encoding: gzip\r\n"), syncs=10, seconds=6,
           patience=30, pause=8)


@scenario("Matrix sync: answers at once, again and again", grows=16, cpu=4, back=5, smoke=True)
def busy_loop(trial):
    """A long poll that does not wait must not become a loop as fast as the network is."""
    attack(trial, lambda request: request.answer(sync([], "same")), seconds=5, syncs=100)


@scenario("Matrix sync: answers at once, each with an event", grows=24, cpu=8, back=5)
def busy_events(trial):
    count = iter(range(1 << 40))

    def hostile(request):
        step = next(count)
        request.answer(sync([message("x", 2_000_000 + step)], f"n{step}"))
    attack(trial, hostile, seconds=5, syncs=400)


@scenario("Matrix sync: tokens of 4 MiB", grows=64, cpu=10, back=14)
def huge_token(trial):
    """It goes into the next request's address."""
    count = iter(range(1 << 40))
    attack(trial, lambda request: request.answer(sync([], f"{next(count)}" + "t" * 4 * MIB)), syncs=60)


@scenario("Matrix sync: no token, or none that is a text", grows=16, cpu=5, back=14, smoke=True)
def no_token(trial):
    answers(trial, [{}, {"next_batch": 5}, {"next_batch": None}, {"next_batch": ""}, [], None, 1, {"rooms": []},
                    {"next_batch": EVIL, "rooms": {"join": []}}] * 5, syncs=80, seconds=4)


TIMES = [-62_167_219_200_000, -10 ** 18, 10 ** 18, 31_556_889_864_403_199_000, 9.3e18, 1e308, -1e308, "1e999", "now",
         None, True, [], {}, 0.5, 10 ** 400]


@scenario("Matrix sync: time stamps of year 0, of year 10^6, and none", grows=24, cpu=8, back=5)
def times(trial):
    events = [message("old", step, origin_server_ts=value, unsigned={"age": value, "age_ts": value})
              for step, value in enumerate(TIMES)]
    for is_json in (True, False):
        answers(trial, [sync(events, "t1"), sync([message("x", 7, origin_server_ts=value) for value in TIMES], "t2")],
                seconds=1, json=is_json)


@scenario("Matrix sync: events of every wrong shape", grows=32, cpu=10, back=5, log=30)
def wrong_shapes(trial):
    values = [None, True, 0, -1, 1e308, "", "x", [], {}, [[]], {"a": {}}, EVIL]
    events = []
    for field in ("type", "event_id", "sender", "state_key", "content", "unsigned", "room_id", "redacts"):
        events += [{**message("x", 3_000_000 + len(events)), field: value} for value in values]
    for kind in ("m.room.member", "m.room.name", "m.room.topic", "m.room.power_levels", "m.room.create",
                 "m.room.canonical_alias", "m.room.join_rules", "m.room.tombstone", "m.room.redaction", "m.reaction",
                 "m.room.encryption", "m.room.avatar"):
        events += [state(kind, value, ME if kind == "m.room.member" else "", step)
                   for step, value in enumerate([*values, {"membership": [], "users": [], "users_default": 1e308,
                                                           "name": {}, "alias": [], "m.relates_to": [],
                                                           "ban": "x", "redacts": {}}])]
    bodies = [sync([value for value in values], "w0"), sync(events, "w1"), sync(events[::-1], "w2")]
    for section in ("rooms", "account_data", "presence", "to_device", "device_lists", "device_one_time_keys_count"):
        bodies += [{"next_batch": "w", section: value} for value in values]
    for section in ("timeline", "state", "ephemeral", "account_data", "unread_notifications", "summary"):
        bodies += [sync(rooms={ROOM: {section: value}}) for value in [*values, {"events": values}]]
    answers(trial, bodies, seconds=6)


@scenario("Matrix sync: events again, in other order, contradicting", grows=32, cpu=25, back=8)
def contradicting(trial):
    def bodies():
        for step in range(trial.scale(100)):
            events = [state("m.room.member", {"membership": ["join", "leave", "ban", "invite"][(step + other) % 4]},
                            f"@u{other}:hostile.test", step % 3) for other in range(50)]
            events += [message(f"{step}", other) for other in range(50)]
            trial.random.shuffle(events)
            rooms = {ROOM: {"timeline": {"events": events, "limited": bool(step % 2), "prev_batch": "p"}}}
            yield {"next_batch": f"c{step % 5}", "rooms": {
                "join": rooms, "leave": rooms if step % 3 == 0 else {},
                "invite": {ROOM: {"invite_state": {"events": events}}}}}
    answers(trial, bodies(), seconds=6)


@scenario("Matrix sync: 30,000 members of 1 KiB", grows=128, cpu=60, back=25)
def members(trial):
    def bodies():
        for step in range(trial.scale(30)):
            yield sync([state("m.room.member", {"membership": "join", "displayname": "n" * 1000},
                              f"@u{step * 1000 + other}:hostile.test") for other in range(1000)], f"m{step}")
    answers(trial, bodies(), seconds=12, patience=25, pause=20)


@scenario("Matrix sync: 5,000 rooms that nobody joined", grows=64, cpu=40, back=20)
def rooms(trial):
    def bodies():
        for step in range(trial.scale(10)):
            yield {"next_batch": f"r{step}", "rooms": {"join": {
                f"!r{step}-{other}:hostile.test": {"timeline": {"events": [
                    state("m.room.create", {}), state("m.room.name", {"name": "n" * 200})]}} for other in range(500)}}}
    answers(trial, bodies(), seconds=8, patience=25, pause=20)


@scenario("Matrix sync: receipts, typing and presence without end", grows=48, cpu=40, back=20)
def ephemeral(trial):
    def bodies():
        for step in range(trial.scale(20)):
            readers = {f"@u{step}-{other}:hostile.test": {"ts": 1e308} for other in range(500)}
            receipts = {f"$e{step}": {"m.read": readers}}
            events = [{"type": "m.receipt", "content": receipts},
                      {"type": "m.typing", "content": {"user_ids": [f"@t{other}:h.test" for other in range(500)]}}]
            yield {"next_batch": f"e{step}", "rooms": {"join": {ROOM: {"ephemeral": {"events": events}}}},
                   "presence": {"events": [{"type": "m.presence", "sender": f"@p{step}-{other}:h.test", "content": {
                       "presence": "online", "status_msg": "s" * 100, "last_active_ago": -1}} for other in range(500)]},
                   "to_device": {"events": [{"type": "x", "sender": "@a:b", "content": {"a": "x" * 1000}}] * 200}}
    answers(trial, bodies(), seconds=8, patience=25, pause=20)


@scenario("Matrix sync: account data and tags without end", grows=64, cpu=40, back=20)
def account_data(trial):
    def bodies():
        for step in range(trial.scale(20)):
            events = [{"type": f"t{step}-{other}", "content": {"a": "x" * 500}} for other in range(500)]
            yield {"next_batch": f"a{step}", "account_data": {"events": events},
                   "rooms": {"join": {ROOM: {"account_data": {"events": events}}}}}
    answers(trial, bodies(), seconds=8, patience=25, pause=20)


PATTERN = "*a" * 200 + "b"


@scenario("Matrix sync: push rules that cost, and text that they are tried on", grows=64, cpu=30, back=20)
def push_rules(trial):
    rules = [{"rule_id": f"r{step}", "enabled": True, "default": False, "actions": ["notify"],
              "pattern": PATTERN, "conditions": [{"kind": "event_match", "key": "content.body", "pattern": PATTERN}]}
             for step in range(50)]
    data = {"events": [{"type": "m.push_rules", "content": {"global": {"override": rules, "content": rules}}}]}

    def bodies():
        yield {"next_batch": "g", "account_data": data}
        for step in range(trial.scale(20)):
            yield sync([message("a" * 20_000, 4_000_000 + step)], f"g{step}")
    answers(trial, bodies(), seconds=8, patience=25, pause=20)


@scenario("Matrix sync: errors with waits of any size", grows=16, cpu=6, back=30, log=40, idle=True)
def waits(trial):
    # None that is a long wait: who is told to come back tomorrow does.
    values = [-1, 0, "x", None, [], 0.001, {}, True, -1e308]
    turns = iter(range(1 << 30))

    def hostile(request):
        turn = next(turns)
        value = json.dumps({"errcode": "M_LIMIT_EXCEEDED", "error": EVIL, "retry_after_ms": values[turn % len(values)]})
        request.answer(value, "429 Too Many Requests", fields=f"Retry-After: {values[turn % 2]}\r\n".encode())
    attack(trial, hostile, seconds=4, syncs=40, patience=30)


@scenario("Matrix sync: hostile text in names and messages", grows=24, cpu=8, back=5, smoke=True)
def hostile_text(trial):
    events = [state("m.room.name", {"name": EVIL}), state("m.room.member", {"membership": "join", "displayname": EVIL},
                                                          "@bob:hostile.test", 9),
              message(EVIL, 5_000_000), {**message("x", 5_000_001), "type": EVIL},
              {**message("x", 5_000_002), "sender": EVIL}, {**message("x", 5_000_003), "event_id": EVIL},
              state("m.room.topic", {"topic": EVIL}),
              {"type": "m.reaction", "event_id": "$r", "sender": "@bob:hostile.test", "content": {
                  "m.relates_to": {"rel_type": "m.annotation", "event_id": EVIL, "key": EVIL}}}]
    rooms = {ROOM: {"timeline": {"events": events}}, EVIL: {"timeline": {"events": events}}}
    bodies = [sync(rooms=rooms, token=EVIL), {"next_batch": "z", "rooms": {"invite": {EVIL: {"invite_state": {
        "events": events}}}}}, {"errcode": EVIL, "error": EVIL}]
    answers(trial, bodies, seconds=3, json=False)


@scenario("Matrix sync: an answer's bytes one by one", idle=True, grows=16, cpu=5, back=10)
def slow_sync(trial):
    def hostile(request):
        request.start(fields=b"Content-Length: 100000\r\n\r\n")
        slowly(request.connection, b" " * 1000, 6)
    attack(trial, hostile, seconds=6, syncs=5)


@scenario("Matrix sync: a long poll that never ends", idle=True, grows=16, cpu=5, back=10)
def silent_sync(trial):
    attack(trial, lambda request: request.connection.wait_for_end(6), seconds=6, syncs=5)


# Single commands

def asks(trial, others, *command, within=None, json=False):
    homeserver = trial.peer(Homeserver())
    homeserver.others = others
    homeserver.hostile = None
    subject = trial.start("matrix", *command, environment=login(trial, homeserver.port), json=json)
    measure_command(trial, subject, within, STATUSES)
    return homeserver, subject


WHOLE = 56

for way in ("header lines without end", "a chunk of 2^64 bytes", "a body without end", "a gzip bomb", "two lengths",
            "JSON 100,000 deep", "200,000 keys", "status 99999", "redirects that grow"):
    scenario(f"Matrix commands: {way}", grows=WHOLE + (140 if "body" in way or "bomb" in way or "keys" in way else 16),
             cpu=12, back=20, log=3)(
        lambda trial, answers=WAYS[way]: asks(trial, lambda request: answers(request), "messages", ROOM, "--json"))


@scenario("Matrix commands: pages of a history that never end", grows=WHOLE, cpu=15, back=30, log=3, smoke=True)
def endless_history(trial):
    """Pages may be empty, and the next may have something; but not for ever."""
    count = iter(range(1 << 40))

    def others(request):
        if request.path.endswith("/messages"):
            return request.answer({"chunk": [], "start": "s", "end": f"e{next(count)}"})
        return False
    asks(trial, others, "messages", ROOM, "--json")


@scenario("Matrix commands: a history that goes in a circle", grows=WHOLE, cpu=15, back=30, log=3)
def circular_history(trial):
    count = iter(range(1 << 40))

    def others(request):
        if request.path.endswith("/messages"):
            return request.answer({"chunk": [], "start": "s", "end": "ab"[next(count) % 2]})
        return False
    asks(trial, others, "messages", ROOM, "--json")


@scenario("Matrix commands: a rate limit that never ends", idle=True, grows=WHOLE, cpu=6, back=45, log=4)
def rate_limit(trial):
    asks(trial, lambda request: request.answer({"errcode": "M_LIMIT_EXCEEDED", "error": "wait", "retry_after_ms": 1},
                                               "429 Too Many Requests"), "messages", ROOM)


def disposition(name):
    """Both forms of a file's name."""
    encoded = b"".join(b"%%%02x" % byte for byte in name)
    return (b'Content-Disposition: attachment; filename="' + name.replace(b"\0", b"") + b"\"; filename*=utf-8''"
            + encoded + b"\r\n")


@scenario("Matrix commands: a download with hostile names and types", grows=WHOLE, cpu=8, back=10, log=6)
def download_names(trial):
    """Nothing may be written outside the folder, nor under a hidden name."""
    names = [b"../../escaped", b"/etc/escaped", b"..", b".", b".hidden", b"a/b", b"a\\b", b"x" * 5000, b"a\x00b",
             b"\xff\xfe", b"con\x1b[2J", b"%2e%2e%2fescaped", b""]
    homeserver, environment = None, None
    target = trial.folder / "inner" / "target"
    target.mkdir(parents=True)
    for index, name in enumerate(names):
        def others(request, name=name):
            if "/download/" in request.path:
                return request.answer(b"calm", kind="text/plain", fields=disposition(name))
            return False
        if homeserver is None:
            homeserver, subject = asks(trial, others, "download", "mxc://hostile.test/abc", str(target))
            environment = {"XDG_CONFIG_HOME": str(trial.folder), "XDG_DATA_HOME": str(trial.folder)}
        else:
            homeserver.others = others
            subject = trial.start("matrix", "download", "mxc://hostile.test/abc", str(target), environment=environment)
            trial.expect(subject.wait(8) in STATUSES, "it does not end well")
    escaped = [path for path in trial.folder.rglob("*") if path.is_file() and target not in path.parents
               and path.name != "matrix.json"]
    trial.expect(not escaped, f"written outside the folder: {escaped[:1]}")
    hidden = [path.name for path in target.iterdir() if path.name.startswith(".")]
    trial.expect(not hidden, f"written under a hidden name: {hidden[:1]}")


@scenario("Matrix commands: a download without end, and its length lies", grows=WHOLE, cpu=8, back=12, log=3)
def download_lies(trial):
    def others(request):
        if "/download/" not in request.path:
            return False
        request.start(kind="image/png", fields=b"Content-Length: 99999999999999999999\r\n\r\n")
        repeat(request.connection, b"x" * 65536, trial.scale(64), patience=0)
    asks(trial, others, "download", "mxc://hostile.test/abc", str(trial.folder / "file"))


@scenario("Matrix commands: a login that is sent around", grows=WHOLE, cpu=8, back=20, log=5)
def login_redirects(trial):
    """`.well-known` says where the homeserver is, and may be followed; not for ever, and not anywhere."""
    def answers(request):
        location = f"Location: http://127.0.0.1:{server.port}/x{request.target}\r\n"
        request.answer("", "302 Found", fields=location.encode())
    server = trial.peer(HTTPPeer(answers))
    subject = trial.start("matrix", "login", f"http://127.0.0.1:{server.port}", "--user", "me", "--password-stdin",
                          stdin=b"secret\n", environment={"XDG_CONFIG_HOME": str(trial.folder)})
    measure_command(trial, subject)
    trial.expect(server.requests < 60, f"{server.requests} requests")
