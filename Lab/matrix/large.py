"""A large Matrix account: what pusher-cli needs for it in time, memory and requests.

    large [--rooms 2000] [--members 10000] [--large-rooms 5] [--syncs 2880] [--configuration release]

Synapse makes one room through its API; the others are copies of its rows in Synapse's own tables, made while it does not
run: 2,000 calls of its API would take a quarter of an hour. Some of the rooms get members the same way. The commands
reach it through a proxy that counts their requests. --syncs is how many messages `listen` gets while its memory is watched:
2,880 is one every 30 seconds for a day."""

import argparse
import asyncio
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from homeserver import ROOT, Failure, Homeserver

PASSWORD = "correct horse"
# Tables that hold a room; the first column that is there says which rows are its own.
TABLES = ("events", "event_json", "state_events", "current_state_events", "room_memberships", "rooms", "room_depth",
          "event_to_state_groups", "room_aliases", "room_alias_servers", "stream_ordering_to_exterm", "event_auth",
          "event_edges", "current_state_delta_stream", "users_in_public_rooms", "room_stats_current", "room_stats_state",
          "local_current_membership", "event_auth_chains", "event_auth_chain_links", "state_groups", "state_group_edges",
          "state_groups_state", "event_forward_extremities", "sliding_sync_joined_rooms",
          "sliding_sync_membership_snapshots")
STREAM_COLUMNS = ("stream_ordering", "event_stream_ordering", "bump_stamp", "completed_delta_stream_id", "stream_id")
GROUP_COLUMNS = ("state_group", "prev_state_group")
CHAIN_COLUMNS = ("chain_id", "origin_chain_id", "target_chain_id")


