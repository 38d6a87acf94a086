# SPDX-License-Identifier: BSD-3-Clause
"""LNet selftest over o2ib beside perftest's ib_write_bw, between the same two guests, in turn.

Guests are emulated: rates say nothing of an adapter, only their ratio is reported.
"""
import shutil
import statistics

from guest_nodes import nid, ready
from guest_selftest import measured, test_node
from guests import ADDRESSES, BOOT
from site_under_test import Skip

PROGRAM = "ib_write_bw"
MIB = 1 << 20
ITERATIONS = 200
SECONDS = 4  # of each selftest
CONCURRENCY = 8
CALL_TIMEOUT_S = 300
BAR = ">= 0.90"  # for people: nothing fails by it
TESTS = ("read", "write")


def perftest_mibps(guests):
    """Average of ib_write_bw with messages of 1 MiB, from guest a to guest b."""
    words = (PROGRAM, "-R", "-F", "-s", MIB, "-n", ITERATIONS)
    server = guests["b"].ask("start", words=[str(word) for word in words], log="/tmp/perftest.log")
    # The client does not try again: the server listens when the connection manager knows its identifier.
    listens = "for i in $(seq 300); do rdma resource show cm_id | grep -q 'state LISTEN.*comm ib_write_bw' && exit 0; sleep 0.2; done; exit 1"
    guests["b"].must("sh", "-c", listens, timeout_s=CALL_TIMEOUT_S)
    said = guests["a"].must(*words, ADDRESSES["b"], timeout_s=CALL_TIMEOUT_S)
    guests["b"].ask("wait", CALL_TIMEOUT_S + 10, pid=server["pid"], limit_s=CALL_TIMEOUT_S)
    (row,) = [line.split() for line in said.splitlines() if line.split()[:2] == [str(MIB), str(ITERATIONS)]]
    return float(row[3])


def selftest_mibps(site, number, test):
    """Nodes sleep when idle: the emulated CPUs and adapters of both guests share the CPUs of this machine, and a node that
    polls without work takes them from the adapter of the other guest. The server of ib_write_bw sleeps, too."""
    nodes = ready(*(test_node(site, side, name=f"{side}-{test}-{number}", idle="sleep") for side in "ab"))
    report = measured(nodes[0], nid("a"), nid("b"), f"report-{test}-{number}", "--test", test, "--size", "1M", "--concurrency", str(CONCURRENCY),
                      "--check", "none", "--warmup", "1", "--duration", str(SECONDS), "--repeats", "1")
    for node in nodes:
        node.stop()
    (point,) = report["points"]
    assert point["errors"] == 0, point
    return point["throughput_mibps"]["median"]


def ratios(site, rounds):
    """By test: {"bench", "value": the median of selftest's rate over perftest's, "rounds"}."""
    if shutil.which(PROGRAM) is None:
        raise Skip(f"{PROGRAM} is not installed (package perftest)")
    guests, found = BOOT.pair(), {test: [] for test in TESTS}
    for number in range(rounds):
        base = perftest_mibps(guests)
        for test in TESTS:
            found[test].append(round(selftest_mibps(site, number, test) / base, 3))
    return [{"bench": f"o2ib.guests.{test}", "unit": "of ib_write_bw", "value": statistics.median(each), "rounds": each, "bar": BAR}
            for test, each in found.items()]
