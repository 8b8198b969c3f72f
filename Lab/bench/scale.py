"""What many channels and bindings do to the cost of an event; subscribing to many channels, and again."""

from collections import defaultdict

from programs import BUILD, ROUNDS, few, measure, source, swift_command
from report import Aim, Line, cost_ratios

EVENTS, PACED_SECONDS, MANY, BINDINGS = few(1_000_000), 3, few(10_000), few(100_000)
SUBSCRIPTIONS = few(10_000)


def client(channels, bindings=0):
    with source(EVENTS, channels=channels) as server:
        return cost(measure(*swift_command("DispatchBench", port=server.port, events=EVENTS, channels=channels,
                                           bindings=bindings)))


def floor(channels):
    with source(EVENTS, channels=channels) as server:
        return cost(measure(BUILD / "floor", server.port, channels, EVENTS))


def paced(command_for):
    events = MANY * PACED_SECONDS
    with source(events, channels=MANY, kind="paced") as server:
        return cost(measure(*command_for(server.port, events)))


def cost(result):
    """Nanoseconds of CPU for an event."""
    return result["cpu_seconds"] / result["events"] * 1e9


def subscribe():
    with source(0, channels=SUBSCRIPTIONS) as server:
        result = measure(*swift_command("SubscribeBench", port=server.port, channels=SUBSCRIPTIONS))
        return result | {"frames": int(server.line().split()[0]), "again_frames": int(server.line().split()[0])}


def subscribe_floor():
    with source(0, channels=SUBSCRIPTIONS) as server:
        return measure(BUILD / "floor", server.port, SUBSCRIPTIONS, 0)


def bench(report):
    jobs = {
        "floor": lambda: floor(1),
        "floor many": lambda: floor(MANY),
        "one": lambda: client(1),
        "hundred": lambda: client(100),
        "many": lambda: client(MANY),
        "one bound": lambda: client(1, BINDINGS),
        "many bound": lambda: client(MANY, BINDINGS),
        "floor paced": lambda: paced(lambda port, events: (BUILD / "floor", port, MANY, events)),
        "paced": lambda: paced(lambda port, events: swift_command(
            "DispatchBench", port=port, events=events, channels=MANY)),
        "subscribe floor": subscribe_floor,
        "subscribe": subscribe,
    }
    results = defaultdict(list)
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            results[name].append(job())
    cost_of_events(report, results)
    subscriptions(report, results)


def cost_of_events(report, results):
    def add(key, name, which, beside=None, beside_name="", aims=()):
        ratios = cost_ratios(results[which], results[beside]) if beside else None
        report.add(Line(f"{key}_nanoseconds_per_event", name, results[which], "CPU ns/event", ratios, beside_name,
                        aims))

    report.section("scale: to one channel after the other, as fast as they are taken")
    flat = (Aim("<=", 1.1),)
    add("floor_channels_1", "floor, 1 channel", "floor")
    add("floor_channels_10000", f"floor, {MANY:,} channels", "floor many", "floor", "1 channel")
    add("channels_1", "1 channel", "one", "floor", "floor")
    add("channels_100", "100 channels", "hundred", "one", "1 channel", flat)
    add("channels_10000", f"{MANY:,} channels", "many", "one", "1 channel", flat)
    add("channels_1_bindings_100000", f"1 channel, {BINDINGS:,} bindings", "one bound", "one", "1 channel", flat)
    add("channels_10000_bindings_100000", f"{MANY:,} channels, {BINDINGS:,} bindings", "many bound", "many",
        f"{MANY:,} channels", flat)
    add("floor_paced_channels_10000", f"floor, {MANY:,} channels, one event each a second", "floor paced")
    add("paced_channels_10000", f"{MANY:,} channels, one event each a second", "paced", "floor paced", "floor")


def subscriptions(report, results):
    report.section(f"scale: subscribing to {SUBSCRIPTIONS:,} private channels, connecting included")
    floor, ours = results["subscribe floor"], results["subscribe"]
    for prefix, name in (("", "subscribing"), ("again_", "again, after the connection was lost")):
        for key, floor_key, unit in (("seconds", "subscribe_seconds", "s"),
                                     ("cpu_seconds", "subscribe_cpu_seconds", "CPU s")):
            floor_values = [result[floor_key] for result in floor]
            values = [result[prefix + key] for result in ours]
            if not prefix:
                report.add(Line(f"floor_subscribe_{key}", "floor: frames sent, answers counted, in C", floor_values,
                                unit))
            report.add(Line(f"subscribe_{prefix}{key}", name, values, unit, cost_ratios(values, floor_values), "floor"))
        report.add(Line(f"subscribe_{prefix}frames", f"{name}: frames sent",
                        [result[prefix + "frames"] for result in ours], "frames"))
        report.add(Line(f"subscribe_{prefix}auth_requests", f"{name}: auth requests",
                        [result[prefix + "auth_requests"] for result in ours], "requests"))
