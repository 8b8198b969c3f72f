"""A listener on loopback whose connections are played by a function, each in a thread."""

import socket
import struct
import threading
import time
import traceback

from measure import now

PATIENCE = 20  # seconds that a peer waits for the other side to read or to speak


class Gone(Exception):
    """The other side has closed, or does nothing any more."""


class Connection:
    def __init__(self, raw, number=0):
        self.socket, self.number = raw, number
        self.socket.settimeout(PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pending = b""
        self.inflater = None  # of compressed messages
        self.lock = threading.Lock()

    def send(self, data):
        try:
            with self.lock:
                self.socket.sendall(data)
        except (OSError, ValueError) as error:
            raise Gone(str(error)) from None

    def send_slowly(self, data, pause, seconds, size=1):
        """Single bytes; says whether all went out in time."""
        end = now() + seconds
        for start in range(0, len(data), size):
            if now() >= end:
                return False
            self.send(data[start:start + size])
            time.sleep(pause)
        return True

    def receive(self):
        if self.pending:
            data, self.pending = self.pending, b""
            return data
        try:
            data = self.socket.recv(65536)
        except (OSError, ValueError) as error:
            raise Gone(str(error)) from None
        if not data:
            raise Gone("closed")
        return data

    def read_exactly(self, count):
        data = b""
        while len(data) < count:
            data += self.receive()
        self.pending = data[count:] + self.pending
        return data[:count]

    def read_until(self, end, limit=1 << 20):
        data = b""
        while end not in data:
            if len(data) > limit:
                raise Gone("too much")
            data += self.receive()
        index = data.index(end) + len(end)
        self.pending = data[index:] + self.pending
        return data[:index]

    def wait_for_end(self, seconds):
        """Reads until the other side closes; says whether it did."""
        end = now() + seconds
        while now() < end:
            try:
                self.socket.settimeout(max(0.05, min(1, end - now())))
                if not self.socket.recv(65536):
                    return True
            except TimeoutError:
                continue
            except (OSError, ValueError):
                return True
        return False

    def reset(self):
        """The kernel says RST instead of the usual end."""
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
        self.close()

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


class Peer:
    """Plays `handle(connection)` for each connection; connections are numbered from 0."""

    def __init__(self, handle=None, context=None, backlog=512):
        if handle:
            self.handle = handle
        self.context = context
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(backlog)
        self.port = self.listener.getsockname()[1]
        self.is_closed = False
        self.accepted = 0
        self.connections = []
        self.errors = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            connection = Connection(raw, self.accepted)
            self.accepted += 1
            self.connections = [other for other in self.connections[-200:] if other.socket.fileno() >= 0]
            self.connections.append(connection)
            threading.Thread(target=self.play, args=(connection,), daemon=True).start()

    def play(self, connection):
        try:
            if self.context:
                connection.socket = self.context.wrap_socket(connection.socket, server_side=True)
            self.handle(connection)
        except Gone:
            pass
        except OSError:
            pass
        except Exception as error:
            if not self.is_closed:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                self.errors.append(f"our server: {type(error).__name__} at "
                                   f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}: {error}")
        finally:
            connection.close()

    def close(self):
        self.is_closed = True
        for closing in (lambda: self.listener.shutdown(socket.SHUT_RDWR), self.listener.close):
            try:
                closing()
            except OSError:
                pass
        for connection in self.connections:
            connection.close()
