"""Machines that are network namespaces on one switch, so that their links can be cut.

This process, in a namespace of its own, is the machine that the others reach as HOME. Where namespaces are not permitted,
all runs on the loopback interface, and nothing is cut."""

import os
import shutil
import subprocess
import sys

HOME = "10.77.0.254"
MARK = "RELAY_TEST_NETWORK"  # in the environment: this process has a namespace of its own


def isolate():
    """Runs this program again in a namespace of its own, if that may be; else says why not."""
    if MARK in os.environ:
        return os.environ[MARK] == "1"
    environment = os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
    why = None
    if os.geteuid() != 0:
        why = "it takes root"
    elif shutil.which("ip", path=environment["PATH"]) is None:
        why = "ip (iproute2) is missing"
    elif subprocess.run(["unshare", "--net", "sh", "-c", "ip link add probe type bridge && unshare --net true"],
                        env=environment, capture_output=True).returncode != 0:
        why = "this system does not permit network namespaces"
    if why is None:
        os.execvpe("unshare", ["unshare", "--net", sys.executable, "-B", *sys.argv], environment | {MARK: "1"})
    print(f"relay-test: no links are cut: {why}", flush=True)
    return False


def run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)


class Loopback:
    can_cut = False
    home = "127.0.0.1"

    def address(self, machine):
        return "127.0.0.1"

    def command(self, machine, command):
        return command

    def close(self):
        pass


class Network:
    can_cut = True
    home = HOME

    def __init__(self, machines):
        self.keepers = {}
        self.addresses = {name: f"10.77.0.{index + 1}" for index, name in enumerate(machines)}
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "switch", "type", "bridge")
        run("ip", "address", "add", f"{HOME}/24", "dev", "switch")
        run("ip", "link", "set", "switch", "up")
        for name in machines:
            # A namespace lives as long as a process in it.
            keeper = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep 7200"], stdout=subprocess.PIPE,
                                      text=True, start_new_session=True)
            keeper.stdout.readline()
            self.keepers[name] = keeper
            run("ip", "link", "add", name, "type", "veth", "peer", "name", "uplink", "netns", str(keeper.pid))
            run("ip", "link", "set", name, "master", "switch", "up")
            self.there(name, "ip", "link", "set", "lo", "up")
            self.there(name, "ip", "address", "add", f"{self.addresses[name]}/24", "dev", "uplink")
            self.there(name, "ip", "link", "set", "uplink", "up")

    def address(self, machine):
        return self.addresses[machine]

    def command(self, machine, command):
        """As it must be called to run there. The process that it becomes is the one that is started."""
        if machine is None:
            return command
        return ["nsenter", "--target", str(self.keepers[machine].pid), "--net", *command]

    def there(self, machine, *command):
        run(*self.command(machine, command))

    def cut(self, machine):
        """The machine's own link stays up: it hears nothing more, and is told nothing."""
        run("ip", "link", "set", machine, "down")

    def mend(self, machine):
        run("ip", "link", "set", machine, "up")

    def part(self, one, other):
        """Two machines lose each other, and nobody else."""
        for machine, lost in ((one, other), (other, one)):
            self.there(machine, "ip", "route", "add", "blackhole", f"{self.addresses[lost]}/32")

    def join(self, one, other):
        for machine, lost in ((one, other), (other, one)):
            self.there(machine, "ip", "route", "del", "blackhole", f"{self.addresses[lost]}/32")

    def close(self):
        for keeper in self.keepers.values():
            keeper.kill()
            keeper.wait()
