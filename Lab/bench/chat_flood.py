"""10,000 events a second into `pusher-cli matrix chat` and into `pusher-cli listen --ui`, and a key in between."""

import itertools
import sqlite3
import threading
import time
from urllib.parse import quote

from chat import chat, log_in
from chat_server import ROOM, ChatServer
from programs import BUILD, CLI, ROUNDS, SMOKE, source
from report import Aim, Line
from terminal import Screen, percentile

HOME = BUILD / "chat_flood"
RATE = 10_000  # events a second; Lab/Benchmarks/C/source.c has the same
TIME = 1 if SMOKE else 10  # seconds
SYNCS = 10  # a second
WAIT = 120  # seconds until everything has arrived
BETWEEN_KEYS = 0.05
# Cyrillic: nothing else on the screen has them. In turn, as what is there already is not written again.
ALPHABETS = ["".join(map(chr, range(first, first + 32))) for first in (0x410, 0x430)]
CLEAR = "\x15"


class Typist:
    """Types while the screen moves, and knows its own letters."""

    def __init__(self, screen):
        self.screen, self.milliseconds, self.most = screen, [], 0

    def type_while(self, goes_on):
        for alphabet in itertools.cycle(ALPHABETS):
            for letter in alphabet:
                self.milliseconds.append(self.screen.type_and_see(letter))
                self.most = max(self.most, self.screen.resident_bytes())
                self.screen.read_for(BETWEEN_KEYS)
            self.screen.type(CLEAR)
            if not goes_on():
                return

    def add_to(self, values, name):
        values.setdefault(f"{name}_key_p50", []).append(percentile(self.milliseconds, 0.5))
        values.setdefault(f"{name}_key_p99", []).append(percentile(self.milliseconds, 0.99))
        values.setdefault(f"{name}_memory", []).append(self.most)


def stored_events():
    """The ids of the room's events in the store."""
    path = quote(str(next(HOME.glob("pusher-cli/matrix/*/store.sqlite"))))
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as store:
        rows = store.execute("SELECT event_id FROM event WHERE room = (SELECT number FROM room WHERE room_id = ?)", (ROOM,))
        return {row[0] for row in rows}


def wait_for(screen, text):
    end = time.perf_counter() + WAIT
    while not screen.shows(text):
        if time.perf_counter() > end:
            raise SystemExit(f"bench: the screen does not show {text}")


def flood_chat(values):
    server = ChatServer(5, 200)
    log_in(server, HOME)
    screen = chat(HOME)
    screen.until("history")
    screen.quiet()
    syncs = [[server.next_message("flood") for _ in range(RATE // SYNCS)] for _ in range(TIME * SYNCS)]
    encoded = [server.encode(events) for events in syncs]

    def bring():
        due = time.monotonic()
        for sync in encoded:
            server.bring_encoded(sync)
            due += 1 / SYNCS
            time.sleep(max(due - time.monotonic(), 0))

    before, cpu = time.perf_counter(), screen.cpu_seconds()
    threading.Thread(target=bring, daemon=True).start()
    typist = Typist(screen)
    typist.type_while(lambda: server.brought < len(syncs))
    wait_for(screen, syncs[-1][-1]["content"]["body"].split()[-1])  # no blanks: they are not written
    elapsed = time.perf_counter() - before
    typist.add_to(values, "chat")
    values.setdefault("chat_rate", []).append(len(syncs) * len(syncs[0]) / elapsed)
    values.setdefault("chat_cpu", []).append((screen.cpu_seconds() - cpu) / elapsed * 100)
    screen.quiet()
    assert screen.end() == 0
    lost = {event["event_id"] for sync in syncs for event in sync} - stored_events()
    values.setdefault("chat_lost", []).append(len(lost))


def flood_watch(values):
    count = RATE * TIME
    with source(count, kind="flood") as server:
        before = time.perf_counter()
        screen = Screen(CLI, "listen", "c0", "--ui", "--key", "app-key", "--host", "127.0.0.1", "--port", server.port,
                        "--no-tls")
        screen.until("tick")
        screen.type("t")  # where events are triggered: only there are letters words
        typist = Typist(screen)
        typist.type_while(lambda: time.perf_counter() < before + TIME)
        wait_for(screen, str(count))  # the channel's counter
        elapsed = time.perf_counter() - before
        typist.add_to(values, "watch")
        values.setdefault("watch_rate", []).append(count / elapsed)
        values.setdefault("watch_cpu", []).append(screen.cpu_seconds() / elapsed * 100)
        assert screen.end() == 0


def bench(report):
    values = {}
    for _ in range(ROUNDS):
        flood_chat(values)
        flood_watch(values)
    report.section(f"a flood of {RATE:,} events a second for {TIME} s")

    def add(key, name, unit, *limits):
        aims = tuple(Aim(sign, limit, of_ratio=False) for sign, limit in limits)
        report.add(Line(f"chat_flood_{key}", name, values[key], unit, aims=aims))

    for name, title in (("chat", "matrix chat"), ("watch", "listen --ui")):
        add(f"{name}_key_p50", f"{title}: a key to its letter, p50", "ms")
        add(f"{name}_key_p99", f"{title}: a key to its letter, p99", "ms", ("<=", 100))
        add(f"{name}_rate", f"{title}: events that it took", "1/s")
        add(f"{name}_cpu", f"{title}: CPU", "%")
        add(f"{name}_memory", f"{title}: the most memory", "bytes", ("<=", 150e6))
    add("chat_lost", "matrix chat: events that the store lacks", "events", ("<=", 0))
