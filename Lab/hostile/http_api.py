"""The HTTP API client (trigger, channels, users, channel), asked of a server that means harm. Each command ends by
itself within the bound, and says what happened."""

from http_peer import WAYS, HTTPPeer, slowly
from measure import now, slowness
from scenario import scenario
from subject import EVIL

OPTIONS = ("--app-id", "1", "--key", "k", "--host", "127.0.0.1", "--no-tls")
SECRET = {"PUSHER_SECRET": "s"}
STATUSES = (0, 65, 69, 75, 77)


def asks(trial, answers, *command, statuses=STATUSES, within=None, options=OPTIONS, environment=SECRET, json=False):
    """Runs a command against the server, from its start on; it must end by itself."""
    server = trial.peer(HTTPPeer(answers))
    # What such a command takes when all goes well.
    subject = trial.start(*command, *options, "--port", server.port, environment=environment, json=json)
    measure_command(trial, subject, within, statuses)
    return server, subject


def measure_command(trial, subject, within=None, statuses=STATUSES):
    with trial.attack(subject):
        trial.meter.baseline = 0
    status = subject.wait((within or trial.scenario.back + 2) * slowness())
    trial.is_back(None if status is None else now())
    if status is not None and status not in statuses:
        trial.fail(f"it ended with status {status}")
    return status


# A process from its start on: what it grows by is all that it has.
WHOLE = 56

for way, answers in WAYS.items():
    scenario(f"HTTP API: {way}", grows=WHOLE + (80 if "keys" in way else 24), cpu=6, back=8, log=3,
             smoke=way in ("header lines without end", "chunk extensions without end", "a gzip bomb"))(
        lambda trial, answers=answers: asks(trial, answers, "channels"))


@scenario("HTTP API: a body's bytes one by one", idle=True, grows=WHOLE, back=45, cpu=3, log=3)
def slow_body(trial):
    """The time-out, 30 s, is for the whole exchange."""
    def answers(request):
        request.start(fields=b"Content-Length: 1000\r\n\r\n")
        slowly(request.connection, b"x" * 1000, 45)
    asks(trial, answers, "channels")


@scenario("HTTP API: a head's bytes one by one", idle=True, grows=WHOLE, back=45, cpu=3, log=3)
def slow_head(trial):
    asks(trial, lambda request: slowly(request.connection, b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000, 45), "trigger", "c",
         "e", "x")


@scenario("HTTP API: chunks byte by byte", idle=True, grows=WHOLE, back=45, cpu=3, log=3)
def slow_chunks(trial):
    def answers(request):
        request.start(fields=b"Transfer-Encoding: chunked\r\n\r\n")
        slowly(request.connection, b"1\r\n{\r\n" * 1000, 45)
    asks(trial, answers, "users", "presence-c")


@scenario("HTTP API: a list of 500,000 channels", grows=WHOLE + 400, cpu=40, back=45, log=3)
def many_channels(trial):
    body = "{" + ",".join(f'"channel-{step}":{{}}' for step in range(trial.scale(500_000))) + "}"
    asks(trial, lambda request: request.answer(f'{{"channels":{body[:9_900_000].rsplit(",", 1)[0]}}}}}'), "channels")


@scenario("HTTP API: hostile text in lists and errors", grows=WHOLE, back=5, log=5)
def hostile_text(trial):
    import json as encoder
    body = encoder.dumps({"channels": {EVIL: {"user_count": EVIL}}, "users": [{"id": EVIL}], "error": EVIL})
    server, _ = asks(trial, lambda request: request.answer(body), "channels")
    for status in ("200 OK", "400 Bad " + EVIL.replace("\r", "").replace("\n", ""), "500 x"):
        server.answers = lambda request, status=status: request.answer(EVIL if "4" in status else body,
                                                                      status.encode("ascii", "ignore").decode())
        for command in (("users", "presence-c"), ("channels",), ("trigger", "c", "e", "x"), ("channel", "c")):
            subject = trial.start(*command, *OPTIONS, "--port", server.port, environment=SECRET)
            trial.expect(subject.wait(5) in STATUSES, f"{command[0]} does not end well")


@scenario("HTTP API: values of other types than said", grows=WHOLE, back=5, log=5, cpu=6)
def wrong_types(trial):
    values = ['{"channels":[]}', '{"channels":{"a":1}}', '{"channels":null}', "[]", '{"users":{}}',
              '{"users":[1,null]}', '{"users":[{"id":{}}]}', '{"users":[{"id":1e999}]}',
              '{"user_count":1e308,"occupied":"x"}', "null", "1",
              '{"user_count":-9223372036854775809}', '"x"', ""]
    server, _ = asks(trial, lambda request: request.answer(values[server_turn(request) % len(values)]), "channels")
    for _ in range(2 if trial.is_short else 5):
        for command in (("users", "presence-c"), ("channels", "--info", "user_count", "--prefix", "presence-"),
                        ("channel", "c", "--info", "user_count")):
            subject = trial.start(*command, *OPTIONS, "--port", server.port, environment=SECRET)
            trial.expect(subject.wait(8) in STATUSES, f"{command[0]} does not end well")


TURNS = {"count": 0}


def server_turn(request):
    TURNS["count"] += 1
    return TURNS["count"]


@scenario("HTTP API: channels whose names are dots", grows=WHOLE, back=5, log=3, smoke=True)
def dots(trial):
    """What was signed is what is asked for: the path must not be rewritten on the way."""
    asked = []

    def answers(request):
        asked.append(request.path)
        request.answer("{}")
    server, _ = asks(trial, answers, "channel", "..", statuses=(0, 64, 65, 69, 77))
    for command in (("channel", "."), ("users", ".."), ("terminate", ".."), ("terminate", ".")):
        subject = trial.start(*command, *OPTIONS, "--port", server.port, environment=SECRET)
        subject.wait(5)
    expected = ("/apps/1/channels/", "/apps/1/users/")
    for path in asked:
        trial.expect(path.startswith(expected) and len(path.strip("/").split("/")) >= 4,
                     f"a path was rewritten: {path}")
