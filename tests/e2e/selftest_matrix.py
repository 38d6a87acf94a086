#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every size and concurrency of read, write and ping, all bytes checked, between two hosts: directly, then through a router.

Not part of ./check, which runs a part of it (cases/selftest_matrix.py). Fails if any request failed or any byte was wrong.

  tests/e2e/selftest_matrix.py --build build/check-gcc [--seconds 2]
"""
import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from routed_hosts import RoutedHosts  # noqa: E402
from run import programs_of  # noqa: E402
from selftest_hosts import CONSOLE, FlatHosts, config, loses_session, selftest_hosts, start  # noqa: E402
from site_under_test import Site  # noqa: E402

WAYS = {"directly": FlatHosts, "through a router": RoutedHosts}
TESTS = ("read", "write", "ping")
SIZES = ("4k", "8k", "256k", "1M")
CONCURRENCIES = (1, 2, 4, 8)
KIB = {"4k": 4, "8k": 8, "256k": 256, "1M": 1024}


def nodes_of(hosts):
    """The client is the console as well, so its own latency is in the report."""
    router = []
    if not isinstance(hosts, FlatHosts):
        router = [hosts.node(CONSOLE, "--config", config(hosts, CONSOLE, shards=2), "--idle", "sleep", "--drain-timeout", "0")]
    return [*router, start(hosts, "server"), start(hosts, "client", "--instance", "client")]


def measure(hosts, sizes, concurrencies, seconds):
    """The report of `lnet-selftest run` on the client's host."""
    site, folder = hosts.site, hosts.site.path("matrix")
    points = len(TESTS) * len(sizes) * len(concurrencies)
    done = subprocess.run(
        ["ip", "netns", "exec", hosts.names["client"], site.program("lnet-selftest"), "run", "--run-dir", str(site.directory),
         "--instance", "client", "--lock-dir", str(site.lock_dir), "--report", str(folder), "--from", hosts.nid("client"), "--to",
         hosts.nid("server"), "--test", ",".join(TESTS), "--size", ",".join(sizes), "--concurrency",
         ",".join(str(each) for each in concurrencies), "--check", "full", "--warmup", "0", "--duration", str(seconds), "--repeats", "1",
         "--max-errors", "0"],
        capture_output=True, text=True, timeout=60 + points * (20 + seconds), stdin=subprocess.DEVNULL, cwd=site.directory)
    assert done.returncode == 0, f"lnet-selftest run: {done.returncode}\n{done.stdout}{done.stderr}"
    return json.loads((folder / "report.json").read_text())


def expect_whole(report, sizes, concurrencies):
    """Every point exists once, moved the reported bytes, and had no failures."""
    assert report["complete"], report["failure"]
    bulk = {(test, KIB[size] * 1024, each) for test in ("read", "write") for size in sizes for each in concurrencies}
    pings = {("ping", 0, each) for each in concurrencies}
    points = report["points"]
    assert {(each["test"], each["size"], each["concurrency"]) for each in points} == bulk | pings, points
    assert len(points) == len(bulk | pings)
    for point in points:
        rate = point["rpc_rate"]["median"]
        assert point["errors"] == 0 and rate > 0, point
        # Rates are measured over whole seconds of the nodes' clocks: half of the rate is a safe
        # bound.
        assert point["throughput_mibps"]["median"] * 1048576 >= 0.5 * rate * point["size"], point
        assert point["repeats"][0]["latency_us"]["p99"] > 0, point


def run_matrix(site, kind, sizes, concurrencies, seconds):
    with selftest_hosts(site, kind) as hosts:
        nodes = nodes_of(hosts)
        report = measure(hosts, sizes, concurrencies, seconds)
        expect_whole(report, sizes, concurrencies)
        for node in nodes[-2:]:
            loses_session(node)
        return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path, help="build tree whose programs to run")
    parser.add_argument("--seconds", type=int, default=2, help="of each point")
    arguments = parser.parse_args()
    with programs_of(arguments.build.resolve()) as folder:
        for way, kind in WAYS.items():
            site = Site(folder)
            try:
                report = run_matrix(site, kind, SIZES, CONCURRENCIES, arguments.seconds)
            except Exception:
                print(site.logs(), file=sys.stderr)
                raise
            finally:
                site.close()
            print(f"\n{way}: {len(report['points'])} points, no error, all bytes checked")
            print(f"{'test':6} {'size':>8} {'concurrency':>11} {'MiB/s':>9} {'RPC/s':>9} {'p50 us':>8} {'p99 us':>8}")
            for point in report["points"]:
                latency = point["repeats"][0]["latency_us"]
                print(f"{point['test']:6} {point['size']:8} {point['concurrency']:11} {point['throughput_mibps']['median']:9.1f} "
                      f"{point['rpc_rate']['median']:9.0f} {latency['p50']:8.0f} {latency['p99']:8.0f}")


if __name__ == "__main__":
    main()
