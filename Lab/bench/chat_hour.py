"""An hour of `pusher-cli matrix chat`: one chat in which nothing happens, and one with ten events a second.

Memory and CPU time are read every ten seconds, and kept in .build/bench/chat_hour/. TIME is the time in seconds."""

import os
import shutil
import threading
import time

from chat import chat, log_in
from chat_server import ChatServer
from programs import BUILD, CLI, SMOKE, build_command
from report import Aim, Line

build = build_command
HOME = BUILD / "chat_hour"
TIME = int(os.environ.get("TIME", 6 if SMOKE else 3600))
INTERVAL = 1 if SMOKE else 10  # seconds between two readings
ROOMS, EVENTS, RATE = 20, 1000, 10
WARM_UP = 0.25  # of the time
# Bytes, and part, by which memory may grow afterwards: the store's cache of pages fills up to 16 MiB.
ALLOWED_GROWTH = 16 << 20, 0.1


class Patient:
    """A chat with a homeserver of its own, and the readings: seconds, resident bytes, seconds of CPU."""

    def __init__(self, name, program):
        self.name, home = name, HOME / name
        self.server = ChatServer(ROOMS, EVENTS)
        log_in(self.server, home)
        self.screen = chat(home, program)
        self.screen.until("history")
        self.screen.quiet()
        self.readings = []

    def read_screen(self):
        self.screen.read(0)
        self.screen.written = b""

    def note(self, file, seconds):
        reading = seconds, self.screen.resident_bytes(), self.screen.cpu_seconds()
        self.readings.append(reading)
        print(self.name, *(f"{value:.2f}" for value in reading), sep=",", file=file, flush=True)

    def since_warm_up(self):
        return self.readings[int(len(self.readings) * WARM_UP):]


def bring_events(server, ends):
    while not ends.wait(1 / RATE):
        server.bring([server.next_message("a message of the hour")])


def watch(patients):
    """Reads the screens all the time, so that nothing waits for them."""
    begin = due = time.monotonic()
    with open(HOME / "readings.csv", "w", encoding="ascii") as file:
        print("chat,seconds,resident_bytes,cpu_seconds", file=file)
        while time.monotonic() < begin + TIME or not patients[0].readings:
            if time.monotonic() >= due:
                for patient in patients:
                    patient.note(file, time.monotonic() - begin)
                due += INTERVAL
            for patient in patients:
                patient.read_screen()
            time.sleep(0.02)
        for patient in patients:
            patient.note(file, time.monotonic() - begin)


def bench(report):
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    program = shutil.copy(CLI, HOME / "pusher-cli")  # another build may come within the hour
    patients = [Patient("idle", program), Patient("busy", program)]
    ends = threading.Event()
    threading.Thread(target=bring_events, args=(patients[1].server, ends), daemon=True).start()
    watch(patients)
    ends.set()
    report.section(f"matrix chat for {TIME:,} s: idle, and busy with {RATE} events a second")
    for patient in patients:
        settled = patient.since_warm_up()
        (began, first, cpu_before), (ended, last, cpu_after) = settled[0], settled[-1]
        limit = Aim("<=", 150e6, of_ratio=False)

        def add(key, name, unit, value, *aims, beside=None, words=""):
            report.add(Line(f"chat_hour_{patient.name}_{key}", f"{patient.name}: {name}", [value], unit,
                            [value / beside] if beside else None, words, aims))

        share = (cpu_after - cpu_before) / max(ended - began, 0.1) * 100
        add("cpu", "CPU", "%", share, *([Aim("<=", 0.2, of_ratio=False)] if patient.name == "idle" else []))
        add("memory_warm", f"memory after {began:,.0f} s", "bytes", first)
        add("memory_most", "the most memory since", "bytes", max(memory for _, memory, _ in settled), limit)
        allowed = first * (1 + ALLOWED_GROWTH[1]) + ALLOWED_GROWTH[0]
        add("memory_end", "memory in the end", "bytes", last, Aim("<=", allowed, of_ratio=False), beside=first,
            words=f"after {began:,.0f} s")
        assert patient.screen.end() == 0
