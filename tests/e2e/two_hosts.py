# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts on one wire: network namespaces joined by a veth pair, removed when the case ends."""
import contextlib
import ctypes
import itertools
import os
import subprocess

from bad_wire import MTU, BadWire, open_tap
from site_under_test import Skip

ADDRESSES = {"a": ("10.88.0.1", "fd88::1"), "b": ("10.88.0.2", "fd88::2")}
NO_MAC = "02:00:00:00:00:99"  # an unused address


def ip(*words, may_fail=False):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=30)
    if done.returncode != 0 and not may_fail:
        raise Skip(f"network namespaces cannot be had: ip {' '.join(words)}: {done.stderr.strip()}")


CLONE_NEWNET = 0x40000000


@contextlib.contextmanager
def inside(name):
    """Sockets and devices made meanwhile belong to that network namespace, and stay there."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(path):
        with open(path, "rb") as space:
            if libc.setns(space.fileno(), CLONE_NEWNET) != 0:
                raise Skip(f"cannot enter {path}: {os.strerror(ctypes.get_errno())}")

    with open("/proc/thread-self/ns/net", "rb") as home:
        enter(f"/run/netns/{name}")
        try:
            yield
        finally:
            assert libc.setns(home.fileno(), CLONE_NEWNET) == 0, "cannot go home"


PAIRS = itertools.count()


class Hosts:
    def __init__(self, site):
        self.site = site
        self.tag = f"{os.getpid()}-{next(PAIRS)}"
        self.names = {side: f"plnet-{self.tag}-{side}" for side in ADDRESSES}
        self.bad_wire = None

    def wire(self, may_be_bad=False):
        for name in self.names.values():
            ip("netns", "add", name)
        if may_be_bad:
            self.lay_bad_wire()
        else:
            self.lay_wire()
        for side, name in self.names.items():
            for address, bits in zip(ADDRESSES[side], ("24", "64")):
                self.address(side, address, bits)
            for device_up in ("lo", "eth0"):
                ip("-n", name, "link", "set", device_up, "up")

    def lay_bad_wire(self):
        ends = []
        for side, name in self.names.items():
            with self.inside(side):
                ends.append(open_tap())
            ip("-n", name, "link", "set", "eth0", "mtu", str(MTU))
        self.bad_wire = BadWire(ends)

    def lay_wire(self):
        link = [f"pl{self.tag}{side}" for side in ADDRESSES]
        ip("link", "add", link[0], "type", "veth", "peer", "name", link[1])
        for side, device in zip(ADDRESSES, link):
            ip("link", "set", device, "netns", self.names[side], "name", "eth0")

    def unwire(self):
        if self.bad_wire:
            self.bad_wire.close()
        for name in self.names.values():
            ip("netns", "delete", name, may_fail=True)

    def node(self, side, *arguments, name=None, prefix=(), **how):
        return self.site.node(*arguments, name=name or side, prefix=("ip", "netns", "exec", self.names[side], *prefix), **how)

    def command(self, side, *words):
        """Runs the command on that host."""
        done = self.site.run("ip", "netns", "exec", self.names[side], *words)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return done.stdout

    def address(self, side, address, bits):
        ip("-n", self.names[side], "address", "add", f"{address}/{bits}", "dev", "eth0", *(["nodad"] if ":" in address else []))

    def link(self, side, state):
        ip("-n", self.names[side], "link", "set", "eth0", state)

    @contextlib.contextmanager
    def unanswered(self, side):
        """Packets from that host to the other one are lost meanwhile: a connecting node is not refused, but waits."""
        addresses = next(there for name, there in ADDRESSES.items() if name != side)
        for address in addresses:
            ip("-n", self.names[side], "neighbour", "replace", address, "lladdr", NO_MAC, "dev", "eth0", "nud", "permanent")
        yield
        for address in addresses:
            ip("-n", self.names[side], "neighbour", "delete", address, "dev", "eth0")

    def inside(self, side):
        return inside(self.names[side])

    def sockets(self, side):
        """Established TCP connections of LNet, one line each."""
        done = self.site.run("ip", "netns", "exec", self.names[side], "ss", "-Htn", "state", "established")
        return [line for line in done.stdout.splitlines() if ":988" in line]


@contextlib.contextmanager
def two_hosts(site, may_be_bad=False):
    """The wire between them can fail; it is slower than the normal one."""
    if os.geteuid() != 0:
        raise Skip("needs root for network namespaces")
    hosts = Hosts(site)
    try:
        hosts.wire(may_be_bad)
        yield hosts
    finally:
        hosts.unwire()
