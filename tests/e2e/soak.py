#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A client, a server and two routers under traffic for minutes, with one fault after the other. Not part of ./check.

Every operation is accounted for and every byte is checked. The run waits between two faults until the effects of the first
one are visible, so that each fault is judged separately. It fails also if a node that was not killed drops a message for a
cause that the fault does not explain; if more operations fail than were in flight during the fault; if one fails across a
drained restart; if a message is dropped or an operation fails without a fault; or if a process grows. r1 runs from beginning
to end. The run ends with its figures.

  tests/e2e/soak.py --build build/check-gcc [--minutes 10] [--seed 1]
"""
import argparse
import collections
import pathlib
import random
import re
import signal
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from drops import HOP_AWAY, NOT_YET_OPEN, OTHER_AWAY, ROUTER_AWAY, drop_count, drops  # noqa: E402
from process_watch import descriptors, resident_kib  # noqa: E402
from routed_hosts import WINDOW, buffers_home, routed_hosts, start  # noqa: E402
from run import programs_of  # noqa: E402
from site_under_test import Site, eventually  # noqa: E402
from traffic_nodes import IMPATIENT, TRANSACTION_S, count, has_answered, is_clean, last_words  # noqa: E402

OPTIONS = IMPATIENT + "options lnet alive_router_check_interval=1 router_ping_timeout=4\n"
SHARDS = 2
UNDER_WAY = WINDOW * SHARDS  # of a node
BETWEEN_FAULTS_S = 3
HEALS_WITHIN_S = 90
GROWTH_MAX = 1.05
LIFE_MIN_S = 60  # memory of shorter lives is still growing
RUN_KIB = 640  # memory of lnet-traffic for each run that puts to it: one for each shard of each
               # life of the other side

# Causes of drops that a fault explains: at the affected router, at other routers, at the ends.
ALL_ROUTERS, ONE_ROUTER = {"hit": HOP_AWAY, "router": HOP_AWAY}, {"hit": HOP_AWAY, "router": set(), "end": ROUTER_AWAY}
EXPLAINS = {
    "start": ALL_ROUTERS | {"end": ROUTER_AWAY},
    "nothing": {"router": set(), "end": set()},
    "r0_is_killed": {"hit": set(), "router": set(), "end": ROUTER_AWAY},
    "r0_is_drained_and_restarted": {"hit": set(), "router": set(), "end": set()},
    "server_is_killed": ALL_ROUTERS | {"end": OTHER_AWAY},
    "server_is_restarted": ALL_ROUTERS | {"end": OTHER_AWAY},
    "client_is_killed": ALL_ROUTERS | {"end": OTHER_AWAY},
    "a_link_of_a_router_is_cut": ONE_ROUTER,
    "a_router_is_frozen": ONE_ROUTER,
}


class Standstill:
    """Detects that the machine stood still for longer than the timeouts of nodes: failures prove nothing then."""

    LONGEST_S = 2

    def __init__(self):
        self.longest = 0.0
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        before = time.monotonic()
        while True:
            time.sleep(0.1)
            now = time.monotonic()
            self.longest = max(self.longest, now - before)
            before = now

    def take(self):
        longest, self.longest = self.longest, 0.0
        return longest if longest > self.LONGEST_S else 0.0


class Life:
    """One process of a node."""

    def __init__(self, node, kind, began):
        self.node, self.kind, self.began = node, kind, began
        self.accounted = None  # explained drops by cause; None: new
        self.has_begun = False
        self.failed_before = 0  # failures before all were running
        self.sizes = []  # (time, KiB, allowed growth)

    def drops(self):
        """(drop_count, causes by name)"""
        return drop_count(self.node), drops(self.node)

    def holds_to_account(self, by, hit=False, is_judged=True):
        """Judges its drops since the previous call."""
        total, causes = self.drops()
        explained = EXPLAINS[by]["hit" if hit else self.kind]
        if self.accounted is None and self.kind == "end":
            explained = explained | NOT_YET_OPEN
        unexplained = {row: n for row, n in (causes - (self.accounted or collections.Counter())).items() if row not in explained}
        assert not is_judged or not unexplained, f"{self.node.name}: {by} does not explain {unexplained}"
        if self.kind == "router":
            assert total == sum(causes.values()), f"{self.node.name}: every drop has a cause: {total}, {dict(causes)}"
        self.accounted = causes

    def has_not_grown(self):
        now = self.sizes[-1][0] if self.sizes else 0
        if now - self.began < LIFE_MIN_S:
            return
        warm = next(size for size in self.sizes if size[0] - self.began >= (now - self.began) / 3)
        before, after = warm[1] + self.sizes[-1][2] - warm[2], self.sizes[-1][1]
        assert after <= before * GROWTH_MAX, f"{self.node.name} has grown: {before} KiB, then {after} KiB"


class Soak:
    def __init__(self, hosts, seed):
        self.hosts, self.random = hosts, random.Random(seed)
        self.lives = collections.Counter()
        self.alive = {}
        self.faults = collections.Counter()
        self.failed = collections.Counter()  # of earlier lives
        self.accounted = {"client": 0, "server": 0}  # explained failures
        self.ended = collections.Counter()  # final counts of restarted servers
        self.dropped = collections.Counter()  # of drained routers
        self.standstill, self.stood_still = Standstill(), 0
        self.healed = time.monotonic()
        for name in [*hosts.routers, "server", "client"]:
            self.begin(name)
        self.is_whole()
        self.rests()
        self.holds_to_account("start", allowed=UNDER_WAY)

    def node(self, name):
        return self.alive[name].node

    def begin(self, name):
        other = {"client": "server", "server": "client"}.get(name)
        more = ("--to", self.hosts.nid(other)) if other else ("--drain-timeout", "15")
        self.lives[name] += 1
        node = start(self.hosts, name, *more, shards=SHARDS, options=OPTIONS, life=f"-{self.lives[name]}")
        self.alive[name] = Life(node, "end" if other else "router", time.monotonic())

    def end(self, name):
        """Its final counts; the next life begins at zero."""
        life = self.alive[name]
        life.holds_to_account("nothing")
        life.has_not_grown()
        if life.kind == "end":
            self.failed[name] += count(life.node, "failed") - life.failed_before
        return life.node

    def kill(self, name):
        self.end(name).stop(signal.SIGKILL)
        time.sleep(self.random.random() * 2)
        self.begin(name)

    def r0_is_killed(self):
        self.kill("r0")

    def server_is_killed(self):
        self.kill("server")

    def client_is_killed(self):
        self.kill("client")

    def r0_is_drained_and_restarted(self):
        router = self.end("r0")
        self.dropped.update(self.alive["r0"].drops()[1])
        assert router.stop(signal.SIGTERM) == 0, router.output()
        assert re.search("event=drained cut_off=0 not_acknowledged=0 unsent=0", router.output()), router.output()
        self.begin("r0")

    def server_is_restarted(self):
        server = self.end("server")
        self.ended.update(last_words(server))
        self.begin("server")

    def a_link_of_a_router_is_cut(self):
        name, net = self.random.choice(self.hosts.routers), self.random.randrange(2)
        self.hosts.link(name, net, "down")
        time.sleep(self.random.random() * 4)
        self.hosts.link(name, net, "up")
        return name

    def a_router_is_frozen(self):
        name = self.random.choice(self.hosts.routers)
        process = self.node(name).process
        process.send_signal(signal.SIGSTOP)
        time.sleep(self.random.random() * 6)
        process.send_signal(signal.SIGCONT)
        return name

    FAULTS = (r0_is_killed, r0_is_drained_and_restarted, server_is_killed, server_is_restarted, client_is_killed,
              a_link_of_a_router_is_cut, a_router_is_frozen)

    def fault(self):
        which = self.random.choice(self.FAULTS)
        name = which.__name__
        self.faults[name] += 1
        self.holds_to_account("nothing")
        began = time.monotonic()
        hit = which(self) or "r0"
        self.is_whole()
        took = self.healed - began
        self.rests()
        # Each operation in flight may be lost, and so may its successors, once in each transaction
        # timeout.
        allowed = 0 if "drained" in name else UNDER_WAY * (1 + int(took // TRANSACTION_S))
        lost = self.holds_to_account(name, hit, allowed)
        self.look()
        return name, took, lost

    def holds_to_account(self, name, hit=None, allowed=0):
        """Judges all drops and failures since the previous call. Returns the number of failures."""
        failures = self.failures()
        lost = {end: failed - self.accounted[end] for end, failed in failures.items()}
        if stood := self.standstill.take():
            print(f"the machine stood still for {stood:.1f} s: {name} is not held to account; failed {lost}", flush=True)
            self.stood_still += 1
        for each, life in self.alive.items():
            life.holds_to_account(name, each == hit, not stood)
        assert stood or all(failed <= allowed for failed in lost.values()), f"{name}: failed {lost}, {allowed} of each may have"
        self.accounted = failures
        return lost

    def failures(self):
        return {name: self.failed[name] + count(self.node(name), "failed") - self.alive[name].failed_before
                for name in ("client", "server")}

    def rests(self):
        """All effects of a fault are visible."""
        time.sleep(max(0.0, self.healed + TRANSACTION_S + 3 - time.monotonic()))

    def is_whole(self):
        """Both ends use both routers and get answers."""
        def all_up(node):
            rows = node.json("route", "show", "-v")["route"]
            return len(rows) == 2 and all(row["state"] == "up" for row in rows)
        for name in ("client", "server"):
            life = self.alive[name]
            eventually(f"{name} goes by both routers", lambda: all_up(life.node), HEALS_WITHIN_S)
            has_answered(life.node, count(life.node, "answered") + 50, HEALS_WITHIN_S)
            if not life.has_begun:
                life.has_begun, life.failed_before = True, count(life.node, "failed")
        self.healed = time.monotonic()

    def look(self):
        for name, life in self.alive.items():
            others = self.lives[{"client": "server", "server": "client"}.get(name)] if life.kind == "end" else 0
            life.sizes.append((time.monotonic(), resident_kib(life.node), others * SHARDS * RUN_KIB))
            if life.kind == "end":
                is_clean(life.node)

    def resident(self):
        return {name: resident_kib(life.node) for name, life in self.alive.items()}


def run(site, minutes, seed):
    with routed_hosts(site, routers=2) as hosts:
        soak = Soak(hosts, seed)
        began, warm = time.monotonic(), None
        while (passed := time.monotonic() - began) < minutes * 60:
            if warm is None and passed >= minutes * 60 * 0.3:
                warm = soak.resident()
            time.sleep(BETWEEN_FAULTS_S * (0.5 + soak.random.random()))
            which, took, lost = soak.fault()
            print(f"{passed:6.0f} s  {which}: whole after {took:.1f} s; failed {lost}; resident {soak.resident()} KiB", flush=True)
        soak.rests()
        soak.holds_to_account("nothing")
        now, failures = soak.resident(), soak.failures()
        r1 = soak.alive["r1"]
        print(f"descriptors of r1: {descriptors(r1.node)}")
        soak.look()
        for life in soak.alive.values():
            life.has_not_grown()
        words = {name: last_words(soak.node(name)) for name in ("client", "server")}
        eventually("all buffers of r1 are home", lambda: buffers_home(r1.node))
        total, causes = r1.drops()
        print(f"seed {seed}, faults: {dict(soak.faults)}, {sum(soak.faults.values())} in all\nlast client: {words['client']}")
        print(f"last server: {words['server']}, restarted ones before it: {dict(soak.ended)}")
        print(f"failed, all lives: {failures}; the machine stood still {soak.stood_still} times")
        print(f"r1 dropped {total}: {dict(causes)}; forwarded {r1.node.json('stats', 'show')['statistics']['route_count']}")
        print(f"drained r0 had dropped: {dict(soak.dropped)}")
        print(f"resident, KiB: {warm} after three tenths, {now} at the end")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path, help="build tree whose programs to run")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the order of faults")
    arguments = parser.parse_args()
    with programs_of(arguments.build.resolve()) as folder:
        site = Site(folder)
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
