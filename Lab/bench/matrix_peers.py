"""What other programs make of an answer of /sync:  matrix_peers PEER INITIAL [INCREMENTAL]

PEER is orjson, which parses, or nio: matrix-nio, which parses, checks and brings its rooms up to date. Files are those
of Lab/Benchmarks/Matrix/generate.py. Prints one line of JSON: CPU seconds, and by how much memory grew at most."""

import asyncio
import json
import sys
import time
from pathlib import Path


def resident(field="VmRSS"):
    """Bytes; VmHWM is the most there was."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def forget_peak():
    Path("/proc/self/clear_refs").write_text("5")


def timed(work, *arguments):
    start = time.process_time()
    result = work(*arguments)
    return result, time.process_time() - start


def orjson_parser():
    import orjson
    return orjson.loads


def nio_session():
    """A function that takes the bytes of one answer after the other."""
    import logging

    import nio
    logging.disable(logging.CRITICAL)
    client = nio.AsyncClient("http://127.0.0.1:1", "@me:hs.test")
    client.user_id = "@me:hs.test"
    loop = asyncio.new_event_loop()

    def apply(body):
        response = nio.SyncResponse.from_dict(json.loads(body))
        assert isinstance(response, nio.SyncResponse), response
        loop.run_until_complete(client.receive_response(response))
        return client

    return apply


def main():
    peer, initial, *incremental = sys.argv[1:]
    work = {"orjson": orjson_parser, "nio": nio_session}[peer]()
    forget_peak()
    before = resident()
    body = Path(initial).read_bytes()
    kept, seconds = timed(work, body)
    figures = {"seconds": seconds, "peak_bytes": resident("VmHWM") - before, "body_bytes": len(body)}
    if peer == "nio":
        figures["rooms"] = len(kept.rooms)
    if incremental:
        lines = Path(incremental[0]).read_bytes().splitlines()
        _, figures["incremental_seconds"] = timed(lambda: [work(line) for line in lines])
        figures["answers"] = len(lines)
    print(json.dumps(figures))


main()
