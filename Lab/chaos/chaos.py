"""Real faults between `pusher-cli listen` and `pusher-cli serve`: how long until the client notices, and until it is
back. Started by Lab/chaos/run, in namespaces of its own."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

from network import CLIENT, HAS_NFT, OTHER_CLIENT, OTHER_SERVER, SERVER, Network
from resolver import Resolver

COMMAND = sys.argv[1]
ONLY = sys.argv[2:]  # names of faults; all, if none is given
PORT, PROXY_PORT = 6001, 3128
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}

# Seconds. What the client is told, and what it may need beyond that on a busy machine.
ACTIVITY_TIMEOUT, PONG_TIMEOUT, RECONNECT_DELAY = 1.5, 1.5, 2
SLACK = 1.5
SILENCE_NOTICED = ACTIVITY_TIMEOUT + PONG_TIMEOUT + SLACK
HINT_NOTICED = PONG_TIMEOUT + SLACK
RETRIED = RECONNECT_DELAY + SLACK
TCP_RETRIED = 8 + SLACK  # the kernel repeats a lost SYN after 1, 2, 4 s, and the fault may end just after one

TICKS = [{"after": step / 4, "do": "publish", "event": "tick", "channel": "chaos", "data": str(step)}
         for step in range(4 * 60)]


class Server:
    """`pusher-cli serve` in its namespace, which publishes four events a second."""

    def __init__(self, network, folder):
        self.network, self.folder = network, folder
        (folder / "ticks.json").write_text(json.dumps(TICKS))

    def start(self, certificate=None, address=SERVER):
        command = [COMMAND, "serve", "--host", address, "--port", str(PORT), "--script", self.folder / "ticks.json"]
        if certificate:
            command += ["--certificate", self.folder / f"{certificate}.pem",
                        "--private-key", self.folder / f"{certificate}.key"]
        self.process = subprocess.Popen(self.network.at_server(command), stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline().startswith("listening"):
            sys.exit("chaos: the server does not start")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self, **arguments):
        self.kill()
        self.start(**arguments)

    def send(self, number):
        self.process.send_signal(number)


class Proxy:
    """The CONNECT proxy, in the server's namespace."""

    def __init__(self, network):
        self.network = network

    def start(self):
        script = Path(__file__).with_name("proxy.py")
        self.process = subprocess.Popen(self.network.at_server([sys.executable, script, SERVER, str(PROXY_PORT)]),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def delay(self, seconds):
        print(seconds, file=self.process.stdin, flush=True)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Client:
    """`pusher-cli listen`, and what it says, with the moment at which it did."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [COMMAND, "listen", "chaos", "--json", "--key", "app-key", "--port", str(PORT), "--connect-timeout", "0",
             "--max-reconnect-delay", str(RECONNECT_DELAY), *options],
            stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.lines = queue.Queue()
        self.records = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put((time.monotonic(), json.loads(line)))

    def find(self, condition, since, within):
        """The moment at which it said something like that, or None."""
        index = 0
        end = time.monotonic() + within
        while True:
            for moment, record in self.records[index:]:
                if moment >= since and condition(record):
                    return moment
            index = len(self.records)
            try:
                self.records.append(self.lines.get(timeout=max(0, end - time.monotonic())))
            except queue.Empty:
                return None

    def kill(self):
        self.process.kill()
        self.process.wait()


def is_loss(record):
    return record["type"] == "state" and record["from"] == "connected"


def is_connected(record):
    return record["type"] == "state" and record["to"] == "connected"


def is_subscribed(record):
    return record["type"] == "subscribed"


def is_event(record):
    return record["type"] == "event"


@dataclass
class Fault:
    name: str
    strike: Callable[[], None]
    back_within: float
    noticed_within: Optional[float] = None  # None: the connection may live through it
    heal: Optional[Callable[[], None]] = None  # None: the client comes back while the fault lasts
    lasts: float = 5
    options: tuple = ("--host", SERVER, "--no-tls")
    time_outs: tuple = (ACTIVITY_TIMEOUT, PONG_TIMEOUT)
    prepare: Callable[[], None] = lambda: None
    clean_up: Callable[[], None] = lambda: None
    certificate: Optional[str] = None
    needs_nft: bool = False
    stays_out: bool = False  # the client must not connect while the fault lasts


@dataclass
class Outcome:
    noticed: Optional[float] = None
    back: Optional[float] = None
    errors: list = field(default_factory=list)


def run(fault, server):
    outcome = Outcome()
    fault.prepare()
    server.start(certificate=fault.certificate)
    activity, pong = fault.time_outs
    client = Client(*fault.options, "--activity-timeout", str(activity), "--pong-timeout", str(pong))
    try:
        if not client.find(is_event, since=0, within=20):
            outcome.errors.append("never connected")
            return outcome

        struck = time.monotonic()
        fault.strike()
        healed = struck
        lost = client.find(is_loss, since=struck, within=fault.lasts if fault.heal else fault.noticed_within)
        if fault.heal:
            if fault.stays_out and client.find(is_connected, struck, struck + fault.lasts - time.monotonic()):
                outcome.errors.append("it connected during the fault")
            time.sleep(max(0, struck + fault.lasts - time.monotonic()))
            healed = time.monotonic()
            fault.heal()
        lost = lost or client.find(is_loss, since=struck, within=0)
        outcome.noticed = lost and lost - struck
        if fault.noticed_within and not (lost and outcome.noticed <= fault.noticed_within):
            outcome.errors.append(f"not noticed within {fault.noticed_within:.1f} s")

        # Alive is who gets events; who has lost the connection must be subscribed again before.
        end = healed + fault.back_within
        subscribed = client.find(is_subscribed, lost, end - time.monotonic()) if lost else healed
        event = subscribed and client.find(is_event, max(subscribed, healed), end - time.monotonic())
        outcome.back = event and event - healed
        if not event:
            outcome.errors.append(f"not back within {fault.back_within:.1f} s")
        return outcome
    finally:
        client.kill()
        server.kill()
        fault.clean_up()


def make_certificate(folder, name):
    """A certificate for the server's address, which is its own authority."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem", "-subj", "/CN=chaos",
         "-addext", f"subjectAltName=IP:{SERVER}"], check=True, capture_output=True)


