"""Events per CPU second, from the socket to the application's code, beside C programs and Pysher."""

import subprocess
import sys
from collections import defaultdict

from programs import BUILD, ROOT, ROUNDS, few, make_certificate, measure, output_of, source, swift_command
from report import Aim, Line, cost_ratios, rate_ratios

SIZES = 50, 200, 1_000, 10_000
TLS_SIZES = 200, 1_000, 10_000
ENCRYPTED_SIZES = 200, 1_000

# Enough for about half a second of CPU.
EVENTS = {
    "floor": {50: 10_000_000, 200: 4_000_000, 1_000: 1_500_000, 10_000: 150_000},
    "untouched": {50: 1_500_000, 200: 1_500_000, 1_000: 800_000, 10_000: 150_000},
    "text": {50: 1_000_000, 200: 1_000_000, 1_000: 500_000, 10_000: 80_000},
    "struct": {50: 150_000, 200: 100_000, 1_000: 60_000, 10_000: 8_000},
    "encrypted": {200: 60_000, 1_000: 30_000},
    "pysher": {200: 20_000},
}


def floor(size, tls=None):
    events = few(EVENTS["floor"][size])
    with source(events, size, tls=tls) as server:
        return measure(BUILD / "floor", server.port, 1, events, *(tls[:1] if tls else ()))


def client(size, kind="untouched", delivery="callback", tls=None, encrypted=False):
    events = few(EVENTS["encrypted" if encrypted else kind][size])
    with source(events, size, kind="encrypted" if encrypted else "plain", tls=tls) as server:
        return measure(*swift_command(
            "DispatchBench", port=server.port, events=events, kind=kind, delivery=delivery,
            ca_file=tls[0] if tls else None, encrypted="yes" if encrypted else None))


def pysher(python):
    events = few(EVENTS["pysher"][200])
    with source(events, 200) as server:
        return measure(python, ROOT / "Lab/bench/pysher_client.py", server.port, events)


def install_pysher():
    """A Python that has it, or None."""
    folder = ROOT / ".build-interop"
    requirements = ROOT / "Lab/interop/requirements.txt"
    try:
        if not (folder / "bin/python").exists():
            output_of(sys.executable, "-m", "venv", folder)
        output_of(folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements)
    except subprocess.CalledProcessError:
        return None
    return folder / "bin/python"


def rate(result):
    return result["events"] / result["cpu_seconds"]


def per_event(result, key="cpu_seconds"):
    return result[key] / result["events"]


def bench(report):
    tls = make_certificate()
    python = install_pysher()
    jobs = {}
    for size in SIZES:
        jobs["floor", size] = lambda size=size: floor(size)
        for kind in ("untouched", "text", "struct"):
            jobs[kind, size] = lambda size=size, kind=kind: client(size, kind)
    for delivery in ("inline", "sequence"):
        for kind in ("untouched", "text"):
            jobs[kind, delivery] = lambda kind=kind, delivery=delivery: client(200, kind, delivery)
    for size in TLS_SIZES:
        jobs["floor tls", size] = lambda size=size: floor(size, tls)
        jobs["tls", size] = lambda size=size: client(size, tls=tls)
    for size in ENCRYPTED_SIZES:
        jobs["box", size] = lambda size=size: measure(BUILD / "box", size, few(EVENTS["encrypted"][size]))
        jobs["encrypted", size] = lambda size=size: client(size, encrypted=True)
    if python:
        jobs["pysher"] = lambda: pysher(python)

    results = defaultdict(list)
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            results[name].append(job())
    rates = {name: [rate(result) for result in rounds] for name, rounds in results.items() if name[0] != "box"}

    report.section("dispatch: events per CPU second")
    plain(report, rates, results)
    deliveries(report, rates)
    over_tls(report, rates)
    encrypted(report, results)
    if python:
        report.add(Line("pysher_events_per_cpu_second", "peer, 200 bytes: Pysher, data as it comes", rates["pysher"],
                        "events/CPU s", rate_ratios(rates["pysher"], rates["untouched", 200]),
                        "our callback, untouched"))
    else:
        report.note("peer: Pysher cannot be had from PyPI: skipped")


