# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of LNet selftest and `lst` on separate hosts: all on one network, or on two networks with a router between them."""
import contextlib
import os
import subprocess

from routed_hosts import NETS, RoutedHosts, address
from site_under_test import Skip, eventually
from tcp_nodes import counted
from traffic_nodes import plan

CONSOLE = "r0"  # the host where lst runs


class FlatHosts(RoutedHosts):
    """client, server and r0 on one network."""

    def legs(self, name):
        return [(0, {"client": self.CLIENT, "server": self.SERVER}.get(name, self.ROUTERS[0]))]

    def networks(self, name):
        return f"net: [{{net type: tcp, local NI(s): [{{nid: '{self.nid(name)}'}}]}}]\n"


@contextlib.contextmanager
def selftest_hosts(site, kind=FlatHosts):
    if os.geteuid() != 0:
        raise Skip("needs root for network namespaces")
    hosts = kind(site, 1)
    try:
        hosts.wire()
        yield hosts
    finally:
        hosts.unwire()


def config(hosts, name, shards=1, selftest=""):
    text = hosts.networks(name) + plan(shards) + f"    selftest: {{client_mib: 32, server_mib: 16{selftest}}}\n"
    return hosts.site.write(f"{name}.yaml", text)


def start(hosts, name, *arguments, shards=1, selftest="", life=""):
    """Starts `lnet-selftest node`."""
    site = hosts.site
    return hosts.node(name, "--config", config(hosts, name, shards, selftest), "--idle", "sleep", *arguments, life=life,
                      program=site.program("lnet-selftest"), verb="node")


class Lst:
    """Commands of one session, on the console's host."""

    def __init__(self, hosts, key=77, node=None):
        self.hosts, self.key, self.site = hosts, key, hosts.site
        self.run_dir = node.socket.parent if node else self.site.path("consoles")
        self.config = config(hosts, CONSOLE)
        self.options = []

    def call(self, *words, key=None):
        key = self.key if key is None else key
        command = ["ip", "netns", "exec", self.hosts.names[CONSOLE], self.site.program("lnet-selftest"), "lst", "--run-dir",
                   str(self.run_dir), "--config", self.config, "--lock-dir", str(self.site.lock_dir), *self.options, *words]
        environment = {**os.environ, "LST_SESSION": str(key)}
        return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=self.site.directory, env=environment,
                              stdin=subprocess.DEVNULL)

    def works(self, *words):
        done = self.call(*words)
        assert done.returncode == 0, f"lst {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def fails(self, *words, status=255, key=None):
        done = self.call(*words, key=key)
        assert done.returncode == status, f"lst {' '.join(words)}: {done.returncode} for {status}\n{done.stdout}{done.stderr}"
        return done.stderr

    def group(self, name, *nids):
        said = self.works("add_group", name, *nids)
        assert said == "".join(f"{nid} are added to session\n" for nid in nids), said

    def test(self, batch, *words, concurrency=4):
        said = self.works("add_test", "--batch", batch, "--from", "clients", "--to", "servers", "--concurrency", str(concurrency),
                          *words)
        assert said == "Test was added successfully\n", said

    def without_errors(self, *groups):
        """Checks the errors of this session; counters of the RPC engine cover the whole process."""
        done = self.call("show_error", "--session", *groups)
        assert done.stdout == "".join(f"{group}:\nTotal 0 error nodes in {group}\n" for group in groups), done
        assert done.stderr == "", done.stderr

    @property
    def background(self):
        return self.run_dir / f"lst-{self.key}.sock"


def has_session(node, wanted=1):
    return counted(node, "selftest_session", "active") == wanted


def loses_session(node, timeout_s=20):
    eventually(f"{node.name} has no session any more", lambda: has_session(node, 0), timeout_s)


def nid_on(net, number):
    return f"{address(net, number)}@{NETS[net]}"