def all_faults(network, server, proxy, resolver, folder):
    make_certificate(folder, "good")
    make_certificate(folder, "bad")
    through_proxy = ("--host", SERVER, "--no-tls", "--proxy", f"http://{SERVER}:{PROXY_PORT}")
    by_name = ("--host", "server.chaos.test", "--no-tls")
    slow = {"time_outs": (3, 6)}

    def delay_and_drop():
        proxy.delay(2)
        server.restart()

    def limit_rate_and_drop():
        network.limit_rate(8000)
        server.restart()

    def resolver_says(mood, address=SERVER):
        resolver.mood, resolver.address = mood, address

    def move_without_dns(mood):
        resolver_says(mood)
        server.restart(address=OTHER_SERVER)

    return [
        Fault("link down", network.link_down, heal=network.link_up, noticed_within=HINT_NOTICED, back_within=RETRIED,
              time_outs=(30, PONG_TIMEOUT)),
        Fault("cable out", network.cable_out, heal=network.cable_in, noticed_within=HINT_NOTICED, back_within=RETRIED,
              time_outs=(30, PONG_TIMEOUT)),
        Fault("30 % loss", lambda: network.lose(30), heal=network.lose_nothing, lasts=10, back_within=TCP_RETRIED,
              needs_nft=True),
        Fault("2 s delay", delay_and_drop, noticed_within=2 + SLACK, back_within=2 + RECONNECT_DELAY + 8 + SLACK,
              options=through_proxy, prepare=proxy.start, clean_up=proxy.kill, **slow),
        Fault("1 kB/s", limit_rate_and_drop, noticed_within=SLACK, back_within=RECONNECT_DELAY + 6,
              clean_up=network.limit_nothing, **slow),
        Fault("address change", lambda: network.change_address(CLIENT, OTHER_CLIENT), noticed_within=HINT_NOTICED,
              back_within=HINT_NOTICED + RETRIED, time_outs=(30, PONG_TIMEOUT),
              clean_up=lambda: network.change_address(OTHER_CLIENT, CLIENT)),
        Fault("black hole", network.lose_everything, heal=network.lose_nothing, noticed_within=SILENCE_NOTICED, lasts=6,
              back_within=TCP_RETRIED, needs_nft=True),
        Fault("DNS fails", lambda: move_without_dns("fail"), noticed_within=SLACK, lasts=4,
              heal=lambda: resolver_says("answer", OTHER_SERVER), back_within=RETRIED, options=by_name,
              stays_out=True, clean_up=lambda: resolver_says("answer")),
        Fault("DNS silent", lambda: move_without_dns("silent"), noticed_within=SLACK, lasts=4,
              heal=lambda: resolver_says("answer", OTHER_SERVER), back_within=RETRIED + 2, options=by_name,
              stays_out=True, clean_up=lambda: resolver_says("answer")),
        Fault("proxy dies", proxy.kill, heal=proxy.start, noticed_within=SLACK, lasts=3, back_within=RETRIED,
              options=through_proxy, prepare=proxy.start, clean_up=proxy.kill, stays_out=True),
        Fault("bad certificate", lambda: server.restart(certificate="bad"), noticed_within=SLACK,
              heal=lambda: server.restart(certificate="good"), lasts=4, back_within=RETRIED,
              options=("--host", SERVER, "--ca-file", folder / "good.pem"), certificate="good", stays_out=True),
        Fault("server stopped", lambda: server.send(signal.SIGSTOP), heal=lambda: server.send(signal.SIGCONT),
              noticed_within=SILENCE_NOTICED, back_within=RETRIED),
    ]


def seconds(value):
    return "–" if value is None else f"{value:.2f}"


def main():
    failures = 0
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        network = Network()
        server, proxy, resolver = Server(network, folder), Proxy(network), Resolver(SERVER)
        try:
            print(f"{'fault':<16}{'noticed s':>10}{'bound':>8}{'back s':>10}{'bound':>8}", flush=True)
            for fault in all_faults(network, server, proxy, resolver, folder):
                if ONLY and fault.name not in ONLY:
                    continue
                if fault.needs_nft and not HAS_NFT:
                    print(f"{fault.name:<16}  skipped: nft is missing", flush=True)
                    continue
                outcome = run(fault, server)
                failures += bool(outcome.errors)
                print(f"{fault.name:<16}{seconds(outcome.noticed):>10}{seconds(fault.noticed_within):>8}"
                      f"{seconds(outcome.back):>10}{seconds(fault.back_within):>8}  "
                      + ("; ".join(outcome.errors) or "ok"), flush=True)
        finally:
            resolver.close()
            network.close()
    print(f"{failures} failed, in {time.monotonic() - start:.0f} s")
    sys.exit(1 if failures else 0)


main()
