"""Pydio servers that mean harm: against `listen --pydio` beside Pusher channels, and against single commands."""

import json
import threading
import time
import urllib.parse

import frames
import subject
from bombs import compressed, gzipped
from http_api import STATUSES, measure_command
from http_peer import WAYS, HTTPPeer, repeat, slowly
from measure import MIB, now, slowness
from peer import Peer
from pusher import OFFERED, PusherPeer, comes_through, event, listen, send_all
from scenario import scenario
from subject import EVIL

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
WORKSPACES = DECLARATION + (
    '<ajxp_registry_part xPath="user/repositories" ><repositories><repo access_type="fs" id="0" repositorySlug="plans">'
    "<label>Plans</label></repo></repositories></ajxp_registry_part>")
XML = "text/xml; charset=UTF-8"
# Seconds: a workspace's longest wait before it asks again. The wait is random: one that is late is no "never".
LONGEST_WAIT = 60


def login(trial, port):
    """What `pydio login` leaves."""
    folder = trial.folder / "pusher-cli"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / "pydio.json"
    file.touch(mode=0o600)
    file.write_text(json.dumps({"logins": [{
        "server": f"http://127.0.0.1:{port}/", "user": "ada", "deviceID": "d", "password": "open sesame",
        "secureToken": "t" * 32, "cookies": [{"name": "AjaXplorer", "value": "c"}]}]}))
    return {"XDG_CONFIG_HOME": str(trial.folder)}


def node(path, is_file=True, size=4, time="1700000000", original=None):
    name = path.rsplit("/", 1)[-1]
    kind = "" if is_file else ' ajxp_mime="ajxp_folder"'
    before = "" if original is None else f' original_path="{original}"'
    return (f'<tree is_file="{"true" if is_file else "false"}" filename="{path}" text="{name}" ajxp_modiftime="{time}" '
            f'bytesize="{size}"{kind}{before}/>')


def listing(children="", path="", more=""):
    return (DECLARATION + f'<tree is_file="false" filename="{path}" text="" ajxp_mime="ajxp_folder" '
            f'ajxp_modiftime="1700000000" bytesize="0" {more}>{children}</tree>')


def difference(inside):
    return f"<nodes_diff>{inside}</nodes_diff>"


class PydioPeer(HTTPPeer):
    """Behaves; `plays[action](request, parameters)` is played in place of an action's answer."""

    def __init__(self, plugins='<plugin_configs><property name="POLLER_FREQUENCY">2</property></plugin_configs>'):
        self.plugins = plugins
        self.plays = {}
        self.told = []
        self.lock = threading.Lock()
        self.asked = {}
        super().__init__(self.answer)

    def answer(self, request):
        query = urllib.parse.urlsplit(request.target).query
        parameters = dict(urllib.parse.parse_qsl(query) + urllib.parse.parse_qsl(request.body.decode("latin-1")))
        action = parameters.get("get_action", request.path)
        if action == "get_xml_registry":
            action = parameters.get("xPath", "")
        self.asked[action] = self.asked.get(action, 0) + 1
        play = self.plays.get(action)
        if play:
            return play(request, parameters)
        match action:
            case "get_seed":
                return request.answer("-1", kind="text/plain")
            case "login":
                return request.answer(f'<tree ><logging_result value="1" secure_token="{"n" * 32}"/></tree>', kind=XML)
            case "user/repositories":
                return request.answer(WORKSPACES, kind=XML)
            case "plugins":
                return request.answer(f'<ajxp_registry_part xPath="plugins" ><plugins><ajxpcore id="core.mq">'
                                      f"{self.plugins}</ajxpcore></plugins></ajxp_registry_part>", kind=XML)
            case "ls":
                return request.answer(listing(node("/a.txt")), kind=XML)
            case "stat":
                return request.answer({"size": 4, "mtime": 1_700_000_000, "mode": 0o100644})
            case "client_consume_channel":
                with self.lock:
                    told, self.told = self.told, []
                body = f"<tree >{''.join(told)}</tree>" if told else ""
                return request.answer(body, kind=XML if told else "text/html")
        return request.answer("", kind="text/html")

    def tell(self, *messages):
        with self.lock:
            self.told += messages


NUMBERS = iter(range(1 << 40))


