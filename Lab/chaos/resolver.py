"""A name server on loopback that knows one address, and can fail or fall silent."""

import socket
import struct
import subprocess
import tempfile
import threading

SERVFAIL = 2


class Resolver:
    def __init__(self, address):
        self.address = address
        self.mood = "answer"  # or "fail", or "silent"
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        self.file = tempfile.NamedTemporaryFile("w", suffix=".conf")
        self.file.write("nameserver 127.0.0.1\noptions timeout:1 attempts:2\n")
        self.file.flush()
        subprocess.run(["mount", "--bind", self.file.name, "/etc/resolv.conf"], check=True)  # in our namespace only
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            query, sender = self.socket.recvfrom(512)
            if self.mood != "silent":
                self.socket.sendto(self.answer(query), sender)

    def answer(self, query):
        end = query.index(0, 12) + 5  # the name, its type and class
        question, kind = query[12:end], query[end - 4:end - 2]
        if self.mood == "fail":
            return query[:2] + struct.pack(">HHHHH", 0x8180 | SERVFAIL, 1, 0, 0, 0) + question
        has_answer = kind == b"\0\1"  # A; of every other type there is nothing
        record = struct.pack(">HHHIH", 0xC00C, 1, 1, 1, 4) + socket.inet_aton(self.address) if has_answer else b""
        return query[:2] + struct.pack(">HHHHH", 0x8180, 1, int(has_answer), 0, 0) + question + record

    def close(self):
        subprocess.run(["umount", "/etc/resolv.conf"], check=True)
        self.file.close()
