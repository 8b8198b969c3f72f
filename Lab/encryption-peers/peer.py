"""A process that other processes ask: a request a line, an answer a line, both JSON. See Lab/Sources/EncryptionPeer."""

import base64
import json
import re
import subprocess
import sys
from collections import deque


# What was said last.
log = deque(maxlen=12)


class Refused(Exception):
    """A peer does not accept what it was given. str() is its reason."""


def encode(data):
    return base64.b64encode(data).rstrip(b"=").decode()


def decode(text):
    if not re.fullmatch(r"[A-Za-z0-9+/]*", text):
        raise Refused("base64")
    return base64.b64decode(text + "=" * (-len(text) % 4))


def serve(peer, refusals):
    """Answers requests with the methods of an object: `olm.open` is olm_open, and its members are arguments.

    What `refusals` says of an exception is why a request is refused; None for one that is a mistake of ours."""
    names = [name.replace("_", ".", 1) for name in dir(peer) if not name.startswith("_")]
    for line in sys.stdin:
        request = json.loads(line)
        name = request.pop("do")
        try:
            if name == "operations":
                answer = {"operations": names}
            elif name == "forget":
                peer.__init__()
                answer = {}
            else:
                answer = getattr(peer, name.replace(".", "_"))(**request) or {}
        except Exception as error:
            why = refusals(error)
            answer = {"error": repr(error)} if why is None else {"refused": why}
        print(json.dumps(answer), flush=True)


class Peer:
    """The other end of `serve`, or of EncryptionPeer.

    One that is not strict takes some damage: vodozemac checks how it would have written a message, not the bytes that
    came. Nor does it take any passphrase: matrix-nio's are in Latin-1."""

    def __init__(self, name, *command, is_strict=True):
        self.name, self.is_strict = name, is_strict
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        self.operations = set(self("operations")["operations"])

    def __call__(self, do, **arguments):
        request = json.dumps({"do": do, **arguments})
        log.append(f"{self.name} < {request}")
        print(request, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        log.append(f"{self.name} > {line.strip()}")
        if not line:
            raise RuntimeError(f"{self.name} has ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {answer['error']}")
        if "refused" in answer:
            raise Refused(answer["refused"])
        return answer

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
