#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""CPU time of a router's threads with watchers of its status page and without, in turn: prints per cent of a CPU. No test."""
import argparse
import os
import pathlib
import socket
import threading
import time

from routed_hosts import routed_hosts, start
from run import enter_own_network, programs_of
from site_under_test import Site
from tcp_nodes import works
from traffic_nodes import has_answered
from two_hosts import inside

TICK = os.sysconf("SC_CLK_TCK")


def thread_seconds(pid):
    """CPU time by thread: the admin thread is the first one, the others are pollers and libraries' threads."""
    spent = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        spent[int(task.name)] = (int(fields[11]) + int(fields[12])) / TICK
    return spent


def busy_seconds(node):
    """Of the pollers: time at work, as they count it."""
    shards = [shard for cpt in node.ask("cpt show", verbose=1)["cpt"] for shard in cpt["shards"]]
    return sum(shard["busy_nsec"] for shard in shards) / 1e9


class Watchers:
    def __init__(self, hosts, port, count):
        self.ended, self.received = False, [0] * count
        with inside(hosts.names["r0"]):
            self.sockets = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(count)]
        for each in self.sockets:
            each.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.threads = [threading.Thread(target=self.read, args=(i,)) for i in range(count)]
        for each in self.threads:
            each.start()

    def read(self, number):
        try:
            while piece := self.sockets[number].recv(1 << 16):
                self.received[number] += len(piece)
        except OSError:
            pass

    def close(self):
        for each in self.sockets:
            each.shutdown(socket.SHUT_RDWR)
        for each in self.threads:
            each.join()
        for each in self.sockets:
            each.close()


def measure(hosts, router, port, watchers, seconds):
    crowd = Watchers(hosts, port, watchers)
    pid = router.process.pid  # `ip netns exec` becomes the program
    before, busy, begun = thread_seconds(pid), busy_seconds(router), time.monotonic()
    time.sleep(seconds)
    after, busy, took = thread_seconds(pid), busy_seconds(router) - busy, time.monotonic() - begun
    crowd.close()
    admin = after[pid] - before[pid]
    others = sum(after.values()) - sum(before.values()) - admin
    size = sum(crowd.received) / max(watchers, 1) / took
    print(f"{watchers:3} watchers: admin thread {100 * admin / took:6.3f} %, other threads {100 * others / took:6.3f} %, pollers at work "
          f"{100 * busy / took:6.3f} % of a CPU; {size:8.0f} B/s a watcher", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    enter_own_network()
    with programs_of(arguments.build) as programs:
        site = Site(programs)
        try:
            with routed_hosts(site) as hosts:
                router = start(hosts, "r0")
                start(hosts, "server")
                client = start(hosts, "client", "--to", hosts.nid("server"))
                has_answered(client, 100)
                client.stop()  # an idle router: its pollers sleep, so that all of their time shows
                works(router, "set", "status_page_listen", "0")
                port = int(router.json("status")["status"]["status page"].rpartition(":")[2])
                for _ in range(arguments.rounds):
                    for watchers in (0, 1, 10):
                        measure(hosts, router, port, watchers, arguments.seconds)
        finally:
            site.close()


if __name__ == "__main__":
    main()
