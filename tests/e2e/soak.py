#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A client, a server and two routers under traffic for minutes, with a fault every few seconds. Not part of ./check.

Every operation is accounted for and every byte is right, or it fails. r1 and the client live from beginning to end: their
resident memory is what it was after the first third. What routers drop has a cause with a name. Ends with its figures.

  tests/e2e/soak.py --build build/check-gcc [--minutes 10] [--seed 1]
"""
import argparse
import collections
import pathlib
import random
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from process_watch import descriptors, resident_kib  # noqa: E402
from routed_hosts import buffers_home, routed_hosts, start  # noqa: E402
from run import copy_programs  # noqa: E402
from site_under_test import Site, eventually  # noqa: E402
from tcp_nodes import counted  # noqa: E402
from traffic_nodes import IMPATIENT, count, has_answered, is_clean, last_words  # noqa: E402

OPTIONS = IMPATIENT + "options lnet alive_router_check_interval=1 router_ping_timeout=4\n"
BETWEEN_FAULTS_S = 3
HEALS_WITHIN_S = 90
GROWTH_MAX = 1.05
DROPS_OF_SENDER = ("tx_deadline", "tx_hop_down")


class Soak:
    def __init__(self, hosts, seed):
        self.hosts, self.random = hosts, random.Random(seed)
        self.lives = collections.Counter()
        self.nodes = {}
        self.faults = collections.Counter()
        self.ended = collections.Counter()  # what servers that were restarted had counted
        for name in [*hosts.routers, "server", "client"]:
            self.begin(name)

    def begin(self, name):
        other = {"client": "server", "server": "client"}.get(name)
        more = ("--to", self.hosts.nid(other)) if other else ("--drain-timeout", "15")
        self.lives[name] += 1
        self.nodes[name] = start(self.hosts, name, *more, shards=2, options=OPTIONS, life=f"-{self.lives[name]}")

    def r0_is_killed(self):
        self.nodes["r0"].stop(signal.SIGKILL)
        time.sleep(self.random.random() * 2)
        self.begin("r0")

    def r0_is_drained_and_restarted(self):
        assert self.nodes["r0"].stop(signal.SIGTERM) == 0, self.nodes["r0"].output()
        self.begin("r0")

    def server_is_killed(self):
        self.nodes["server"].stop(signal.SIGKILL)
        time.sleep(self.random.random() * 2)
        self.begin("server")

    def server_is_restarted(self):
        self.ended.update(last_words(self.nodes["server"]))
        self.begin("server")

    def a_link_of_a_router_is_cut(self):
        name, net = self.random.choice(self.hosts.routers), self.random.randrange(2)
        self.hosts.link(name, net, "down")
        time.sleep(self.random.random() * 4)
        self.hosts.link(name, net, "up")

    def a_router_is_frozen(self):
        process = self.nodes[self.random.choice(self.hosts.routers)].process
        process.send_signal(signal.SIGSTOP)
        time.sleep(self.random.random() * 6)
        process.send_signal(signal.SIGCONT)

    FAULTS = (r0_is_killed, r0_is_drained_and_restarted, server_is_killed, server_is_restarted, a_link_of_a_router_is_cut,
              a_router_is_frozen)

    def fault(self):
        which = self.random.choice(self.FAULTS)
        self.faults[which.__name__] += 1
        which(self)
        began = time.monotonic()
        client = self.nodes["client"]
        has_answered(client, count(client, "answered") + 50, HEALS_WITHIN_S)
        took = time.monotonic() - began
        for name in ("client", "server"):
            is_clean(self.nodes[name])
        return which.__name__, took

    def both_ways(self):
        def all_up():
            rows = self.nodes["client"].json("route", "show", "-v")["route"]
            return len(rows) == 2 and all(row["state"] == "up" for row in rows)
        eventually("the client goes by both routers", all_up, HEALS_WITHIN_S)

    def resident(self):
        return {name: resident_kib(self.nodes[name]) for name in ("r1", "client")}


def drops(router):
    """(drop_count, causes by name)"""
    causes = collections.Counter()
    for each in router.json("counters", "show")["counters"]:
        if each["object"] == "lnet_cause":
            causes.update({row: n for row, n in each.items() if n and (row.startswith("dropped_") or row in DROPS_OF_SENDER)})
    return router.json("stats", "show")["statistics"]["drop_count"], causes


def run(site, minutes, seed):
    with routed_hosts(site, routers=2) as hosts:
        soak = Soak(hosts, seed)
        has_answered(soak.nodes["client"], 1)
        began, warm = time.monotonic(), None
        while (passed := time.monotonic() - began) < minutes * 60:
            if warm is None and passed >= minutes * 20:
                warm = soak.resident()
            time.sleep(BETWEEN_FAULTS_S * (0.5 + soak.random.random()))
            which, took = soak.fault()
            print(f"{passed:6.0f} s  {which}: traffic went on after {took:.1f} s; resident {soak.resident()} KiB", flush=True)
        soak.both_ways()
        now = soak.resident()
        warm = warm or now  # too short to have had a third of its own
        r1 = soak.nodes["r1"]
        print(f"descriptors of r1: {descriptors(r1)}")
        words = {name: last_words(soak.nodes[name]) for name in ("client", "server")}
        eventually("all buffers of r1 are home", lambda: buffers_home(r1))
        total, causes = drops(r1)
        print(f"faults: {dict(soak.faults)}\nclient: {words['client']}")
        print(f"server: {words['server']}, restarted ones before it: {dict(soak.ended)}\nr1 dropped {total}: {dict(causes)}")
        print(f"resident, KiB: {warm} after a third, {now} at the end")
        assert total == sum(causes.values()), "every drop has a cause"
        for name, before in warm.items():
            assert now[name] <= before * GROWTH_MAX, f"{name} has grown"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path, help="build tree whose programs to run")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the order of faults")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plnet-programs-") as folder:
        copy_programs(arguments.build.resolve(), pathlib.Path(folder))
        site = Site(pathlib.Path(folder))
        try:
            run(site, arguments.minutes, arguments.seed)
        except Exception:
            print(site.logs(), file=sys.stderr)
            raise
        finally:
            site.close()
    print("soak: passed")


if __name__ == "__main__":
    main()
