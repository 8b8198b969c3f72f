#!/usr/bin/env python3
"""Runs Autobahn's cases against our client and the mock server: conformance.py PEER [GROUP…].

Every case must be OK, or what expected.json allows it to be and why. Exits with 1 otherwise.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from pathlib import Path

from kosoku import FailureError, run_fuzzingclient, run_fuzzingserver

HERE = Path(__file__).resolve().parent
TIME_LIMIT = 3600  # seconds for all cases of one side
COMPRESSED = (12, 13)  # groups that the mock server is spared: SwiftNIO compresses no messages
# The server asks these clients not to keep their context, and only those that say they are ready for it.
NO_CONTEXT = ("13.2", "13.5", "13.6")
SLOW = 60  # seconds that one case may take, where Autobahn allows up to 480


def patterns(numbers):
    return [f"{number}.*" for number in numbers]


async def verdicts(results):
    try:
        return await results
    except FailureError as failure:
        return failure.results


async def test_client(peer, groups):
    cases = await run_client(peer, groups, patterns(NO_CONTEXT))
    if groups is None or "13.*" in groups:
        cases += await run_client(peer, patterns(NO_CONTEXT), None, "client_no_context_takeover")
    return cases


async def run_client(peer, groups, excluded, *offer):
    async with run_fuzzingserver(groups, excluded, host="127.0.0.1", port=0) as server:
        address = f"{server.address}:{server.port}"
        client = await asyncio.create_subprocess_exec(peer, "client", f"ws://{address}", *offer)
        try:
            return await verdicts(server.get_result())
        finally:
            await client.wait()


async def test_server(peer, groups):
    # Its input is never written to; it ends when we do, however that comes about.
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(peer, "server", stdin=pipe, stdout=pipe)
    try:
        port = int(await server.stdout.readline())
        address = f"ws://127.0.0.1:{port}"
        return await verdicts(run_fuzzingclient(address, groups, patterns(COMPRESSED), concurrency=1))
    finally:
        server.stdin.close()
        await server.wait()


def group(case_id):
    return int(case_id.split(".")[0])


def verdict(case):
    """OK only if both the exchange and the closing handshake are."""
    if case.behavior.value == "OK" and case.behavior_close.value in ("OK", "INFORMATIONAL"):
        return "OK"
    return case.behavior.value if case.behavior.value != "OK" else f"close {case.behavior_close.value}"


def judge(side, cases, expected, seconds):
    """Prints a line for each group and one for each case that is not as expected; returns how many those are."""
    print(f"\n{side}: {len(cases)} cases in {seconds:.1f} s", flush=True)
    wrong = []
    for number in sorted({group(case.case_id) for case in cases}):
        members = [case for case in cases if group(case.case_id) == number]
        counts = Counter(verdict(case) for case in members)
        slowest = max(members, key=lambda case: case.duration)
        words = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        print(f"  group {number:<3} {words:32} slowest: {slowest.case_id} {slowest.duration / 1000:.2f} s")
        for case in members:
            allowed = expected.get(verdict(case), {"cases": []})["cases"]
            if verdict(case) != "OK" and case.case_id not in allowed:
                wrong.append(f"{case.case_id} is {verdict(case)}: {case.result} {case.result_close}")
            elif case.duration > SLOW * 1000:
                wrong.append(f"{case.case_id} took {case.duration / 1000:.0f} s, more than {SLOW} s")
    for line in wrong:
        print(f"  ✘ {side} {line}")
    return len(wrong)


async def main(peer, numbers):
    groups = patterns(numbers) or None
    expected = json.loads((HERE / "expected.json").read_text())
    wrong = 0
    for side, test in (("client", test_client), ("server", test_server)):
        if side == "server" and numbers and all(group(number) in COMPRESSED for number in numbers):
            continue
        start = time.monotonic()
        cases = await asyncio.wait_for(test(peer, groups), TIME_LIMIT)
        if not cases:
            sys.exit(f"conformance: no case of the {side} was run")
        wrong += judge(side, cases, expected[side], time.monotonic() - start)
    print(f"\nconformance: {'all as expected' if wrong == 0 else f'{wrong} not as expected'}")
    return 1 if wrong else 0


sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2:])))
