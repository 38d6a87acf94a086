#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`lnet-pin` on this machine: a poller that shares its CPU with a busy loop ranks last, and the CPU cost of measuring. It
takes minutes, so it is not part of the gate.

Both results are ratios within one sweep: other load on the machine slows every placement alike. If other processes use most
of the CPUs, one more busy loop has little effect and nodes get little to do: a missed figure is not a failure then.
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys

import run
from check_lib import machine
from site_under_test import Skip

RUN_TIMEOUT_S = 1500
OVERHEAD_MAX_PERCENT = 1
OTHERS_MAX = 0.5  # of all CPUs
EFFECT = """
name: effect
measured: server
workload: {networks: tcp, test: write, size: 64k, concurrency: 8, warmup: 300ms, duration: 1s}
rounds: {least: 12, most: 12}
steal_max: 100
factors: {neighbour: [none, busy]}
"""
# A sweep with the default durations.
OVERHEAD = """
name: overhead
measured: server
workload: {networks: tcp, test: write, size: 1M, concurrency: 8}
rounds: {least: 8, most: 8}
steal_max: 100
"""


def sweep(site, text):
    """The report of a sweep."""
    if os.geteuid() != 0:
        raise Skip("needs root for network namespaces")
    results = site.path("results")
    words = [site.program("lnet-pin"), "run", site.write("sweep.yaml", text), "--results", results, "--state", site.path("state"),
             "--programs", pathlib.Path(site.program("lnet-pin")).parent]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=RUN_TIMEOUT_S, stdin=subprocess.DEVNULL,
                          cwd=site.directory)
    if done.returncode != 0:  # only for missed figures
        raise RuntimeError(f"{done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads((pathlib.Path(results) / "report.json").read_text())


def percent_text(interval):
    return f"{interval['estimate']:.1f} % ({interval['low']:.1f} to {interval['high']:.1f})"


@contextlib.contextmanager
def unless_others_have_the_cpus():
    """Skips missed figures if other processes or the hypervisor had most of the CPUs."""
    missed = None
    with machine.watched() as watch:
        try:
            yield
        except AssertionError as error:
            missed = error
    if missed is not None and watch.disturbance > OTHERS_MAX:
        raise Skip(f"others had {watch.disturbance * 100:.0f} % of the CPUs: {str(missed)[:300]}")
    if missed is not None:
        raise missed


def case_a_busy_neighbour_ranks_last(site):
    if len(os.sched_getaffinity(0)) < 2:
        raise Skip("needs two CPUs")
    with unless_others_have_the_cpus():
        ranking = sweep(site, EFFECT)["aims"]["throughput"]["placements"]
        versus = next(each["versus_baseline"] for each in ranking if "versus_baseline" in each)
        print(f"# a busy neighbour changes the throughput by {percent_text(versus['percent'])}: {versus['verdict']}", flush=True)
        assert [each["placement"] for each in ranking] == ["p0", "p1"], percent_text(versus["percent"])
        assert versus["verdict"] == "lower" and versus["percent"]["high"] < 0, percent_text(versus["percent"])


def case_overhead(site):
    with unless_others_have_the_cpus():
        percent = sweep(site, OVERHEAD)["overhead_percent"]
        print(f"# pin.overhead: {percent:.2f} % of the placed node's CPU time", flush=True)
        assert 0 < percent < OVERHEAD_MAX_PERCENT, f"{percent:.2f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build tree whose programs to run")
    parser.add_argument("--tap", action="store_true", help="report for machines: the Test Anything Protocol")
    parser.set_defaults(slowest=0)
    arguments = parser.parse_args()
    run.enter_own_network()
    with run.programs_of(arguments.build.resolve()) as folder:
        return run.run_cases([("pin_real.a_busy_neighbour_ranks_last", case_a_busy_neighbour_ranks_last), ("pin_real.overhead", case_overhead)],
                             folder, arguments)


if __name__ == "__main__":
    sys.exit(main())
