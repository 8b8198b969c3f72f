"""The mock server gives events to 1,000 connections, beside a C program that only writes them."""

import hashlib
import hmac
import http.client
import json
import os
import subprocess
import time
from collections import defaultdict

from programs import BUILD, CLI, ROUNDS, few, serving
from report import Line, rate_ratios

CONNECTIONS, EVENTS, SIZE, BATCH = few(1_000), 500, 200, 10
APP_ID, KEY, SECRET = "1", "app-key", "app-secret"  # those of the mock server unless it is told others
DATA = "x" * (SIZE - len('{"event":"tick","channel":"c0","data":""}'))


def publish(port):
    """Through the HTTP API, in batches."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    body = json.dumps({"batch": [{"channel": "c0", "name": "tick", "data": DATA}] * BATCH})
    path = f"/apps/{APP_ID}/batch_events"
    for _ in range(EVENTS // BATCH):
        query = (f"auth_key={KEY}&auth_timestamp={int(time.time())}&auth_version=1.0"
                 f"&body_md5={hashlib.md5(body.encode()).hexdigest()}")
        signature = hmac.new(SECRET.encode(), f"POST\n{path}\n{query}".encode(), hashlib.sha256).hexdigest()
        connection.request("POST", f"{path}?{query}&auth_signature={signature}", body,
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status


def deliveries(server, send):
    """Per second, and per second of the server's CPU."""
    subscribers = subprocess.Popen([BUILD / "subscribers", str(server.port), str(CONNECTIONS), str(EVENTS)],
                                   stdout=subprocess.PIPE, text=True)
    try:
        assert subscribers.stdout.readline() == "ready\n"
        cpu, start = server.cpu_seconds(), time.monotonic()
        send(server)
        assert subscribers.stdout.readline() == "done\n"
        seconds = time.monotonic() - start
    finally:
        subscribers.kill()
        subscribers.wait()
    count = CONNECTIONS * EVENTS
    used = max(server.cpu_seconds() - cpu, 1 / os.sysconf("SC_CLK_TCK"))  # a short run may use less than a tick
    return {"second": count / seconds, "cpu_second": count / used}


def bench(report):
    results = defaultdict(list)
    for _ in range(ROUNDS):
        with serving(BUILD / "holder") as server:
            results["floor"].append(deliveries(server, lambda server: server.order(f"send {EVENTS} {SIZE}")))
        with serving(CLI, "serve", "--port", 0) as server:
            results["mock"].append(deliveries(server, lambda server: publish(server.port)))

    report.section(f"fan-out: events of {SIZE} bytes to {CONNECTIONS:,} connections")
    for unit, name in (("cpu_second", "deliveries/CPU s"), ("second", "deliveries/s")):
        floor, mock = ([result[unit] for result in results[who]] for who in ("floor", "mock"))
        report.add(Line(f"floor_fan_out_deliveries_per_{unit}", "floor: a write for each in C", floor, name))
        report.add(Line(f"fan_out_deliveries_per_{unit}", "mock server, HTTP API included", mock, name,
                        rate_ratios(mock, floor), "floor"))
