#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the stages of ./check, keeps each to its budget, counts test cases.

A test case counts once, however many builds it runs in: it failed if it failed anywhere, passed if it
passed somewhere, and was skipped if it ran nowhere.
"""
import argparse
import contextlib
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from check_lib import builds, fair_share, results  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Stage:
    def __init__(self, name, budget_min, what, run, quick, ahead=None):
        self.name, self.budget_min, self.what, self.run, self.quick = name, budget_min, what, run, quick
        self.ahead = ahead  # a stage whose build begins beside this one, which mostly waits


def beside(stage, stages):
    """What runs while a stage does."""
    return AHEAD[stage.ahead]() if stage.ahead in [s.name for s in stages] else contextlib.nullcontext()


def rules(tally):
    builds.run_case(tally, "rules.layers", ["scripts/check_layers.py"])
    builds.run_case(tally, "rules.style", ["scripts/check_style.py"])
    builds.run_case(tally, "rules.headers_compile_alone", ["scripts/check_headers.py", "g++"])
    builds.run_case(tally, "rules.clang_format", ["scripts/check_format.sh"])
    builds.run_case(tally, "rules.missing_library", ["scripts/check_missing_library.sh"])


# Several sources go through the compiler as one: most of its time goes into the headers that they share. That each of lib
# and drivers compiles by itself the stage gcc sees; of the programs whoever builds without unity.
UNITY = ["-Dunity=on", "-Dunity_size=30"]
GCC_OPTIONS = [*UNITY, "-Dunity_layers=false"]


def gcc(tally):
    if builds.build(tally, "gcc", "g++", GCC_OPTIONS):
        builds.run_tests(tally, "gcc", [])


# For clang's opinion, not for speed. Programs, libraries and tests are built with clang by the stage asan.
CLANG_OPTIONS = ["-Doptimization=1", "-Dtests=false"]


def clang(tally):
    return builds.build(tally, "clang", "clang++-19", CLANG_OPTIONS, lambda tree: builds.objects_below(tree, "bench"))


# The fuzz targets want the same instrumented libraries, so one tree serves both stages.
ASAN_OPTIONS = [*UNITY, "-Dfuzzers=true", "-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dbuildtype=debugoptimized",
                "-Doptimization=1", "-Dbenchmarks=false",
                "-Dcpp_args=-DPLNET_DEBUG_CHECKS -fno-sanitize-recover=all -g1"]  # lines, not variables


def asan_ahead():
    return builds.built_ahead("asan", "clang++-19", ASAN_OPTIONS)


def asan(tally):
    if builds.build(tally, "asan", "clang++-19", ASAN_OPTIONS):
        builds.run_tests(tally, "asan", [])


def tsan(tally):
    options = [*UNITY, "-Db_sanitize=thread", "-Db_lundef=false", "-Dbuildtype=debugoptimized", "-Doptimization=0",
               "-Dbenchmarks=false", "-Dcpp_args=-g1"]  # runs for seconds, compiles for minutes
    if builds.build(tally, "tsan", "clang++-19", options, lambda tree: builds.tests_of_suite(tree, "concurrent")):
        builds.run_tests(tally, "tsan", ["--suite", "concurrent"])


# Nothing is compiled here: what clang-tidy reads are the commands.
# Programs on demand: they would more than double its time.
TIDY_ROOMS = ("lib/", "drivers/", "apps/") if os.environ.get("PLNET_TIDY_APPS") else ("lib/", "drivers/")
TIDY_OPTIONS = ["-Doptimization=1", "-Dtests=false", "-Dbenchmarks=false", *UNITY]


def tidy(tally):
    def configured(name, options):
        return builds.build(tally, name, "clang++-19", options, lambda tree: ["build.ninja"])
    if configured("tidy", TIDY_OPTIONS) and (builds.is_built("clang") or configured("clang", CLANG_OPTIONS)):
        builds.tidy(tally, "tidy", "clang", TIDY_ROOMS)


def fuzz(tally):
    if not builds.is_built("asan") and not builds.build(tally, "asan", "clang++-19", ASAN_OPTIONS):
        return
    builds.fuzz(tally, "asan", seconds_each=int(os.environ.get("PLNET_FUZZ_SECONDS", "0")))


def e2e(tally):
    if builds.is_built("gcc") or builds.build(tally, "gcc", "g++", GCC_OPTIONS):
        builds.run_e2e(tally, "gcc")


STAGES = [
    Stage("rules", 3, "layers, bans, format, headers alone", rules, True),
    Stage("gcc", 10, "build with gcc, unit and simulation tests", gcc, True),
    Stage("e2e", 8, "the programs as a user runs them", e2e, True, ahead="asan"),
    Stage("clang", 2, "benchmarks compiled with clang", clang, False),
    Stage("asan", 11, "all else built with clang, the same tests under ASan and UBSan", asan, False),
    Stage("tsan", 3, "what is concurrent under TSan", tsan, False),
    Stage("fuzz", 3, "each fuzz target for some thousand runs from its corpus", fuzz, False),
    Stage("tidy", 5, "clang-tidy over lib and drivers", tidy, False),
]
AHEAD = {"asan": asan_ahead}


def parse():
    parser = argparse.ArgumentParser(prog="./check", description="Install, build and run every test of plnet.")
    parser.add_argument("stages", nargs="*", help="only these stages (see --list)")
    parser.add_argument("--quick", action="store_true", help="rules, gcc and e2e only: minutes, for daily work")
    parser.add_argument("--list", action="store_true", help="name the stages with their budgets and stop")
    arguments = parser.parse_args()
    unknown = [s for s in arguments.stages if s not in {stage.name for stage in STAGES}]
    if unknown:
        parser.error(f"no stage named {', '.join(unknown)}; there are: {', '.join(s.name for s in STAGES)}")
    return arguments


def chosen(arguments):
    if arguments.stages:
        return [s for s in STAGES if s.name in arguments.stages]
    return [s for s in STAGES if s.quick] if arguments.quick else STAGES


def main():
    os.chdir(ROOT)
    arguments = parse()
    if arguments.list:
        for stage in STAGES:
            print(f"{stage.name:6} {stage.budget_min:3} min  {stage.what}")
        return 0
    # What runs beside a stage ends with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    tally = results.Tally()
    took = []
    stages = chosen(arguments)
    for stage in stages:
        print(f"\n== {stage.name}: {stage.what} (budget {stage.budget_min} min)", flush=True)
        begin = time.monotonic()
        before = tally.snapshot()
        with fair_share.between_all(), beside(stage, stages):
            stage.run(tally)
        minutes = (time.monotonic() - begin) / 60
        took.append((stage, minutes, tally.since(before)))
    print("\nstage   took   budget  ran")
    for stage, minutes, ran in took:
        over = "  OVER BUDGET" if minutes > stage.budget_min else ""
        print(f"{stage.name:6} {minutes:5.1f} {stage.budget_min:6} min  {ran}{over}")
    total = sum(minutes for _, minutes, _ in took)
    print(f"total  {total:5.1f} {sum(s.budget_min for s in stages):6} min\n")
    tally.print_details()
    print(tally.line(), flush=True)
    return 1 if tally.failed() or not tally.passed() else 0


if __name__ == "__main__":
    sys.exit(main())
