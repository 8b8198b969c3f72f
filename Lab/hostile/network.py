"""What lies between: a resolver that answers nothing, and proxies that lie."""

import socket
import subprocess
import threading
import time

from measure import MIB, now
from peer import Connection, Gone, Peer
from pusher import PusherPeer, comes_through, listen, send_all
from scenario import scenario


class ProxyPeer(Peer):
    """An HTTP CONNECT proxy that behaves until it is told to lie."""

    def __init__(self):
        self.lie = None
        super().__init__()

    def handle(self, connection):
        request = connection.read_until(b"\r\n\r\n")
        if self.lie:
            return self.lie(connection, request)
        host, port = request.split()[1].decode().rsplit(":", 1)
        upstream = Connection(socket.create_connection((host, int(port)), 5))
        connection.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        threading.Thread(target=self.pump, args=(upstream, connection), daemon=True).start()
        self.pump(connection, upstream)

    @staticmethod
    def pump(source, target):
        try:
            source.socket.settimeout(None)
            while True:
                target.send(source.receive())
        except Gone:
            source.close()
            target.close()


def through(trial, lie, *, seconds=4, attempts=25, patience=8):
    proxy, server = trial.peer(ProxyPeer()), trial.peer(PusherPeer())
    _, client = listen(trial, "--proxy", f"http://127.0.0.1:{proxy.port}", server=server)
    before = proxy.accepted
    with trial.attack(client):
        proxy.lie = lie
        server.connection().close()
        time.sleep(seconds)
        proxy.lie = None
    trial.expect(before < proxy.accepted <= before + attempts, f"{proxy.accepted - before} attempts in {seconds} s")
    trial.is_back(comes_through(server, client, trial.attack_ended, patience))


ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n"


def says(data):
    def lie(connection, request):
        connection.send(data)
        connection.wait_for_end(3)
    return lie


def says_on(start, data, megabytes):
    def lie(connection, request):
        connection.send(start)
        send_all(connection, data, megabytes * MIB // len(data))
        connection.wait_for_end(3)
    return lie


for name, lie, bounds in [
    ("says 200 and then a page of its own", says(ESTABLISHED + b"\r\nHTTP/1.1 200 OK\r\n\r\n<html>log in</html>"), {}),
    ("says 200 and then garbage", says_on(ESTABLISHED + b"\r\n", b"\x00\xffgarbage", 8), {}),
    ("says 200 and then nothing", says(ESTABLISHED + b"\r\n"), {"back": 22}),
    ("wants a password that nobody has", says(
        b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"),
     {"smoke": True}),
    ("sends it elsewhere", says(
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"), {}),
    ("answers CONNECT with header lines without end", says_on(ESTABLISHED, b"X-Filler: " + b"f" * 100 + b"\r\n", 64),
     {"smoke": True}),
    ("answers CONNECT with one line without end", says_on(ESTABLISHED + b"X-Filler: ", b"f" * 65536, 64), {}),
    ("answers CONNECT with a body without end", says_on(b"HTTP/1.1 502 Bad Gateway\r\n\r\n", b"x" * 65536, 64), {}),
    ("answers CONNECT in chunks without end",
     says_on(b"HTTP/1.1 502 Bad Gateway\r\nTransfer-Encoding: chunked\r\n\r\n",
             b"1;" + b"e" * 100 + b"\r\nx\r\n", 32), {}),
    ("says 100 Continue without end", says_on(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 16), {}),
]:
    scenario(f"proxy: {name}", **{"idle": True, "back": 5, **bounds})(
        lambda trial, lie=lie, patience=bounds.get("back", 5) + 4: through(trial, lie, patience=patience))


class Resolver:
    """The name server of our namespace. It knows one address, and can fall silent or lie."""

    def __init__(self, folder):
        self.answers = True
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        self.file = folder / "resolv.conf"
        self.file.write_text("nameserver 127.0.0.1\noptions timeout:2 attempts:2\n")
        subprocess.run(["mount", "--bind", self.file, "/etc/resolv.conf"], check=True)
        # A thread that waits in `recvfrom` would keep the port after `close`.
        self.socket.settimeout(0.1)
        self.closed = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.closed.is_set():
            try:
                query, sender = self.socket.recvfrom(512)
            except OSError:
                continue
            if self.answers:
                self.socket.sendto(self.answer(query), sender)

    @staticmethod
    def answer(query):
        end = query.index(0, 12) + 5
        has_answer = query[end - 4:end - 2] == b"\0\1"
        record = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton("127.0.0.1") if has_answer else b""
        return query[:2] + b"\x81\x80\0\1" + bytes([0, int(has_answer)]) + b"\0\0\0\0" + query[12:end] + record

    def close(self):
        subprocess.run(["umount", "/etc/resolv.conf"], check=False)
        self.closed.set()
        self.thread.join()
        self.socket.close()


@scenario("resolver: answers nothing, while another connection is open", namespace=True, smoke=True, back=2, cpu=3)
def silent_resolver(trial):
    """An auth endpoint whose name nobody resolves must not hold up what has a connection."""
    resolver = Resolver(trial.folder)
    try:
        resolver.answers = False
        server = trial.peer(PusherPeer())
        _, client = listen(trial, "--auth-endpoint", "http://auth.hostile.test:1/", server=server,
                           channels=("calm", "victim", "private-victim"), warm_up=False)
        trial.need(comes_through(server, client, 0, 20), "it never connected")
        slowest = 0
        with trial.attack(client):
            end = now() + 6
            while now() < end:
                sent = now()
                arrived = comes_through(server, client, sent, 8)
                slowest = max(slowest, (arrived or sent + 99) - sent)
                time.sleep(0.1)
        trial.is_back(trial.attack_ended + slowest)
        # And it leaves in time, with a look-up under way.
        left = now()
        client.process.terminate()
        trial.expect(client.wait(5) is not None, "it does not end while a name is looked up")
        trial.expect(now() - left < 4, "it ends late while a name is looked up")
    finally:
        resolver.close()


@scenario("resolver: falls silent, and comes back", namespace=True, back=12, cpu=3)
def resolver_comes_back(trial):
    resolver = Resolver(trial.folder)
    try:
        server = trial.peer(PusherPeer())
        client = trial.start("listen", "calm", "victim", "--key", "k", "--host", "server.hostile.test", "--port",
                             server.port, "--no-tls", "--connect-timeout", 0, "--max-reconnect-delay", 1, "--json",
                             "--verbose", json=True)
        trial.need(comes_through(server, client, 0, 20), "it never connected")
        with trial.attack(client):
            resolver.answers = False
            server.connection().close()
            time.sleep(4)
            resolver.answers = True
        trial.is_back(comes_through(server, client, trial.attack_ended, 20))
    finally:
        resolver.close()
