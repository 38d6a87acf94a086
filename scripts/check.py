#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the stages of ./check, keeps each to its budget, counts test cases.

A test case counts once, however many builds it runs in: it failed if it failed anywhere, passed if it
passed somewhere, and was skipped if it ran nowhere.
"""
import argparse
import itertools
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from check_lib import fair_share, machine, tidy  # noqa: E402
from check_lib.results import Tally  # noqa: E402
from check_lib.trees import ROOT, UNITY, Tree  # noqa: E402

# End-to-end cases mostly wait, each file of them in a network namespace of its own.
E2E_PROCESSES = 2 * (os.cpu_count() or 2)

# The product that the end-to-end cases run, and tests that sanitizers disturb.
GCC = Tree("gcc", "g++", *UNITY, "-Doptimization=1")
# Tests are compiled without machine code: the gate runs them as clang compiles them.
GCC_TESTS = Tree("gcc-tests", "g++", *UNITY, "-Doptimization=1", "-Dcpp_args=-flto -fno-fat-lto-objects")
# Unit tests, fuzz targets, and clang's opinion of everything.
ASAN = Tree("asan", "clang++-19", *UNITY, "-Dfuzzers=true", "-Db_sanitize=address,undefined", "-Db_lundef=false",
            "-Dbuildtype=debugoptimized", "-Doptimization=1",
            "-Dcpp_args=-DPLNET_DEBUG_CHECKS -D_GLIBCXX_ASSERTIONS -fno-sanitize-recover=all -g1 "  # -g1: lines, not variables
            f"-fsanitize-ignorelist={ROOT}/scripts/check_lib/not_instrumented.txt")
TSAN = Tree("tsan", "clang++-19", *UNITY, "-Db_sanitize=thread", "-Db_lundef=false", "-Dbuildtype=debugoptimized",
            "-Doptimization=0", "-Dbenchmarks=false", "-Dcpp_args=-g1")  # runs for seconds, compiles for minutes
# Each source by itself: the product as users get it, tests and benchmarks as quickly as can be.
ALONE = Tree("alone", "g++", "-Dtests=false", "-Dbenchmarks=false")
ALONE_TESTS = Tree("alone-tests", "g++", "-Doptimization=0")
# Nothing is compiled here: clang-tidy reads the commands.
TIDY = Tree("tidy", "clang++-19", *UNITY, "-Doptimization=1", "-Dtests=false", "-Dbenchmarks=false")
TIDY_ALONE = Tree("tidy-alone", "clang++-19", "-Doptimization=1", "-Dtests=false", "-Dbenchmarks=false")

PRODUCT = ("lib", "drivers", "node", "apps")


class Stage:
    def __init__(self, name, budget_min, what, run, gate=True, quick=False, prepare=lambda: None):
        self.name, self.budget_min, self.what, self.run = name, budget_min, what, run
        self.gate, self.quick = gate, quick
        self.prepare = prepare  # begins to build what it needs, while the stage before it runs


def prepare_programs():
    GCC.build_ahead(GCC.targets(*PRODUCT))


def programs(tally):
    prepare_programs()
    GCC.run_suites(tally, "rules")
    GCC.build(tally, "programs", GCC.targets(*PRODUCT))


def run_programs(tally, suite):
    if GCC.build(tally, "programs", GCC.targets(*PRODUCT)):
        GCC.run_suites(tally, suite, processes=E2E_PROCESSES)


def e2e(tally):
    run_programs(tally, "e2e")


def all_of_asan():
    return ASAN.targets(*PRODUCT, "tests") + ASAN.targets("bench", objects=True)


def prepare_asan():
    ASAN.build_ahead(all_of_asan())


def asan(tally):
    if ASAN.build(tally, "everything", all_of_asan()):
        ASAN.run_suites(tally, "unit", "concurrent", "fuzz")


def prepare_gcc():
    GCC.build_ahead(GCC.programs_of_suite("plain"))


def gcc(tally):
    if GCC.build(tally, "plain tests", GCC.programs_of_suite("plain")):
        GCC_TESTS.build_ahead(GCC_TESTS.targets("tests", "bench", objects=True))  # the longest case runs alone
        GCC.run_suites(tally, "plain")
    GCC_TESTS.build(tally, "tests and benchmarks", GCC_TESTS.targets("tests", "bench", objects=True))


def prepare_tsan():
    TSAN.build_ahead(TSAN.programs_of_suite("concurrent"))


def tsan(tally):
    if TSAN.build(tally, "concurrent", TSAN.programs_of_suite("concurrent")):
        TSAN.run_suites(tally, "concurrent")


def unit(tally):
    if GCC.build(tally, "tests", GCC.targets(*PRODUCT, "tests")):
        GCC.run_suites(tally, "unit", "concurrent")


def sanitized(tally):
    if ASAN.build(tally, "slow tests", ASAN.programs_of_suite("slow")):
        ASAN.run_suites(tally, "slow")


def smoke(tally):
    run_programs(tally, "smoke")


def alone(tally):
    if ALONE.build(tally, "everything"):
        ALONE.run_suites(tally, "alone")
    ALONE_TESTS.build(tally, "tests and benchmarks", ALONE_TESTS.targets("tests", "bench", objects=True))


def tidied(tally):
    words = TIDY.configure() or TIDY_ALONE.configure()
    if words is not None:
        tally.say("build.tidy", words)
    else:
        tidy.tidy(tally, TIDY.path, TIDY_ALONE.path)


def search(tally):
    if ASAN.build(tally, "fuzz targets", ASAN.programs_of_suite("search")):
        ASAN.run_suites(tally, "search")


def soak(tally):
    run_programs(tally, "soak")


STAGES = [
    Stage("programs", 4, "rules of the tree; programs built with gcc", programs, quick=True),
    Stage("e2e", 6, "programs as a user runs them", e2e),
    Stage("asan", 12, "everything compiled with clang; unit and simulation tests under ASan and UBSan, fuzz corpora", asan,
          prepare=prepare_asan),
    Stage("gcc", 6, "tests and benchmarks compiled with gcc; cases that sanitizers leave out", gcc, prepare=prepare_gcc),
    Stage("tsan", 3, "concurrent tests under TSan", tsan, prepare=prepare_tsan),
    Stage("unit", 14, "unit and simulation tests with gcc; all seeds, a fifth of them in --quick", unit, gate=False, quick=True),
    Stage("slow", 3, "tests that the gate runs without sanitizers, under ASan and UBSan", sanitized, gate=False),
    Stage("smoke", 1, "end-to-end cases of a few files", smoke, gate=False, quick=True),
    Stage("alone", 45, "sources and headers each compiled alone, as users get them", alone, gate=False),
    Stage("tidy", 25, "clang-tidy over lib, drivers, node and apps", tidied, gate=False),
    Stage("search", 12, "fuzz targets search from their corpora", search, gate=False),
    Stage("soak", 12, "two routers under traffic and faults, for minutes", soak, gate=False),
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
    """What a stage took, of its budget."""

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
        if then is not None:
            then.prepare()
        stage.run(tally)
    return Took(stage, watch, sum(tally.counts().values()) - before)


def hold_to_budgets(took, tally):
    """A stage that is late fails, if the machine was quiet. Budgets are stretched for machines that compile more slowly."""
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
    # Builds beside a stage end with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if arguments.quick:
        os.environ["PLNET_FEW_SEEDS"] = "1"  # tests/mocks/seeds.hpp
    tally = Tally()
    try:
        stages = chosen(arguments)
        took = [run_stage(stage, then, tally) for stage, then in itertools.zip_longest(stages, stages[1:])]
    finally:
        for tree in (GCC, GCC_TESTS, ASAN, TSAN):
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