class Client:
    """One user of the homeserver."""

    def __init__(self, port, user):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.token = None
        self.token = self.call("POST", "login", {
            "type": "m.login.password", "identifier": {"type": "m.id.user", "user": user}, "password": PASSWORD,
        })["access_token"]

    def call(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self.connection.request(method, f"/_matrix/client/v3/{path}", None if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise Failure(f"{method} {path}: {answer.status} {data.decode(errors='replace')[:300]}")
        return json.loads(data)

    def say(self, room, words):
        body = {"msgtype": "m.text", "body": words}
        return self.call("PUT", f"rooms/{room}/send/m.room.message/{time.monotonic_ns()}", body)


# The account

def make_template(server):
    """A room as many are: a name, an alias, a topic, two members, a dozen messages. Returns its id."""
    alice, bob = Client(server.port, "alice"), Client(server.port, "bob")
    room = alice.call("POST", "createRoom", {"name": "Template", "topic": "About Template", "preset": "public_chat",
                                             "room_alias_name": "template"})["room_id"]
    bob.call("POST", f"join/{room}", {})
    for number in range(12):
        bob.say(room, f"message {number}")
    return room


def event_id(event, version):
    """It is a hash of the event, which Synapse checks."""
    from synapse.api.room_versions import KNOWN_ROOM_VERSIONS
    from synapse.events import make_event_from_dict
    return make_event_from_dict(event, KNOWN_ROOM_VERSIONS[version]).event_id


class Tables:
    """Synapse's, while it does not run."""

    def __init__(self, server, room):
        self.database = sqlite3.connect(server.folder / "homeserver.db")
        events = {row[0] for row in self.database.execute("SELECT event_id FROM events WHERE room_id = ?", (room,))}
        groups = {row[0] for row in self.database.execute("SELECT id FROM state_groups WHERE room_id = ?", (room,))}
        chains = {row[0] for row in self.database.execute("SELECT chain_id FROM event_auth_chains")}
        self.version = self.database.execute("SELECT room_version FROM rooms WHERE room_id = ?", (room,)).fetchone()[0]
        # In the order in which they name each other.
        self.events = sorted((json.loads(row[1]) | {"id": row[0]} for row in self.database.execute(
            "SELECT event_id, json FROM event_json WHERE room_id = ?", (room,))), key=lambda event: event["depth"])
        self.pattern = re.compile("|".join(re.escape(event[1:]) for event in events))
        own = {"room_id": {room}, "event_id": events, "state_group": groups, "room_alias": {"#template:hs.test"},
               "origin_chain_id": chains, "chain_id": chains}
        self.rows = {}
        for table in TABLES:
            columns = [row[1] for row in self.database.execute(f"PRAGMA table_info({table})")]
            key = next((name for name in ("event_id", *own) if name in columns and
                        not (table == "state_groups" and name == "event_id")), None)
            rows = self.database.execute(f"SELECT * FROM {table}").fetchall() if key else []
            self.rows[table] = (columns, [row for row in rows if row[columns.index(key)] in own[key]])
        self.span = 1 + self.maximum("events", "stream_ordering")
        self.groups = 1 + self.maximum("state_groups", "id")
        self.chains = 1 + max(chains, default=0)

    def maximum(self, table, column):
        return self.database.execute(f"SELECT max({column}) FROM {table}").fetchone()[0]

    def add_room(self, number):
        """A copy of the template. Returns its id."""
        hashes = {}  # a room's id is that of its first event

        def text(value):
            value = self.pattern.sub(lambda found: hashes.get(found[0], found[0]), value)
            return value.replace("Template", f"Room {number}").replace("#template:", f"#room{number}:")

        bodies = {}
        for event in self.events:
            new = json.loads(text(json.dumps(event)))
            del new["id"]
            new["origin_server_ts"] += number
            new_id = event_id(new, self.version)
            hashes[event["id"][1:]] = new_id[1:]
            bodies[new_id] = json.dumps(new)

        def copy(table, column, value):
            if isinstance(value, str):
                return text(value)
            if not isinstance(value, int):
                return value
            if column in STREAM_COLUMNS:
                return value + number * self.span
            if column in GROUP_COLUMNS or (table, column) == ("state_groups", "id"):
                return value + number * self.groups
            return value + number * self.chains if column in CHAIN_COLUMNS else value

        for table, (columns, rows) in self.rows.items():
            marks = ",".join("?" * len(columns))
            copies = [[copy(table, column, value) for column, value in zip(columns, row)] for row in rows]
            if table == "event_json":
                for new in copies:
                    new[columns.index("json")] = bodies[new[columns.index("event_id")]]
            self.database.executemany(f"INSERT INTO {table} VALUES ({marks})", copies)
        columns, rows = self.rows["rooms"]
        return text(rows[0][columns.index("room_id")])

    def add_members(self, room, count):
        """Copies what says that bob is in it."""
        joined = self.database.execute(
            "SELECT event_id FROM current_state_events WHERE room_id = ? AND state_key = '@bob:hs.test'", (room,)
        ).fetchone()[0]
        body = self.database.execute("SELECT json FROM event_json WHERE event_id = ?", (joined,)).fetchone()[0]

        def named(value, number):
            return value.replace("@bob:", f"@user{number}:").replace(
                '"displayname":"bob"', f'"displayname":"User {number}"')

        bodies = [named(body, number) for number in range(count + 1)]
        ids = [event_id(json.loads(body), self.version) for body in bodies]
        group = self.database.execute(
            "SELECT max(state_group) FROM event_to_state_groups WHERE event_id IN "
            "(SELECT event_id FROM event_forward_extremities WHERE room_id = ?)", (room,)).fetchone()[0]
        lowest = min(0, self.maximum("events", "-stream_ordering") * -1)
        for table in ("events", "event_json", "state_events", "current_state_events", "room_memberships",
                      "event_to_state_groups"):
            columns = [row[1] for row in self.database.execute(f"PRAGMA table_info({table})")]
            row = self.database.execute(f"SELECT * FROM {table} WHERE event_id = ?", (joined,)).fetchone()

            def copy(column, value, number):
                if column == "json":
                    return bodies[number]
                if isinstance(value, str):
                    return named(value.replace(joined, ids[number]), number)
                # Older than everything, so that they stand in no timeline.
                return lowest - number if column in STREAM_COLUMNS else value

            self.database.executemany(
                f"INSERT INTO {table} VALUES ({','.join('?' * len(columns))})",
                ([copy(column, value, number) for column, value in zip(columns, row)] for number in range(1, count + 1)))
        self.database.executemany(
            "INSERT INTO state_groups_state (state_group, room_id, type, state_key, event_id) VALUES (?, ?, ?, ?, ?)",
            ((group, room, "m.room.member", f"@user{number}:hs.test", ids[number])
             for number in range(1, count + 1)))
        self.database.execute("UPDATE room_stats_current SET joined_members = joined_members + ?, current_state_events = "
                              "current_state_events + ? WHERE room_id = ?", (count, count, room))

    def close(self):
        self.database.execute("UPDATE stream_positions SET stream_id = (SELECT max(stream_ordering) FROM events) "
                              "WHERE stream_name = 'events'")
        self.database.commit()
        self.database.close()


def fill(server, options):
    start = time.monotonic()
    for user in ("alice", "bob"):
        server.register(user, PASSWORD)
    room = make_template(server)
    server.stop()
    tables = Tables(server, room)
    rooms = [tables.add_room(number) for number in range(1, options.rooms)]
    for large in rooms[:options.large_rooms]:
        tables.add_members(large, options.members)
    tables.close()
    server.start()
    print(f"account: {options.rooms} rooms, {min(options.large_rooms, len(rooms))} of them with {options.members + 2} "
          f"members, made in {time.monotonic() - start:.0f} s", flush=True)
    return rooms


# The proxy

class Proxy:
    """Passes everything on, and counts the requests."""

    REQUEST = re.compile(rb"^(GET|PUT|POST|DELETE) /_matrix/\S*", re.MULTILINE)

    def __init__(self):
        self.requests = []
        self.target = None
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        listening = asyncio.run_coroutine_threadsafe(asyncio.start_server(self.serve, "127.0.0.1", 0), self.loop)
        self.port = listening.result().sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)

        async def pass_on(source, sink, counts):
            while data := await source.read(1 << 16):
                if counts:
                    self.requests += [found[0].decode() for found in self.REQUEST.finditer(data)]
                sink.write(data)
                await sink.drain()
            sink.close()

        await asyncio.gather(pass_on(reader, far_writer, True), pass_on(far_reader, writer, False),
                             return_exceptions=True)

    def take(self):
        requests, self.requests = self.requests, []
        return [re.sub(r"\?.*", "", request).replace("/_matrix/client/v3/", "") for request in requests]


# The commands

class Commands:
    def __init__(self, program, proxy, folder):
        self.program, self.proxy = program, proxy
        self.environment = dict(os.environ) | {
            "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "data")}

    def start(self, *arguments, **options):
        return subprocess.Popen([self.program, "matrix", *arguments], env=self.environment, **options)

    def run(self, what, *arguments, input=None):
        """Prints what it took. Returns its output."""
        self.proxy.take()
        start = time.monotonic()
        with tempfile.TemporaryFile() as output:
            process = self.start(*arguments, stdin=subprocess.PIPE if input else subprocess.DEVNULL, stdout=output)
            if input:
                process.stdin.write(input.encode())
                process.stdin.close()
            # Its usage as a child would count the memory of this program, which it was for a moment.
            peak = 0
            while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
                peak = max(peak, resident(process, "VmHWM"))
                time.sleep(0.005)
            _, status, usage = ended
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - start
            output.seek(0)
            text = output.read().decode()
        if process.returncode != 0:
            raise Failure(f"matrix {arguments[0]} ends with status {process.returncode}")
        requests = self.proxy.take()
        cpu = usage.ru_utime + usage.ru_stime
        print(f"{what:<44}{seconds * 1e3:8.0f} ms {cpu * 1e3:7.0f} ms CPU {peak:7.1f} MiB  "
              f"{len(requests)} requests", flush=True)
        for request in requests if len(requests) < 6 else []:
            print(f"    {request}")
        return text


def resident(process, which="VmRSS"):
    """MiB; 0 of a process that has ended."""
    found = re.search(rf"{which}:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0


def wait_until_running(process):
    for line in process.stdout:
        if '"to":"running"' in line:
            return
    raise Failure("listen has ended")


def read_on(process):
    """Takes its lines, and counts the events among them."""
    seen = []
    threading.Thread(target=lambda: seen.extend(1 for line in process.stdout if "m.room.message" in line),
                     daemon=True).start()
    return seen


def simulate_a_day(commands, server, rooms, options):
    bob = Client(server.port, "bob")
    start = time.monotonic()
    listen = commands.start("listen", "--json", stdout=subprocess.PIPE, text=True)
    try:
        wait_until_running(listen)
        print(f"listen: running after {(time.monotonic() - start) * 1e3:.0f} ms, {resident(listen):.1f} MiB, "
              f"{len(commands.proxy.take())} requests", flush=True)
        seen = read_on(listen)
        time.sleep(1)  # its next request is under way, and not counted with others
        commands.run("rooms, while listen owns the store", "rooms")
        second = commands.start("listen", "--json", stdout=subprocess.PIPE, text=True)
        start = time.monotonic()
        wait_until_running(second)
        print(f"a second listen: running after {(time.monotonic() - start) * 1e3:.0f} ms, {resident(second):.1f} MiB")
        second.send_signal(signal.SIGINT)
        second.wait()
        for number in range(1, options.syncs + 1):
            bob.say(rooms[number % min(len(rooms), 200)], f"message {number} of the day")
            if number % max(1, options.syncs // 8) == 0:
                print(f"listen: after {number} messages {resident(listen):.1f} MiB", flush=True)
        deadline = time.monotonic() + 30
        while len(seen) < options.syncs and time.monotonic() < deadline:
            time.sleep(0.1)
        print(f"listen: {len(seen)} messages were printed")
        if len(seen) != options.syncs:
            raise Failure("that is not what was said")
    finally:
        listen.send_signal(signal.SIGINT)
        listen.wait()


def measure(server, proxy, folder, rooms, options):
    program = str(ROOT / ".build" / options.configuration / "pusher-cli")
    commands = Commands(program, proxy, folder)
    commands.run("login", "login", f"http://127.0.0.1:{proxy.port}", "--user", "alice", "--password-stdin",
                 input=PASSWORD)
    listed = commands.run("first sync: rooms", "rooms")
    if len(listed.splitlines()) != options.rooms:
        raise Failure(f"{len(listed.splitlines())} rooms are listed")
    size = sum(file.stat().st_size for file in (folder / "data").rglob("*") if file.is_file())
    print(f"the store: {size / 1e6:.1f} MB")
    commands.run("room list from the store: rooms --offline", "rooms", "--offline")
    commands.run("rooms, with one small sync", "rooms")
    last = options.rooms - 1
    commands.run("send by id", "send", rooms[-1], "hello")
    commands.run("send by alias", "send", f"#room{last}:hs.test", "hello")
    commands.run("send by name", "send", f"Room {last}", "hello")
    if options.large_rooms:
        commands.run(f"members of a room with {options.members + 2}", "members", "#room1:hs.test")
    simulate_a_day(commands, server, rooms, options)
    bob = Client(server.port, "bob")
    for number in range(20):
        bob.say(rooms[number % len(rooms)], f"missed {number}")
    commands.run("listen catches up with 20 messages", "listen", "--count", "20")


def parse():
    parser = argparse.ArgumentParser(prog="large", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", type=int, default=2000)
    parser.add_argument("--members", type=int, default=10_000)
    parser.add_argument("--large-rooms", type=int, default=5)
    parser.add_argument("--syncs", type=int, default=2880)
    parser.add_argument("--configuration", default="release")
    return parser.parse_args()


def main():
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    proxy = Proxy()
    server = Homeserver.new(overrides={"public_baseurl": f"http://127.0.0.1:{proxy.port}/"})
    folder = Path(tempfile.mkdtemp(prefix="matrix-large-"))
    try:
        proxy.target = server.port
        rooms = fill(server, options)
        measure(server, proxy, folder, rooms, options)
    finally:
        server.remove()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"matrix-large: {failure}")