def plain(report, rates, results):
    for size in SIZES:
        suffix = "" if size == 200 else f"_{size}"
        report.add(Line(f"floor{suffix}_events_per_cpu_second",
                        f"floor, {size:,} bytes: libcurl and frame cutting in C", rates["floor", size],
                        "events/CPU s"))
        for kind in ("untouched", "text"):
            values = rates[kind, size]
            aims = (Aim("<=", 5), Aim(">=", 3e6, of_ratio=False)) if (kind, size) == ("untouched", 200) else ()
            report.add(Line(f"dispatch_{kind}{suffix}_events_per_cpu_second", f"callback, {size:,} bytes, {kind}",
                            values, "events/CPU s", rate_ratios(values, rates["floor", size]), "floor", aims))
        alone = [per_event(result, "decoder_cpu_seconds") for result in results["struct", size]]
        ours = [per_event(result) - per_event(untouched)
                for result, untouched in zip(results["struct", size], results["untouched", size])]
        report.add(Line(f"dispatch_struct{suffix}_events_per_cpu_second",
                        f"callback, {size:,} bytes, decoded to a struct", rates["struct", size], "events/CPU s",
                        cost_ratios(ours, alone), "JSONDecoder alone",
                        (Aim("<=", 0.5),)))
        decoding = [per_event(result, "event_decode_cpu_seconds") * 1e9 for result in results["struct", size]]
        report.add(Line(f"decode{suffix}_nanoseconds", f"event.decode, {size:,} bytes, without its way here", decoding,
                        "CPU ns/event", cost_ratios(decoding, [value * 1e9 for value in alone]), "JSONDecoder alone",
                        (Aim("<=", 0.4),) if size <= 1_000 else ()))


def deliveries(report, rates):
    for delivery, name in (("inline", "inline"), ("sequence", "for await")):
        for kind in ("untouched", "text"):
            values = rates[kind, delivery]
            report.add(Line(f"dispatch_{delivery}_{kind}_events_per_cpu_second", f"{name}, 200 bytes, {kind}", values,
                            "events/CPU s", rate_ratios(values, rates["floor", 200]), "floor"))


def over_tls(report, rates):
    for size in TLS_SIZES:
        values, beside = rates["tls", size], rates["floor tls", size]
        report.add(Line(f"floor_tls_{size}_events_per_cpu_second", f"floor over TLS, {size:,} bytes", beside,
                        "events/CPU s"))
        report.add(Line(f"dispatch_tls_{size}_events_per_cpu_second", f"callback over TLS, {size:,} bytes, untouched",
                        values, "events/CPU s", rate_ratios(values, beside), "floor over TLS",
                        (Aim("<=", 1.5),) if size == 200 else ()))


def encrypted(report, results):
    for size in ENCRYPTED_SIZES:
        box = [per_event(result, "open_cpu_seconds") * 1e9 for result in results["box", size]]
        with_base64 = [per_event(result, "base64_and_open_cpu_seconds") * 1e9 for result in results["box", size]]
        total = [per_event(result) * 1e9 for result in results["encrypted", size]]
        unencrypted = [per_event(result) * 1e9 for result in results["untouched", size]]
        beyond = [ours - plain for ours, plain in zip(total, unencrypted)]
        key, name = f"encrypted_{size}", f"encrypted, {size:,} bytes"
        report.add(Line(f"libsodium_open_{size}_nanoseconds", f"floor, {size:,} bytes: crypto_secretbox_open_easy", box,
                        "CPU ns/event"))
        report.add(Line(f"libsodium_base64_and_open_{size}_nanoseconds",
                        f"floor, {size:,} bytes: and sodium_base642bin", with_base64, "CPU ns/event"))
        report.add(Line(f"{key}_nanoseconds", f"{name}: all, from the socket", total, "CPU ns/event",
                        cost_ratios(total, box), "libsodium's open", (Aim("<=", 1.3),)))
        report.add(Line(f"{key}_beyond_plain_nanoseconds", f"{name}: beyond a plain event of that size", beyond,
                        "CPU ns/event", cost_ratios(beyond, box), "libsodium's open"))
        report.add(Line(f"{key}_with_base64_nanoseconds", f"{name}: all, from the socket", total, "CPU ns/event",
                        cost_ratios(total, with_base64), "libsodium's base64 and open"))
