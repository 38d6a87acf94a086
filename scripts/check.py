#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the stages of ./check, compares each with its budget, and counts test cases. A test case counts once over all builds:
it failed if it failed in any build, passed if it passed in one, and was skipped if it ran in none."""
import argparse
import itertools
import os
import pathlib
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from check_lib import fair_share, machine, tidy  # noqa: E402
from check_lib.results import Tally  # noqa: E402
from check_lib.trees import ROOT, UNITY, Tree  # noqa: E402

# End-to-end cases mostly wait; each file of cases runs in its own network namespace.
E2E_PROCESSES = 2 * (os.cpu_count() or 2)

# The product for the end-to-end cases, and tests that sanitizers disturb.
GCC = Tree("gcc", "g++", *UNITY, "-Doptimization=1")
# Tests are compiled without machine code: the gate runs them as clang compiles them.
GCC_TESTS = Tree("gcc-tests", "g++", *UNITY, "-Doptimization=1", "-Dcpp_args=-flto -fno-fat-lto-objects")
# Unit tests, fuzz targets, and clang's warnings for everything.
ASAN = Tree("asan", "clang++-19", *UNITY, "-Dfuzzers=true", "-Db_sanitize=address,undefined", "-Db_lundef=false",
            "-Dbuildtype=debugoptimized", "-Doptimization=1",
            "-Dcpp_args=-DPLNET_DEBUG_CHECKS -D_GLIBCXX_ASSERTIONS -fno-sanitize-recover=all -g1 "  # -g1: lines, not variables
            f"-fsanitize-ignorelist={ROOT}/scripts/check_lib/not_instrumented.txt")
TSAN = Tree("tsan", "clang++-19", *UNITY, "-Db_sanitize=thread", "-Db_lundef=false", "-Dbuildtype=debugoptimized",
            "-Doptimization=0", "-Dbenchmarks=false", "-Dcpp_args=-g1")  # compiles longer than it runs
# Each source alone: the product as users build it, tests and benchmarks with the fastest settings.
ALONE = Tree("alone", "g++", "-Dtests=false", "-Dbenchmarks=false")
ALONE_TESTS = Tree("alone-tests", "g++", "-Doptimization=0")
# Tests compiled as users' programs are: -O3 and optimisation at link time.
USERS = Tree("users", "g++", *UNITY, "-Db_lto=true", "-Dbenchmarks=false")
# Only generated headers are built here: clang-tidy reads the commands.
TIDY = Tree("tidy", "clang++-19", *UNITY, "-Doptimization=1", "-Dtests=false", "-Dbenchmarks=false")
TIDY_ALONE = Tree("tidy-alone", "clang++-19", "-Doptimization=1", "-Dtests=false", "-Dbenchmarks=false")

PRODUCT = ("lib", "drivers", "node", "apps")


class Job:
    """Builds targets of a tree, then runs suites of tests in it."""

    def __init__(self, tree, built="", targets=lambda tree: (), suites=(), processes=None):
        self.tree, self.built, self.targets, self.suites, self.processes = tree, built, targets, suites, processes

    def build_ahead(self):
        self.tree.build_ahead(self.targets(self.tree))

    def run(self, tally, then):
        """Builds `then`, the next job, ahead while tests run, since they leave CPUs idle."""
        if self.built and not self.tree.build(tally, self.built, self.targets(self.tree)):
            return
        if then is not None:
            then.build_ahead()
        if self.suites:
            self.tree.run_suites(tally, *self.suites, processes=self.processes)


class SearchJob(Job):
    def run(self, tally, then):
        """Fixed runs use a fixed seed and begin with the corpus alone."""
        for leftover in self.tree.path.glob("tests/fuzz/*.runs"):
            shutil.rmtree(leftover)
        super().run(tally, then)


class TidyJob:
    def build_ahead(self):
        pass

    def run(self, tally, _):
        for tree in (TIDY, TIDY_ALONE):
            headers = tree.generated_headers()
            if headers and not tree.build(tally, "generated headers", headers):
                return
        tidy.tidy(tally, TIDY.path, TIDY_ALONE.path)


class Stage:
    def __init__(self, name, budget_min, what, *jobs, gate=True, quick=False):
        self.name, self.budget_min, self.what, self.jobs = name, budget_min, what, jobs
        self.gate, self.quick = gate, quick


def product(tree):
    return tree.targets(*PRODUCT)


def product_and_guests(tree):
    """Also builds the test that end-to-end cases run in guests."""
    return tree.targets(*PRODUCT, "tests/unit/drivers/mlx")


def product_and_tests(tree):
    return tree.targets(*PRODUCT, "tests")


def objects_of_tests(tree):
    return tree.targets("tests", "bench", objects=True)


def everything(tree):
    return product_and_tests(tree) + tree.targets("bench", objects=True)


def programs_of(suite):
    return lambda tree: tree.programs_of_suite(suite)


def end_to_end(suite):
    return Job(GCC, "programs", product_and_guests, [suite], processes=E2E_PROCESSES)


STAGES = [
    Stage("programs", 4, "rules of the tree; programs built with gcc", Job(GCC, suites=["rules"]), Job(GCC, "programs", product),
          quick=True),
    Stage("e2e", 7, "programs as a user runs them", end_to_end("e2e")),
    Stage("asan", 12, "everything compiled with clang; unit and simulation tests under ASan and UBSan, fuzz corpora",
          Job(ASAN, "everything", everything, ["unit", "concurrent", "fuzz"])),
    Stage("gcc", 6, "tests and benchmarks compiled with gcc; cases that sanitizers leave out",
          Job(GCC, "plain tests", programs_of("plain"), ["plain"]), Job(GCC_TESTS, "tests and benchmarks", objects_of_tests)),
    Stage("tsan", 3, "concurrent tests under TSan", Job(TSAN, "concurrent", programs_of("concurrent"), ["concurrent"])),
    Stage("unit", 14, "unit and simulation tests with gcc; all seeds, a fifth of them in --quick",
          Job(GCC, "tests", product_and_tests, ["unit", "concurrent"]), gate=False, quick=True),
    Stage("slow", 3, "tests that the gate runs without sanitizers, under ASan and UBSan",
          Job(ASAN, "slow tests", programs_of("slow"), ["slow"]), gate=False),
    Stage("users", 20, "unit and simulation tests, compiled as users get the programs",
          Job(USERS, "tests", product_and_tests, ["unit"]), gate=False),
    Stage("smoke", 1, "end-to-end cases of a few files", end_to_end("smoke"), gate=False, quick=True),
    Stage("alone", 45, "sources and headers each compiled alone, as users get them",
          Job(ALONE, "everything", lambda _: (), ["alone"]), Job(ALONE_TESTS, "tests and benchmarks", objects_of_tests), gate=False),
    Stage("tidy", 25, "clang-tidy over lib, drivers, node and apps", TidyJob(), gate=False),
    Stage("search", 12, "fuzz targets search from their corpora", SearchJob(ASAN, "fuzz targets", programs_of("search"), ["search"]),
          gate=False),
    Stage("soak", 20, "two routers under traffic and faults, for minutes; o2ib nodes in emulated guests", end_to_end("soak"), gate=False),
    # Not beside the soak: it measures CPU time, and an emulated machine is slow already.
    Stage("pin", 15, "lnet-pin finds a planted effect here and in a guest with two NUMA nodes; CPU time of its harness",
          Job(GCC, "programs", product, ["pin"], processes=1), gate=False),
]


def parse():
    parser = argparse.ArgumentParser(prog="./check", description="Install, build and run the tests of plnet.")
    parser.add_argument("stages", nargs="*", help="only these stages (see --list)")
    parser.add_argument("--quick", action="store_true", help="for daily work: " + names(s for s in STAGES if s.quick))
    parser.add_argument("--all", action="store_true", help="also what repeats: " + names(s for s in STAGES if not s.gate))
    parser.add_argument("--list", action="store_true", help="name the stages with their budgets and stop")
    arguments = parser.parse_args()
    unknown = [s for s in arguments.stages if s not in {stage.name for stage in STAGES}]
    if unknown:
        parser.error(f"no stage named {', '.join(unknown)}; there are: {names(STAGES)}")
    return arguments


def names(stages):
    return ", ".join(stage.name for stage in stages)


def chosen(arguments):
    if arguments.stages:
        return [s for s in STAGES if s.name in arguments.stages]
    if arguments.all:
        return STAGES
    return [s for s in STAGES if (s.quick if arguments.quick else s.gate)]


class Took:
    """The duration of a stage, and its budget."""

    def __init__(self, stage, watch, cases):
        self.stage, self.cases = stage, cases
        self.minutes, self.is_disturbed = watch.seconds / 60, watch.disturbance > machine.DISTURBED
        self.is_over = self.minutes > stage.budget_min

    def line(self):
        remark = "  OVER BUDGET" if self.is_over else ""
        remark += "  (others used the machine, too)" if self.is_disturbed else ""
        return f"{self.stage.name:8} {self.minutes:6.1f} {self.stage.budget_min:6} min  {self.cases} cases{remark}"


def run_stage(stage, then, tally):
    print(f"\n== {stage.name}: {stage.what} (budget {stage.budget_min} min)", flush=True)
    before = sum(tally.counts().values())
    with machine.watched() as watch, fair_share.between_all():
        for job, next_job in itertools.zip_longest(stage.jobs, [*stage.jobs[1:], then.jobs[0] if then else None]):
            job.run(tally, next_job)
    return Took(stage, watch, sum(tally.counts().values()) - before)


def hold_to_budgets(took, tally):
    """A late stage fails if the machine was quiet. Budgets are extended on machines that compile more slowly."""
    slowness = machine.slowness()
    print(f"this machine compiles {slowness:.2f} times as long as the one that budgets are for")
    for each in took:
        if each.minutes > each.stage.budget_min * slowness and not each.is_disturbed:
            tally.say(f"budget.{each.stage.name}", f"{each.minutes:.1f} of {each.stage.budget_min * slowness:.1f} minutes")


def main():
    os.chdir(ROOT)
    arguments = parse()
    if arguments.list:
        for stage in STAGES:
            print(f"{stage.name:8} {stage.budget_min:3} min  {'gate' if stage.gate else '--all':5}  {stage.what}")
        return 0
    # Background builds end with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if arguments.quick:
        os.environ["PLNET_FEW_SEEDS"] = "1"  # tests/mocks/seeds.hpp
    tally = Tally()
    try:
        stages = chosen(arguments)
        took = [run_stage(stage, then, tally) for stage, then in itertools.zip_longest(stages, stages[1:])]
    finally:
        for tree in (GCC, GCC_TESTS, ASAN, TSAN, ALONE, ALONE_TESTS):
            tree.end_ahead()
    print("\nstage      took  budget  ran")
    for each in took:
        print(each.line())
    print(f"total    {sum(each.minutes for each in took):6.1f} {sum(each.stage.budget_min for each in took):6} min\n")
    if arguments.all:
        hold_to_budgets(took, tally)
    tally.print_details()
    print(tally.line(), flush=True)
    return 1 if tally.failed() or not tally.passed() else 0


if __name__ == "__main__":
    sys.exit(main())
