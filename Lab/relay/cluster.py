"""Three servers of NATS with JetStream, one cluster."""

import json
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

COUNT = 3
NAMES = [f"server-{number + 1}" for number in range(COUNT)]
RECOVERY = 40  # seconds; with data, all three together: up to 24 were measured


def free_ports(count):
    """Below those that the system gives to connections, one of which could take a port while its server is dead."""
    sockets = []
    while len(sockets) < count:
        one = socket.socket()
        try:
            one.bind(("127.0.0.1", random.randrange(10_000, 32_000)))
            sockets.append(one)
        except OSError:
            one.close()
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Server:
    def __init__(self, folder, name, ports, routes, network):
        self.name, (self.port, self.http, route), self.process = name, ports, None
        self.network, self.address = network, network.address(name)
        self.file, self.log = folder / f"{name}.conf", folder / f"{name}.log"
        self.is_stopped = self.is_cut = False
        self.file.write_text(f"""
server_name: {name}
listen: "{self.address}:{self.port}"
http: "{self.address}:{self.http}"
log_file: "{self.log}"
logtime: true
max_payload: 1MB
max_pending: 64MB
write_deadline: "10s"
ping_interval: "10s"
ping_max: 2
jetstream {{ store_dir: "{folder / name}", max_memory_store: 64MB, max_file_store: 2GB }}
cluster {{
    name: relay-test, listen: "{self.address}:{route}", no_advertise: true
    routes: [{", ".join(f'"nats://{route}"' for route in routes)}]
}}
""")

    @property
    def is_running(self):
        return self.process is not None and not self.is_stopped and not self.is_cut

    @property
    def id(self):
        return self.name

    @property
    def machine(self):
        return self.name

    def start(self):
        program = shutil.which("nats-server") or "/usr/sbin/nats-server"
        self.process = subprocess.Popen(
            self.network.command(self.name, [program, "-c", str(self.file)]), start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
            self.is_stopped = False

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        self.is_stopped = True

    def restart(self):
        self.start()

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.is_stopped = False

    def get(self, path):
        """What the monitor says; None if it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{self.address}:{self.http}{path}", timeout=2) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return None

    @property
    def leads(self):
        """Whether it leads any stream."""
        return any(stream["cluster"].get("leader") == self.name for stream in self.streams().values())

    def streams(self):
        """What it has of each stream, by name."""
        answer = self.get("/jsz?streams=1") or {}
        return {stream["name"]: stream for account in answer.get("account_details") or []
                for stream in account.get("stream_detail") or []}


class Cluster:
    def __init__(self, folder, network):
        folder.mkdir()
        ports = free_ports(3 * COUNT)
        routes = [f"{network.address(name)}:{port}" for name, port in zip(NAMES, ports[2 * COUNT:])]
        self.restarts = 0
        self.servers = [Server(folder, name, ports[index::COUNT], routes, network) for index, name in enumerate(NAMES)]

    @property
    def urls(self):
        return ",".join(f"nats://{server.address}:{server.port}" for server in self.servers)

    def start(self):
        for server in self.servers:
            server.start()
        self.wait_until_ready()
        self.version = self.servers[0].get("/varz")["version"]

    @property
    def survives_cuts(self):
        """Whether servers that lose each other for seconds keep all that they have acknowledged, under the numbers that they
        have told. Those of 2.9 do not, whatever client there is: they lose messages, and replicas differ for good. One that
        led a stream and was paused is as bad: what waits in its connections goes into its copy before it hears of the new
        leader, and stays there."""
        return not self.version.startswith("2.9.")

    def wait_until_ready(self):
        for _ in range(4):
            if wait(self.is_ready, RECOVERY):
                return
            self.restart_stuck()
        sys.exit("relay-test: the servers do not become ready")

    def bring_into_step(self, stream):
        """Waits until nothing changes and all have the same. A copy of 2.9 that lags behind sometimes stays behind, though its
        server calls it current, until the server is restarted."""
        for _ in range(3):
            if wait(lambda: self.is_in_step(stream), RECOVERY):
                return
            last = self.last_sequences(stream)
            for server in self.servers:
                if last.get(server.name, 0) < max(last.values()):
                    print(f"{time.strftime('%H:%M:%S')} restarted, since its copy of {stream} stays behind: {server.name}, "
                          f"{last}", flush=True)
                    self.restarts += 1
                    server.kill()
                    server.start()
            self.wait_until_ready()

    def is_in_step(self, stream):
        before = self.last_sequences(stream)
        time.sleep(3)
        return before == self.last_sequences(stream) and len(set(before.values())) == 1

    def restart_stuck(self):
        """Servers of 2.9 that were killed sometimes reset their copy of a stream ("last sequence mismatch") and then do not
        fill it again. A restart heals them."""
        for server in self.servers:
            if server.is_running and (server.get("/healthz") or {}).get("status") != "ok":
                print(f"{time.strftime('%H:%M:%S')} restarted, since it does not recover: {server.name}", flush=True)
                self.restarts += 1
                server.process.terminate()
                server.process.wait()
                server.start()

    def is_ready(self):
        """healthz alone is not enough: it is well without a quorum, too."""
        leaders = set()
        for server in self.servers:
            meta = (server.get("/jsz") or {}).get("meta_cluster") or {}
            if not meta.get("leader") or meta.get("cluster_size") != COUNT:
                return False
            if (server.get("/healthz") or {}).get("status") != "ok":
                return False
            leaders.add(meta["leader"])
        return len(leaders) == 1

    def can_resume(self, server):
        """Whether a pause of it ends without harm. Asked before, since it does not answer then."""
        return self.survives_cuts or not server.leads

    def leader(self, stream="EVENTS"):
        for server in self.servers:
            if server.is_running:
                name = (server.streams().get(stream) or {}).get("cluster", {}).get("leader")
                if name == server.name:
                    return server
        return None

    def is_settled(self):
        """Whether all replicas of all streams have everything: else the next fault would be two at once."""
        if not all(server.is_running for server in self.servers):
            return False
        led = {}
        for server in self.servers:
            for name, stream in server.streams().items():
                led.setdefault(name, False)
                if stream["cluster"].get("leader") == server.name:
                    replicas = stream["cluster"].get("replicas") or []
                    led[name] = len(replicas) == COUNT - 1 and all(replica.get("current") for replica in replicas)
        return bool(led) and all(led.values())

    def last_sequences(self, stream):
        return {server.name: (server.streams().get(stream) or {}).get("state", {}).get("last_seq")
                for server in self.servers}

    def close(self):
        running = [server for server in self.servers if server.process]
        for server in running:
            server.process.send_signal(signal.SIGCONT)
            server.process.terminate()
        for server in running:
            try:
                server.process.wait(5)
            except subprocess.TimeoutExpired:
                server.kill()


def wait(condition, seconds, pause=0.2):
    """Whether it came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True
