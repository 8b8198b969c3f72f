"""What users of `pusher-cli matrix chat` feel: from its start, or a key, to what the terminal is given."""

import os
import shutil
import subprocess
import time
from collections import defaultdict

from chat_server import ROOM, ChatServer
from programs import BUILD, CLI, ROUNDS, SMOKE, build_command, few, run
from report import Aim, Line, cost_ratios
from terminal import WAIT, Screen, percentile

build = build_command
HOME = BUILD / "chat"
ROOMS, EVENTS = max(few(200), 5), max(few(10_000), 200)
KEYS = max(few(300), 5)
IDLE = 1 if SMOKE else 20  # seconds
LETTERS = iter(range(0x410, 0x450))  # Cyrillic


def log_in(server, home=HOME):
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    environment = os.environ | {"XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home)}
    run(CLI, "matrix", "login", server.url, "--user", "ann", "--password-stdin", input=b"secret", env=environment,
        stdout=subprocess.DEVNULL)


def chat(home=HOME, program=CLI):
    return Screen(program, "matrix", "chat", ROOM, home=home)


def sync_once():
    screen = chat()
    screen.until("history")
    screen.quiet()
    screen.end()


def measure_round(server, values):
    version = time.perf_counter()
    run(CLI, "--version", stdout=subprocess.DEVNULL)
    values["version"].append((time.perf_counter() - version) * 1000)

    screen = chat()
    values["start"].append((screen.until("Room 1") - screen.started) * 1000)
    screen.quiet()
    memory = [screen.resident_bytes()]

    # All of the history is gone through.
    keys = []
    for _ in range(EVENTS // 20):
        elapsed, _ = screen.type("\x1b[5~")
        keys.append(elapsed)
    values["page_up_p99"].append(percentile(keys, 0.99))
    screen.type("\x1b[1;3F")
    screen.quiet()

    pairs = [screen.type("x") for _ in range(KEYS)]
    values["key_p50"].append(percentile([elapsed for elapsed, _ in pairs], 0.5))
    values["key_p99"].append(percentile([elapsed for elapsed, _ in pairs], 0.99))
    values["key_bytes"].append(percentile([count for _, count in pairs], 0.5))

    # One live event, and a thousand in one sync.
    for name, count in (("one", 1), ("thousand", few(1000))):
        events = [server.next_message("live") for _ in range(count - 1)]
        # Only cells that change are written: this has none in common with what was there.
        last = chr(next(LETTERS)) * 10
        events.append(server.next_message(last))
        before, cpu = time.perf_counter(), screen.cpu_seconds()
        server.bring(events)
        values[f"live_{name}"].append((screen.until(last) - before) * 1000)
        screen.quiet()
        values[f"live_{name}_cpu"].append((screen.cpu_seconds() - cpu) * 1000)

    before = time.perf_counter()
    screen.resize(100, 30)
    screen.read(WAIT)
    values["resize"].append((time.perf_counter() - before) * 1000)
    screen.quiet()

    before = screen.cpu_seconds()
    time.sleep(IDLE)
    values["idle"].append((screen.cpu_seconds() - before) / IDLE * 100)
    memory.append(screen.resident_bytes())
    values["memory_start"].append(memory[0])
    values["memory_end"].append(memory[1])
    assert screen.end() == 0

    # What a terminal and its driver cost: cat shows what is typed.
    echo = Screen("cat")
    keys = [echo.type("x")[0] for _ in range(KEYS)]
    values["echo_p99"].append(percentile(keys, 0.99))
    values["echo_p50"].append(percentile(keys, 0.5))
    echo.process.kill()
    echo.process.wait()
    os.close(echo.master)


def bench(report):
    server = ChatServer(ROOMS, EVENTS)
    log_in(server)
    sync_once()
    values = defaultdict(list)
    for _ in range(ROUNDS):
        measure_round(server, values)
    report.section(f"matrix chat, {ROOMS} rooms, {EVENTS:,} events in one")

    def absolute(limit):
        return (Aim("<=", limit, of_ratio=False),)

    def add(key, name, unit, beside=None, aims=(), words=""):
        ratios = cost_ratios(values[key], values[beside]) if beside else None
        report.add(Line(f"chat_{key}", name, values[key], unit, ratios, words, aims))

    add("version", "floor: pusher-cli --version", "ms")
    add("echo_p50", "floor: cat, a key to its echo, p50", "ms")
    add("start", "start to the first frame, from the store", "ms", "version", absolute(100), "--version")
    add("key_p50", "a key to its frame, p50", "ms", "echo_p50", (), "cat")
    add("key_p99", "a key to its frame, p99", "ms", "echo_p99", absolute(16), "cat")
    add("key_bytes", "bytes for a letter", "bytes", aims=absolute(100))
    add("page_up_p99", "a page of the history to its first bytes, p99", "ms", aims=absolute(50))
    add("live_one", "an event to its frame", "ms")
    add("live_thousand", "1,000 events of one sync to the frame", "ms", aims=absolute(100 if not SMOKE else 10_000))
    add("live_thousand_cpu", "the same, CPU", "ms", "live_one_cpu" if all(values["live_one_cpu"]) else None, (), "one event")
    add("resize", "another size to the first bytes", "ms", aims=absolute(30))
    add("idle", f"CPU while idle, {IDLE} s", "%", aims=absolute(0.2))
    add("memory_start", "memory after the start", "bytes", aims=absolute(150e6))
    add("memory_end", "memory in the end", "bytes", "memory_start", absolute(150e6), "the start")
