"""pusher-cli relay moves events from a Pusher server into a stream, beside libnats alone; many channels and three relays."""

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections import Counter, defaultdict
from contextlib import ExitStack, contextmanager
from pathlib import Path

import programs
from latency import PERCENTILES
from programs import BUILD, CLI, ROOT, ROUNDS, SMOKE, few, measure, output_of, run, serving, source, swift_command
from report import Aim, Line, cost_ratios, rate_ratios

EVENTS, SIZE = few(200_000), 200
TIMED_EVENTS = few(10_000)
CHANNELS, RELAYS, SLOTS = few(10_000), 3, 1024
WARM = 0.5  # the part of the events after which memory and CPU are looked at first
KEY = "app-key"
LIMIT, QUIET = 120, 5  # seconds: for what takes some, and until what is there counts as settled
BALANCE = 0.1
TIMES = ("--takeover", "4") if SMOKE else ()


def build():
    run(ROOT / "Scripts/setup", "nats-server")
    programs.build()


def wait(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, f"{what} takes more than {LIMIT} s"
        time.sleep(0.005)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Nats:
    """A server with the streams of `relay setup`."""

    def __init__(self, folder):
        port, http = free_port(), free_port()
        self.url, self.monitor = f"nats://127.0.0.1:{port}", f"http://127.0.0.1:{http}"
        program = shutil.which("nats-server") or "/usr/sbin/nats-server"
        self.process = subprocess.Popen(
            [program, "-js", "-sd", folder, "-a", "127.0.0.1", "-p", str(port), "-m", str(http)], stderr=subprocess.DEVNULL)

    def set_up(self):
        wait(self.is_ready, "the start of nats-server")
        run(CLI, "relay", "setup", "--nats", self.url, stderr=subprocess.DEVNULL)

    def is_ready(self):
        try:
            return self.get("/healthz")["status"] == "ok"
        except OSError:
            return False

    def get(self, path):
        with urllib.request.urlopen(self.monitor + path, timeout=5) as answer:
            return json.load(answer)

    def messages(self):
        """Of the stream of events."""
        streams = self.get("/jsz?streams=1")["account_details"][0]["stream_detail"]
        return next(stream["state"]["messages"] for stream in streams if stream["name"] == "EVENTS")


@contextmanager
def nats():
    with tempfile.TemporaryDirectory() as folder:
        server = Nats(folder)
        try:
            server.set_up()
            yield server
        finally:
            server.process.kill()
            server.process.wait()


class Relay:
    def __init__(self, server, port, channels, name="relay"):
        self.name = name
        self.process = subprocess.Popen(
            [CLI, "relay", *channels, "--name", name, "--nats", server.url, "--host", "127.0.0.1", "--port", str(port),
             "--no-tls", "--key", KEY, *TIMES], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def cpu_seconds(self):
        return programs.cpu_seconds(self.process.pid)

    def resident_bytes(self):
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    def stop(self):
        self.process.kill()
        self.process.wait()


@contextmanager
def relaying(*arguments):
    relay = Relay(*arguments)
    try:
        yield relay
    finally:
        relay.stop()


# One relay


def rate():
    """From socket to ack, once everything is warm."""
    with nats() as server, source(EVENTS, SIZE) as events, relaying(server, events.port, ["c0"]) as relay:
        looks = []
        for part in (WARM, 1):
            wait(lambda: server.messages() >= EVENTS * part, "relaying")
            looks.append((server.messages(), relay.cpu_seconds(), time.monotonic(), relay.resident_bytes()))
    (count, cpu, start, memory), (end_count, end_cpu, end, end_memory) = looks
    events = max(end_count - count, 1)
    return {"cpu_second": events / max(end_cpu - cpu, 1 / os.sysconf("SC_CLK_TCK")), "second": events / max(end - start, 1e-3),
            "warm_memory": memory / 2**20, "memory": end_memory / 2**20}


def rate_floor():
    with nats() as server:
        result = measure(BUILD / "publish", server.url, EVENTS, SIZE)
    return {"cpu_second": EVENTS / result["cpu_seconds"], "second": EVENTS / result["seconds"]}


def percentiles(text):
    samples = sorted(int(line) / 1000 for line in text.split())
    return {name: samples[int(part * len(samples))] for name, part in PERCENTILES.items()}


def latency():
    with nats() as server, serving(BUILD / "source", TIMED_EVENTS, "timed") as events:
        consumer = subprocess.Popen(
            [str(word) for word in swift_command("ConsumerBench", nats=server.url, events=TIMED_EVENTS)],
            stdout=subprocess.PIPE, text=True)
        with relaying(server, events.port, ["c0"]):
            return percentiles(consumer.communicate(timeout=LIMIT)[0])


def latency_floor(*stream):
    with nats() as server:
        return percentiles(output_of(BUILD / "publish", server.url, TIMED_EVENTS, "timed", *stream))


# Three relays


def slot(channel):
    digest = hashlib.sha256(f"pusher:{KEY}:{channel}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % SLOTS


def owners(server):
    """Slots by the relay that has them, of those that live."""
    text = output_of(CLI, "relay", "status", "--slots", "--json", "--nats", server.url)
    records = [json.loads(line) for line in text.splitlines()]
    return {entry["slot"]: record["relay"] for record in records if record.get("state") == "alive"
            for entry in record["owned"]}


def owners_once(server, relays, slots, are_well=lambda found: True):
    """When so many relays own all slots, the owners and when that was; the same for a while."""
    found, since = {}, time.monotonic()
    end = since + LIMIT
    while time.monotonic() < since + QUIET or not (
            set(found) == slots and len(set(found.values())) == relays and (are_well(found) or time.monotonic() > end)):
        assert time.monotonic() < end + QUIET, f"{relays} relays own {len(found)} of {len(slots)} slots"
        now = owners(server)
        if now != found:
            found, since = now, time.monotonic()
    return found, since


def many_channels():
    channels = [f"c{number}" for number in range(CHANNELS)]
    slots = {slot(channel) for channel in channels}
    with ExitStack() as stack:
        server, mock = stack.enter_context(nats()), stack.enter_context(serving(CLI, "serve", "--port", 0))
        relays = [stack.enter_context(relaying(server, mock.port, channels, f"relay-{number}")) for number in range(RELAYS)]
        start = time.monotonic()
        before, balanced = owners_once(server, RELAYS, slots, lambda found: SMOKE or imbalance(found, channels) <= BALANCE)
        relays[0].process.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        after, end = owners_once(server, RELAYS - 1, slots)
    lost = {number for number, owner in before.items() if owner.startswith("relay-0-")}
    moved = {number for number in slots if before[number] != after[number]}
    return {"balance": imbalance(before, channels), "balanced": balanced - start, "lost": len(lost),
            "moved": len(moved - lost), "seconds": end - killed}


def imbalance(found, channels):
    """How far the number of channels of a relay is from the mean."""
    mean = len(channels) / RELAYS
    return max(abs(count - mean) for count in Counter(found[slot(channel)] for channel in channels).values()) / mean


def bench(report):
    jobs = {"floor": rate_floor, "relay": rate, "plain": latency_floor, "stream": lambda: latency_floor("stream"),
            "latency": latency}
    results = defaultdict(list)
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            results[name].append(job())

    def figures(who, what):
        return [result[what] for result in results[who]]

    report.section(f"relay: events of {SIZE} bytes from a Pusher server into a stream")
    for unit, name, aims in (("cpu_second", "events/CPU s", (Aim("<=", 2),)), ("second", "events/s", ())):
        floor, ours = figures("floor", unit), figures("relay", unit)
        report.add(Line(f"floor_relay_events_per_{unit}", "floor: libnats publishes as many", floor, name))
        report.add(Line(f"relay_events_per_{unit}", "pusher-cli relay, from socket to ack", ours, name,
                        rate_ratios(ours, floor), "floor", aims))
    report.add(Line("relay_memory", "memory in the end", figures("relay", "memory"), "MiB",
                    cost_ratios(figures("relay", "memory"), figures("relay", "warm_memory")), "after half",
                    (Aim("<=", 1.1),)))

    report.section("relay: on the way, 1,000 events a second")
    for percentile in PERCENTILES:
        title = percentile.replace("_", ".")
        plain = figures("plain", percentile)
        report.add(Line(f"floor_relay_latency_{percentile}_microseconds", f"floor, {title}: NATS without a stream", plain, "us"))
        for who, name in (("stream", "libnats, a stream between"), ("latency", "Pusher, relay, stream, consumer")):
            values = figures(who, percentile)
            report.add(Line(f"relay_{who}_{percentile}_microseconds", f"{name}, {title}", values, "us",
                            cost_ratios(values, plain), "floor"))

    report.section(f"relay: {CHANNELS:,} channels over {RELAYS} relays")
    many = many_channels()
    report.add(Line("relay_balance", "the one furthest from a third", [many["balance"] * 100], "% off",
                    aims=() if SMOKE else (Aim("<=", BALANCE * 100, of_ratio=False),)))
    report.add(Line("relay_balance_seconds", "until that was so, from three starts at once", [many["balanced"]], "s"))
    report.add(Line("relay_lost_slots", "slots of the one that was killed", [many["lost"]], "slots"))
    report.add(Line("relay_moved_slots", "others that moved", [many["moved"]], "slots", aims=(Aim("<=", 0, of_ratio=False),)))
    report.add(Line("relay_takeover_seconds", "until the others had them", [many["seconds"]], "s"))
