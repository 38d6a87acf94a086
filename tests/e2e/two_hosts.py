# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts on one wire: network namespaces joined by a veth pair, gone when the case ends."""
import contextlib
import os
import subprocess

from site_under_test import Skip

ADDRESSES = {"a": ("10.88.0.1", "fd88::1"), "b": ("10.88.0.2", "fd88::2")}


def ip(*words, may_fail=False):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=30)
    if done.returncode != 0 and not may_fail:
        raise Skip(f"network namespaces cannot be had: ip {' '.join(words)}: {done.stderr.strip()}")


class Hosts:
    def __init__(self, site):
        self.site = site
        self.names = {side: f"plnet-{os.getpid()}-{side}" for side in ADDRESSES}

    def wire(self):
        for name in self.names.values():
            ip("netns", "add", name)
        link = [f"pl{os.getpid()}{side}" for side in ADDRESSES]
        ip("link", "add", link[0], "type", "veth", "peer", "name", link[1])
        for side, device in zip(ADDRESSES, link):
            name = self.names[side]
            ip("link", "set", device, "netns", name, "name", "eth0")
            for address, bits in zip(ADDRESSES[side], ("24", "64")):
                more = ["nodad"] if ":" in address else []
                ip("-n", name, "address", "add", f"{address}/{bits}", "dev", "eth0", *more)
            for device_up in ("lo", "eth0"):
                ip("-n", name, "link", "set", device_up, "up")

    def unwire(self):
        for name in self.names.values():
            ip("netns", "delete", name, may_fail=True)

    def node(self, side, *arguments, name=None):
        return self.site.node(*arguments, name=name or side, prefix=("ip", "netns", "exec", self.names[side]))

    def sockets(self, side):
        """Established TCP connections of LNet, one line each."""
        done = self.site.run("ip", "netns", "exec", self.names[side], "ss", "-Htn", "state", "established")
        return [line for line in done.stdout.splitlines() if ":988" in line]


@contextlib.contextmanager
def two_hosts(site):
    if os.geteuid() != 0:
        raise Skip("needs root for network namespaces")
    hosts = Hosts(site)
    try:
        hosts.wire()
        yield hosts
    finally:
        hosts.unwire()
