"""A homeserver that can be killed and stopped like the programs; see Lab/matrix/homeserver.py."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request

from programs import ROOT

sys.path.append(str(ROOT / "Lab/matrix"))
from homeserver import Failure, Homeserver, configuration, free_port  # noqa: E402

ENVIRONMENT = ROOT / "Lab/matrix/environment"


def python(installs):
    """The Python that Synapse is installed for; None if there is none, and none is to be installed."""
    existing = ROOT / ".build/matrix/venv/bin/python"
    if not installs:
        return existing if existing.exists() else None
    answer = subprocess.run([ENVIRONMENT], stdout=subprocess.PIPE, text=True)
    return answer.stdout.strip() if answer.returncode == 0 else None


class Synapse(Homeserver):
    name = "homeserver"
    python = None  # set at the start
    host = "127.0.0.1"

    @classmethod
    def make(cls, folder):
        port = free_port()
        listeners = configuration(port, "")["listeners"]
        listeners[0]["bind_addresses"] = [cls.host]
        return cls.new(folder, {"listeners": listeners, "public_baseurl": f"http://{cls.host}:{port}/"})

    def command(self, *arguments):
        return [str(self.python), *super().command(*arguments)[1:]]

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    # As a program has it

    exits = ()
    is_stopped = False
    thread = None

    @property
    def id(self):
        return self.name

    @property
    def is_running(self):
        return self.pid is not None and not self.is_stopped and not self.is_starting

    @property
    def is_starting(self):
        return self.thread is not None and self.thread.is_alive()

    def restart(self):
        """Returns at once: it takes seconds."""
        def run():
            try:
                self.start()
            except Failure as failure:
                print(f"relay-test: {failure}", flush=True)
        self.thread = threading.Thread(target=run)
        self.thread.start()

    def wait_until_started(self):
        if self.thread:
            self.thread.join()

    def pause(self):
        self.is_stopped = True
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)
        self.is_stopped = False

    def close(self):
        self.wait_until_started()
        if self.is_stopped:
            self.resume()
        self.kill()

    # What a client asks of it

    def post(self, path, token, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(),
                                         {"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def shared_rooms(self, count, owner, guest):
        """Rooms of two users, each with what its login gave."""
        rooms = []
        for number in range(count):
            room = self.post("/_matrix/client/v3/createRoom", owner["access_token"], {
                "name": f"room {number}", "preset": "private_chat", "invite": [guest["user_id"]]})["room_id"]
            self.post(f"/_matrix/client/v3/rooms/{room}/join", guest["access_token"], {})
            rooms.append(room)
        return rooms
