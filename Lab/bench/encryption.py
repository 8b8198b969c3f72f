"""Matrix's encryption beside the primitives that it consists of, and beside vodozemac."""

from collections import defaultdict

from matrix import install_peers
from programs import BUILD, CONFIGURATION, LIBRARIES, ROOT, ROUNDS, build_product, few, measure, run
from report import Aim, Line, cost_ratios

SIZE = 250
MESSAGES, EVENTS, LONG_RUN = few(10_000), few(10_000), few(100_000)
KINDS = {"megolm_encrypt": "Megolm, encrypted", "megolm_decrypt": "Megolm, decrypted", "olm_encrypt": "Olm, encrypted",
         "olm_decrypt": "Olm, decrypted", "olm_open": "Olm, opened at both ends"}


def build():
    """Only what this section needs."""
    BUILD.mkdir(parents=True, exist_ok=True)
    flags = run("pkg-config", "--cflags", "--libs", *LIBRARIES, capture_output=True, text=True).stdout.split()
    run("cc", "-O2", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-o", BUILD / "ratchets", ROOT / "Lab/Benchmarks/C/ratchets.c", *flags)
    build_product("EncryptionBench")


def ours(kind, count):
    return measure(ROOT / ".build" / CONFIGURATION / "EncryptionBench", kind, count, "size", SIZE)


def bench(report):
    python = install_peers()
    results = defaultdict(list)
    for _ in range(ROUNDS):
        results["floor"].append(measure(BUILD / "ratchets", MESSAGES, SIZE))
        results["ours"].append(ours("messages", MESSAGES))
        results["events"].append(ours("events", EVENTS))
        results["late"].append(ours("late", EVENTS))
        if python:
            results["vodozemac"].append(measure(python, ROOT / "Lab/bench/encryption_peers.py", MESSAGES, SIZE))
        results["memory"].append(ours("memory", LONG_RUN))

    report.section(f"encryption: messages of {SIZE} bytes, to base64 and from it")
    for kind, name in KINDS.items():
        rates(report, results, kind, name, bool(python))
    if python:
        calls = [result["call"] * 1e9 for result in results["vodozemac"]]
        report.add(Line("encryption_vodozemac_call_nanoseconds", "peer: a call from Python alone", calls, "CPU ns"))
    else:
        report.note("peer: vodozemac cannot be had from PyPI: skipped")

    report.section(f"encryption: {EVENTS:,} events of one sync, 100 a room")
    costs = [result["seconds"] / result["events"] * 1e6 for result in results["events"]]
    floor = [result["megolm_decrypt"] * 1e6 for result in results["floor"]]
    report.add(Line("encryption_events_microseconds", "decrypted by the machine, from JSON to JSON", costs,
                    "CPU µs/event", cost_ratios(costs, floor), "the primitives", (Aim("<=", 1.5),)))
    report.section(f"encryption: {EVENTS:,} events that wait for one key")
    late = [result["seconds"] for result in results["late"]]
    report.add(Line("encryption_late_seconds", "read by the machine when it comes", late, "CPU s",
                    aims=(Aim("<=", 1, of_ratio=False),)))
    report.section(f"encryption: {LONG_RUN:,} messages of both ratchets")
    growth = [result["growth_bytes"] for result in results["memory"]]
    report.add(Line("encryption_memory_growth_bytes", "memory, from a tenth of them to the last", growth, "bytes",
                    aims=(Aim("<=", 1 << 20, of_ratio=False),)))


def rates(report, results, kind, name, has_peer):
    """Per CPU second, with how many times as much ours costs."""
    costs = {who: [result[kind] for result in results[who]] for who in ("floor", "ours", "vodozemac") if results[who]}
    values = {who: [1 / cost for cost in of] for who, of in costs.items()}
    key = f"encryption_{kind}"
    report.add(Line(key + "_floor", name + ": floor, the primitives", values["floor"], "/CPU s"))
    report.add(Line(key, name + ": ours", values["ours"], "/CPU s", cost_ratios(costs["ours"], costs["floor"]),
                    "floor"))
    if has_peer:
        report.add(Line(key + "_vodozemac", name + ": peer, vodozemac from Python", values["vodozemac"], "/CPU s",
                        cost_ratios(costs["vodozemac"], costs["ours"]), "ours"))
