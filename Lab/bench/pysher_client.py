"""CPU time of Pysher from the first to the last of EVENTS events:  pysher_client.py PORT EVENTS"""

import json
import os
import sys
import time

import pysher

PORT, EVENTS = int(sys.argv[1]), int(sys.argv[2])
client = pysher.Pusher("app-key", secure=False, custom_host="127.0.0.1", port=PORT)
count, start = 0, 0.0


def received(_):
    global count, start
    if count == 0:
        start = time.process_time()
    count += 1
    if count == EVENTS:
        print(json.dumps({"events": count, "cpu_seconds": time.process_time() - start}), flush=True)
        os._exit(0)


client.connection.bind("pusher:connection_established", lambda _: client.subscribe("c0").bind("tick", received))
client.connect()
time.sleep(300)