def file_comes(server, client, since, within):
    end = now() + within * slowness()
    while now() < end and client.is_running:
        name = f"calm-file-{next(NUMBERS)}-"
        server.tell(difference(f"<add>{node('/' + name)}</add>"))
        if moment := client.find(lambda line: name.encode() in line, since, 2.5):
            return moment
    return None


def attack(trial, plays, *, seconds=4.5, patience=20, json=True, server=None, messages=()):
    """The workspace does this for a while; channels go on meanwhile, and a new file shows when it is over."""
    pydio, channels = trial.peer(server or PydioPeer()), trial.peer(PusherPeer())
    _, client = listen(trial, "--pydio", "plans", "--poll-interval", 2, server=channels,
                       environment=login(trial, pydio.port), json=json)
    trial.need(file_comes(pydio, client, 0, 20), "the workspace is not watched")
    slowest = 0
    with trial.attack(client):
        pydio.plays = plays
        pydio.tell(*messages)
        end = now() + seconds
        while now() < end:
            sent = now()
            slowest = max(slowest, (comes_through(channels, client, sent, 15) or float("inf")) - sent)
            time.sleep(0.05)
        pydio.plays = {}
    trial.expect_pause(slowest, 2)
    trial.is_back(file_comes(pydio, client, trial.attack_ended, max(patience, LONGEST_WAIT + 5)))
    return pydio, client


def consumes(body, kind=XML, **more):
    data = body if isinstance(body, bytes) else body.encode()
    return {"client_consume_channel": lambda request, parameters: request.answer(data, kind=kind, **more)}


ENTITIES = ('<!DOCTYPE t [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + step)} "{("&" + chr(97 + step) + ";") * 10}">' for step in range(9)) + "]><tree >&j;</tree>")

for name, play in [
    ("entities that multiply", consumes(ENTITIES)),
    ("an entity that is a file", consumes('<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]><tree >&a;</tree>')),
    ("elements 100,000 deep", consumes("<tree>" * 100_000 + "</tree>" * 100_000)),
    ("an attribute of 20 MiB", consumes(f'<tree a="{"x" * 20 * MIB}"></tree>')),
    ("100,000 attributes", consumes("<tree " + " ".join(f'a{step}="x"' for step in range(100_000)) + "></tree>")),
    ("half a document", consumes("<tree ><nodes_diff><add><tree filename=")),
    ("a million empty elements", consumes("<tree >" + "<a/>" * 1_000_000 + "</tree>")),
    ("names of 5 MiB", consumes(f"<tree ><{'n' * 5 * MIB}/></tree>")),
    ("UTF-16, where a document type hides", consumes("<!DOCTYPE t []><tree ></tree>".encode("utf-16"))),
    ("a gzip bomb", {"client_consume_channel": lambda request, parameters: request.answer(
        gzipped(300), kind=XML, fields=b"Content-Encoding: gzip\r\n")}),
    ("a page instead", consumes("<html>log in first</html>" * 1000, "text/html")),
    ("nothing, and resets", {"client_consume_channel": lambda request, parameters: request.connection.reset()}),
    ("header lines without end", {"client_consume_channel": lambda request, parameters: WAYS[
        "header lines without end"](request)}),
    ("chunk extensions without end", {"client_consume_channel": lambda request, parameters: WAYS[
        "chunk extensions without end"](request)}),
]:
    large = {"a gzip bomb": 256, "an attribute of 20 MiB": 200, "a million empty elements": 400, "names of 5 MiB": 96,
             "100,000 attributes": 160}
    scenario(f"Pydio polling: {name}", grows=large.get(name, 40), cpu=15, back=16, log=30,
             idle=name not in large and "multiply" not in name, smoke=name in ("entities that multiply",
                                                                               "elements 100,000 deep"))(
        lambda trial, play=play: attack(trial, play))


@scenario("Pydio polling: 20,000 files and folders with every time", grows=96, cpu=30, back=20, log=10)
def files(trial):
    times = ["-62167219200", "31556889864403", "1e308", "x", "", "-1", "99999999999999999999"]
    changes = "".join(f"<add>{node(f'/f{step}', step % 2, times[step % 7], times[step % 5])}</add>"
                      for step in range(trial.scale(20_000)))
    attack(trial, {}, messages=[difference(changes)])


