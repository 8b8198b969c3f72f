"""Two network namespaces joined by a cable: ours, where clients run, and the server's."""

import shutil
import subprocess

CLIENT, OTHER_CLIENT, SERVER, OTHER_SERVER = "10.9.0.1", "10.9.0.11", "10.9.0.2", "10.9.0.22"
HAS_NFT = shutil.which("nft") is not None


def run(*command):
    subprocess.run(command, check=True)


class Network:
    def __init__(self):
        # A namespace lives as long as a process in it.
        self.keeper = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo ready; exec sleep 3600"],
                                       stdout=subprocess.PIPE, text=True)
        self.keeper.stdout.readline()
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "client", "type", "veth", "peer", "name", "server")
        run("ip", "link", "set", "server", "netns", str(self.keeper.pid))
        self.there("ip", "link", "set", "lo", "up")
        self.there("ip", "link", "set", "server", "up")
        for address in (SERVER, OTHER_SERVER):
            self.there("ip", "address", "add", f"{address}/24", "dev", "server")
        run("ip", "address", "add", f"{CLIENT}/24", "dev", "client")
        self.link_up()

    def at_server(self, command):
        """`command` as it must be called to run beside the server."""
        return ["nsenter", "--target", str(self.keeper.pid), "--net", *command]

    def there(self, *command):
        run(*self.at_server(command))

    def both(self, *command):
        run(*command)
        self.there(*command)

    def link_up(self):
        run("ip", "link", "set", "client", "up")
        run("ip", "route", "replace", "default", "via", SERVER)  # goes with the link

    def link_down(self):
        run("ip", "link", "set", "client", "down")

    def cable_out(self):
        """The other end goes: our interface stays up, without a carrier."""
        self.there("ip", "link", "set", "server", "down")

    def cable_in(self):
        self.there("ip", "link", "set", "server", "up")

    def change_address(self, old, new):
        """As a DHCP server or another access point does: the same way out, another address."""
        run("ip", "address", "del", f"{old}/24", "dev", "client")
        run("ip", "address", "add", f"{new}/24", "dev", "client")
        run("ip", "route", "replace", "default", "via", SERVER)

    def lose(self, percent):
        """Both ends lose that many of the packets that arrive, without a word to the sender."""
        self.drop(f"numgen random mod 100 < {percent}")

    def lose_everything(self):
        self.drop("")

    def drop(self, which):
        self.both("nft", "add table ip chaos; add chain ip chaos input { type filter hook input priority 0; }; "
                         f"add rule ip chaos input ip protocol tcp {which} drop")

    def lose_nothing(self):
        self.both("nft", "delete table ip chaos")

    def limit_rate(self, bits_per_second):
        """Each way. Packets are small, since one may always pass at once."""
        for call, device in ((run, "client"), (self.there, "server")):
            call("ip", "link", "set", device, "mtu", "576")
            call("tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{bits_per_second}bit", "burst", "600",
                 "limit", "32000")

    def limit_nothing(self):
        for call, device in ((run, "client"), (self.there, "server")):
            call("tc", "qdisc", "del", "dev", device, "root")
            call("ip", "link", "set", device, "mtu", "1500")

    def close(self):
        self.keeper.kill()
        self.keeper.wait()
