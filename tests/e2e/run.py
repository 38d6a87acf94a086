#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the end-to-end cases: functions named case_* in tests/e2e/cases/*.py, each given a Site.

Prints one line a case: PASS name | FAIL name | SKIP name: reason. Details of failures go to stderr.
Cases of files that say SIDE_BY_SIDE = True spend most of their time waiting and run several at a time, after the others.
"""
import argparse
import concurrent.futures
import contextlib
import importlib.util
import pathlib
import shutil
import signal
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts")]
from check_lib import fair_share  # noqa: E402
from site_under_test import Site, Skip  # noqa: E402


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SIDE_BY_SIDE = 3


def cases(pattern):
    """(name, case, whether others may run beside it)"""
    for path in sorted((HERE / "cases").glob("*.py")):
        module = load(path)
        for name in [n for n in vars(module) if n.startswith("case_")]:
            full = f"{path.stem}.{name.removeprefix('case_')}"
            if pattern in full:
                yield full, getattr(module, name), getattr(module, "SIDE_BY_SIDE", False)


@contextlib.contextmanager
def programs_of(build):
    """A folder with copies, while nodes run: cases run programs as other users too, who may not be let into the build tree
    (below /root, say)."""
    with fair_share.between_all(), tempfile.TemporaryDirectory(prefix="plnet-programs-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        for program in (build / "apps").glob("*/*"):
            if program.name == program.parent.name and program.is_file():
                shutil.copy(program, folder / program.name)
        library = build / "drivers/net/cassini/soft/libplnet_cxi_soft.so"
        if library.exists():
            shutil.copy(library, folder / library.name)
        yield folder


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, type=pathlib.Path, help="build tree whose programs to run")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="say at the end which cases took longest")
    parser.add_argument("pattern", nargs="?", default="", help="only cases whose name contains this")
    arguments = parser.parse_args()
    # Nodes have sessions of their own: who ends this one must not leave them behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with programs_of(arguments.build.resolve()) as folder:
        return run_cases(arguments.pattern, folder, arguments.slowest)


def run_cases(pattern, programs, slowest):
    took = []

    def run(each):
        begin = time.monotonic()
        passed = run_case(each[0], each[1], programs)
        took.append((time.monotonic() - begin, each[0]))
        return passed

    chosen = list(cases(pattern))
    outcomes = [run(each) for each in chosen if not each[2]]
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        outcomes += pool.map(run, [each for each in chosen if each[2]])
    for seconds, name in sorted(took, reverse=True)[:slowest]:
        print(f"{seconds:6.1f} s {name}")
    return 0 if all(outcomes) else 1


def run_case(name, case, programs):
    """Whether it did not fail."""
    site = Site(programs)
    outcome = f"PASS {name}"
    try:
        case(site)
    except Skip as reason:
        outcome = f"SKIP {name}: {reason}"
    except Exception:  # a case may fail in any way; the others still run
        outcome = f"FAIL {name}"
        print(f"--- {name}\n{traceback.format_exc()}{site.logs()}", file=sys.stderr)
    finally:
        site.close()
    sys.stdout.write(outcome + "\n")  # in one piece, whoever else says something
    sys.stdout.flush()
    return not outcome.startswith("FAIL")


if __name__ == "__main__":
    sys.exit(main())