@scenario("Pydio polling: changes that contradict each other", grows=32, cpu=20, back=16, log=30)
def contradicting(trial):
    messages = []
    for step in range(trial.scale(300)):
        path = f"/p{step % 7}"
        messages += [difference(f"<add>{node(path)}</add><remove>{node(path)}</remove><remove>{node(path)}</remove>"),
                     difference(f"<update>{node(path, original=path + '/' + path)}</update>"),
                     difference(f"<update>{node('', original='/')}</update><remove>{node('/')}</remove>")]
    attack(trial, {}, messages=messages)


@scenario("Pydio polling: hostile text in every name", grows=24, cpu=10, back=16, log=30, idle=True, smoke=True)
def hostile_text(trial):
    evil = "".join(f"&#{ord(character)};" if ord(character) > 0x1F or character in "\r\n" else "" for character in EVIL)
    attack(trial, {}, json=False, messages=[
        difference(f"<add>{node('/' + evil)}</add><remove>{node('/' + evil)}</remove>"),
        f"<message a='{evil}'>{evil}</message>",
        difference(f"<update>{node('/x', original='/' + evil)}</update>"), f"<tree>{evil}</tree>"])


@scenario("Pydio polling: the session is over, at every other request", grows=24, cpu=10, back=20, log=30, idle=True,
          smoke=True)
def session_over(trial):
    """A login at each request, and no more: neither a loop nor a ban."""
    turns = iter(range(1 << 30))

    def over(request, parameters):
        request.answer("<tree ><require_auth/></tree>" if next(turns) % 2 == 0 else "", kind=XML)
    pydio, _ = attack(trial, {"client_consume_channel": over, "client_register_channel": over}, seconds=6)
    trial.expect(pydio.asked.get("login", 0) <= 40, f"{pydio.asked.get('login')} logins")


@scenario("Pydio polling: cookies without end", grows=24, cpu=10, back=16, log=30, idle=True)
def cookies(trial):
    count = iter(range(1 << 40))

    def play(request, parameters):
        request.answer("", kind="text/html", fields=b"".join(
            b"Set-Cookie: c%d=" % next(count) + b"v" * 3000 + b"\r\n" for _ in range(60)))
    attack(trial, {"client_consume_channel": play})


@scenario("Pydio WebSocket: a document that never ends, and floods", grows=40, cpu=25, back=25, log=60)
def socket(trial):
    """The registry names a WebSocket that sends pieces of a document without end."""
    def handle(connection):
        request = connection.read_until(b"\r\n\r\n")
        connection.send(frames.upgrade(request))
        connection.send(frames.text("<tree >"))
        send_all(connection, frames.text("<a>" + "x" * 10_000), trial.scale(20_000))
        send_all(connection, frames.text("<a/>"), trial.scale(50_000))
        connection.wait_for_end(2)
    bridge = trial.peer(Peer(handle))
    attack(trial, {}, server=PydioPeer(plugins(bridge)), seconds=8, patience=30)
    trial.expect(bridge.accepted, "the WebSocket was never asked for")


def plugins(bridge):
    """Settings of a server whose WebSocket is `bridge`."""
    return ('<plugin_configs><property name="WS_SERVER_ACTIVE">true</property>'
            '<property name="WS_SERVER_HOST">"127.0.0.1"</property>'
            f'<property name="WS_SERVER_PORT">"{bridge.port}"</property>'
            '<property name="POLLER_FREQUENCY">2</property></plugin_configs>')


class Pinged(Peer):
    """A Pydio WebSocket that is pinged without a break: `slowest` is the longest that an answer took."""

    slowest, count = 0, 0

    def handle(self, connection):
        connection.send(frames.upgrade(connection.read_until(b"\r\n\r\n")))
        while True:
            sent = now()
            connection.send(frames.frame(frames.PING, b"%d" % self.count))
            while frames.read(connection) != (frames.PONG, b"%d" % self.count):
                pass
            self.slowest = max(self.slowest, now() - sent)
            self.count += 1
            time.sleep(0.002)


