#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Complete nodes with o2ib networks on real libibverbs and librdmacm: two emulated guests with rdma_rxe on one wire. They are
slow, so only `./check --all` runs these cases, beside those of the driver in cases/o2ib_guests.py, which the gate runs as
well."""
import argparse
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts")]
import run  # noqa: E402
from guest_nodes import (  # noqa: E402
    O2IB, SIDES, WAIT_S, TcpHost, goes_on, have_no_trouble, nid, ni_status, node, other, ready, rests, tcp, traffic)
from guests import BOOT  # noqa: E402
from site_under_test import eventually  # noqa: E402
from traffic_nodes import has_answered, is_clean, last_words  # noqa: E402


def case_all_sizes_and_a_cable_that_is_pulled(site):
    """PUTs and GETs of 0 B to 1 MiB both ways, each byte checked, before and after. The case does not use `ip link set down`:
    a management datagram sent meanwhile ends queue pair 1 of rdma_rxe (Linux 6.1), and connections fail until the device is
    made anew. Without a carrier the datagram is lost as on a wire."""
    guest = BOOT.pair()["b"]
    a, b = ready(traffic(site, "a", nid("b")), traffic(site, "b", nid("a"), shards=2))
    for each in (a, b):
        has_answered(each, 20, WAIT_S)
    guest.set_carrier(False)
    try:
        eventually("the NI is down", lambda: ni_status(b) == "down", WAIT_S)
    finally:
        guest.set_carrier(True)
    eventually("the NI is up", lambda: ni_status(b) == "up", WAIT_S)
    for each in (a, b):
        goes_on(each)
    for each in (a, b):
        words = last_words(each)
        assert words["delivered"] > 0 and words["served"] > 0, words


def case_a_device_that_is_removed_takes_its_nis_and_nothing_else(site):
    """The system removes rdma_rxe when it has no users: the node must release it."""
    guest = BOOT.pair()["b"]
    with TcpHost(guest) as host:
        a, b = ready(traffic(site, "a", nid("b")), traffic(site, "b", nets=(O2IB, tcp(host.ROUTER))))
        goes_on(a)
        guest.must("rdma", "link", "delete", "rxe0", timeout_s=WAIT_S)
        try:
            eventually("its NI is down", lambda: ni_status(b) == "down", WAIT_S)
            assert ni_status(b, "tcp") == "up"
            assert "its RDMA device was removed: `lnetctl net del`" in b.must("net", "show", "-v", "4"), b.must("net", "show", "-v", "4")
            assert "event=device_removed" in b.output(), b.output()
        finally:
            guest.must("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0")
        b.must("net", "del", "--net", "o2ib")
        b.must("net", "add", "--net", "o2ib", "--if", "eth0")
        assert ni_status(b) == "up"
        goes_on(a)
        is_clean(b)
        last_words(a)
        last_words(b)


def case_the_smallest_payloads(site):
    """PUTs and GETs of no byte and of one, both ways."""
    operations = 100
    a, b = ready(*(node(site, side, "lnet-traffic", "--window", "2", "--stay", "--bytes-max", "1", "--count", str(operations), "--to",
                        nid(other(side))) for side in SIDES))
    for each in (a, b):
        has_answered(each, operations, WAIT_S)
    for each in (a, b):
        rests(each)
        have_no_trouble(each)
        words = last_words(each, abandoned_max=0)
        assert words["failed"] == 0 and words["delivered"] > 0 and words["served"] > 0, words


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build tree whose programs to run")
    parser.add_argument("--tap", action="store_true", help="report for machines: the Test Anything Protocol")
    parser.add_argument("pattern", nargs="?", default="", help="only cases whose name contains this")
    arguments = parser.parse_args()
    arguments.slowest = 5
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    run.enter_own_network()
    chosen = [(f"o2ib_nodes.{name.removeprefix('case_')}", case) for name, case in globals().items()
              if name.startswith("case_") and arguments.pattern in name]
    with run.programs_of(arguments.build.resolve()) as folder:
        return run.run_cases(chosen, folder, arguments)


if __name__ == "__main__":
    sys.exit(main())