@scenario("compression: 1 MiB that inflates to 1 GiB, beside another client", grows=80, cpu=20, back=15, smoke=True)
def shared_thread(trial):
    """The clients of a process share a thread. A server that sends little that becomes much costs the others nothing."""
    bridge = trial.peer(Pinged())
    pydio, channels = trial.peer(PydioPeer(plugins(bridge))), trial.peer(PusherPeer(extension=OFFERED))
    _, client = listen(trial, "--pydio", "plans", "--compression", server=channels,
                       environment=login(trial, pydio.port))
    end = now() + 20
    while bridge.count < 200 and now() < end:
        time.sleep(0.05)
    trial.need(bridge.count >= 200, "the WebSocket is not answered")
    payload = frames.frame(frames.TEXT, compressed(event("e", "x" * 9 * MIB, "elsewhere")), reserved=4)
    connection = trial.need(channels.connection(), "no connection")
    bridge.slowest, pings = 0, bridge.count
    with trial.attack(client):
        send_all(connection, payload, trial.scale(MIB // len(payload)))
        back = comes_through(channels, client, now(), 30)
    trial.expect(bridge.count > pings, "the other client was not answered at all")
    # A debug build needs most of a second to read one such message.
    trial.expect_pause(bridge.slowest, 2 if "/debug/" in subject.COMMAND else 0.02)
    trial.is_back(back)


# Single commands

def asks(trial, plays, *command, within=None, stdin=None, workspace=True, json=False):
    server = trial.peer(PydioPeer())
    server.plays = plays
    subject = trial.start("pydio", *command, environment=login(trial, server.port), stdin=stdin, json=json)
    measure_command(trial, subject, within, STATUSES)
    return server, subject


WHOLE = 60

for way in ("header lines without end", "cookies without end", "a chunk of 2^64 bytes", "a body without end",
            "a gzip bomb", "two lengths", "status 99999", "a redirect to itself", "no JSON"):
    scenario(f"Pydio commands: {way}", grows=WHOLE + (200 if "body" in way or "bomb" in way else 16), cpu=12, back=15,
             log=3)(lambda trial, answers=WAYS[way]: asks(
                 trial, {"user/repositories": lambda request, parameters: answers(request)}, "workspaces"))


@scenario("Pydio commands: a folder with a billion pages", grows=WHOLE, cpu=10, back=10, log=3, smoke=True)
def pages(trial):
    asks(trial, {"ls": lambda request, parameters: request.answer(listing(
        f'<pagination count="9" total="1000000000" current="1"/>{node("/a")}'), kind=XML)}, "ls", "plans:/")


@scenario("Pydio commands: 900 pages of 1 MiB", grows=WHOLE + 300, cpu=120, back=150, log=3)
def large_pages(trial):
    """A folder's pages are held together: their sum has a bound, too."""
    def play(request, parameters):
        number = int(urllib.parse.unquote(parameters.get("dir", "/")).rpartition("#")[2].strip("/") or 1)
        children = "".join(node(f"/p{number}-{step}-" + "n" * 900) for step in range(900))
        request.answer(listing(f'<pagination count="9" total="900" current="{number}"/>{children}'), kind=XML)
    asks(trial, {"ls": play}, "ls", "plans:/")


@scenario("Pydio commands: a folder in itself, without end", grows=WHOLE, cpu=20, back=25, log=5)
def endless_folders(trial):
    def play(request, parameters):
        folder = parameters.get("dir", "/").rstrip("/")
        request.answer(listing(node(f"{folder}/f", False), folder), kind=XML)
    asks(trial, {"ls": play}, "get", "plans:/", str(trial.folder / "copy"), "--recursive")


@scenario("Pydio commands: names that lead elsewhere", grows=WHOLE, cpu=8, back=10, log=8)
def names(trial):
    def play(request, parameters):
        request.answer(listing("".join(node(path) for path in (
            "/../escaped", "/a/../../escaped", "/etc/escaped", "//escaped", "/..", "/.", "escaped", "/a&#0;b")[
                int(time.time() * 10) % 7:])), kind=XML)
    for _ in range(4):
        asks(trial, {"ls": play, "download": lambda request, parameters: request.answer(
            b"calm", kind="application/force-download", fields=b"Content-Transfer-Encoding: binary\r\n")},
            "get", "plans:/", str(trial.folder / "inner" / "copy"), "--recursive")
    escaped = [path for path in trial.folder.rglob("*escaped*")]
    trial.expect(not escaped, f"written outside the folder: {escaped[:1]}")


@scenario("Pydio commands: a download whose length and ranges lie", grows=WHOLE, cpu=10, back=25, log=5, smoke=True)
def download_lies(trial):
    turns = iter(range(1 << 30))

    def play(request, parameters):
        turn = next(turns)
        fields = [b"Content-Range: bytes 999999999999-/0\r\n", b"Content-Range: bytes -5-3/1\r\n",
                  b"Content-Range: bytes 0-99999999999999999999/9\r\n", b"Content-Range: x\r\n"][turn % 4]
        request.start("206 Partial Content" if turn % 2 else "200 OK", "application/force-download",
                      b"Content-Transfer-Encoding: binary\r\nContent-Length: 100000\r\n" + fields + b"\r\n"
                      + b"x" * 500)
        request.connection.close()
    asks(trial, {"download": play}, "get", "plans:/a.txt", str(trial.folder / "a.txt"))


@scenario("Pydio commands: a download that is a page", grows=WHOLE, cpu=6, back=8, log=5, smoke=True)
def download_page(trial):
    page = {"download": lambda request, parameters: request.answer("<html>FORGED</html>", kind="text/html")}
    asks(trial, page, "get", "plans:/a.txt", str(trial.folder / "a.txt"))
    trial.expect(not (trial.folder / "a.txt").exists(), "the page became the file")


@scenario("Pydio commands: a captcha of 100 MiB", grows=WHOLE + 150, cpu=10, back=15, log=5)
def captcha(trial):
    server = trial.peer(PydioPeer())
    server.plays = {
        "get_seed": lambda request, parameters: request.answer({"seed": -1, "captcha": True}),
        "get_captcha": lambda request, parameters: (
            request.start(kind="image/png", fields=b"\r\n"), repeat(request.connection, b"\x89PNG" * 1000, 100))}
    subject = trial.start("pydio", "login", f"http://127.0.0.1:{server.port}/", "--user", "ada", "--password-stdin",
                          stdin=b"secret\n", environment={"XDG_CONFIG_HOME": str(trial.folder)})
    measure_command(trial, subject)


@scenario("Pydio commands: a login that never succeeds", grows=WHOLE, cpu=8, back=15, log=5, smoke=True)
def login_loop(trial):
    """Every answer says that one has to log in, and every login is fine."""
    over = lambda request, parameters: request.answer("<tree ><require_auth/></tree>", kind=XML)
    server, _ = asks(trial, {"user/repositories": over, "ls": over}, "workspaces")
    trial.expect(server.requests <= 30, f"{server.requests} requests")


@scenario("Pydio commands: seeds, tokens and results of any kind", grows=WHOLE, cpu=10, back=10, log=8)
def seeds(trial):
    seeds = ["", "x" * 1_000_000, '{"seed":1e308}', '{"seed":[]}', "[" * 100_000, EVIL]
    results = ['value="1"', 'value="99999999999999999999"', 'value=""', 'value="1" secure_token=""',
               f'value="1" secure_token="{"t" * 1_000_000}"', 'value="1" secure_token="a&#13;&#10;X: y"']
    over = lambda request, parameters: request.answer("<tree ><require_auth/></tree>", kind=XML)
    for index in range(len(seeds)):
        plays = {"user/repositories": over, "get_seed": lambda request, parameters, index=index: request.answer(
            seeds[index], kind="text/plain" if index % 2 else "application/json"),
            "login": lambda request, parameters, index=index: request.answer(
                f"<tree ><logging_result {results[index]}/></tree>", kind=XML)}
        if index == 0:
            server, _ = asks(trial, plays, "workspaces")
        else:
            server.plays = plays
            subject = trial.start("pydio", "workspaces", environment={"XDG_CONFIG_HOME": str(trial.folder)})
            trial.expect(subject.wait(8) in STATUSES, "it does not end well")


@scenario("Pydio commands: a listing's bytes one by one", idle=True, grows=WHOLE, cpu=5, back=90, log=3)
def slow_listing(trial):
    """A time-out counts silence: as long as bytes come, ten of them must pass before so slow an answer is given up. This
    one breaks off before that."""
    def play(request, parameters):
        request.start(kind=XML, fields=b"Content-Length: 100000\r\n\r\n")
        slowly(request.connection, b"<tree >" * 1000, 80)
    asks(trial, {"ls": play}, "ls", "plans:/")
