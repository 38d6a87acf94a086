#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the end-to-end cases: functions named case_* in tests/e2e/cases/*.py, one after the other, each with a Site.

Prints one line for each case: PASS name | FAIL name | SKIP name: reason. Details of failures go to stderr. Everything runs in
a separate network namespace, so that several runs do not meet.
"""
import argparse
import contextlib
import ctypes
import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
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


def case_files():
    return sorted((HERE / "cases").glob("*.py"))


def cases(pattern):
    """(name, case)"""
    for path in case_files():
        module = load(path)
        for name in [n for n in vars(module) if n.startswith("case_")]:
            full = f"{path.stem}.{name.removeprefix('case_')}"
            if pattern in full:
                yield full, getattr(module, name)


CLONE_NEWNET = 0x40000000


def enter_own_network():
    """Without namespaces, the cases report what they lack."""
    if os.geteuid() == 0:
        os.environ["PLNET_HOST_NETWORK"] = str(os.open("/proc/self/ns/net", os.O_RDONLY))
    if os.geteuid() == 0 and ctypes.CDLL(None).unshare(CLONE_NEWNET) == 0:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


@contextlib.contextmanager
def programs_of(build):
    """A folder with copies while nodes run: cases also run programs as other users, who may have no access to the build tree
    (below /root, for example)."""
    with fair_share.between_all(), tempfile.TemporaryDirectory(prefix="plnet-programs-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        for program in (build / "apps").glob("*/*"):
            if program.name == program.parent.name and program.is_file():
                shutil.copy(program, folder / program.name)
        for other in ("drivers/net/cassini/soft/libcxi.so.1", "tests/unit/drivers/mlx/test_drivers_mlx"):
            if (build / other).exists():
                shutil.copy(build / other, folder)
        yield folder


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, help="build tree whose programs to run")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="say at the end which cases took longest")
    parser.add_argument("--tap", action="store_true", help="report for machines: the Test Anything Protocol")
    parser.add_argument("--files", action="store_true", help="name the files with cases and stop")
    parser.add_argument("pattern", nargs="?", default="", help="only cases whose name contains this")
    arguments = parser.parse_args()
    if arguments.files:
        print("\n".join(path.stem for path in case_files()))
        return 0
    if not arguments.build:
        parser.error("--build is missing: the build tree whose programs to run")
    # Nodes have their own sessions: an interrupt of this program must end them as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    enter_own_network()
    with programs_of(arguments.build.resolve()) as folder:
        return run_cases(list(cases(arguments.pattern)), folder, arguments)


def run_cases(chosen, programs, arguments):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nodes inherit it, and nohup has it ignored
    took, failed = [], 0
    if arguments.tap:
        print(f"1..{len(chosen)}", flush=True)
    for name, case in chosen:
        begin = time.monotonic()
        outcome, reason = run_case(name, case, programs)
        took.append((time.monotonic() - begin, name))
        failed += outcome == "FAIL"
        print(as_tap(outcome, name, reason) if arguments.tap else f"{outcome} {name}{': ' + reason if reason else ''}", flush=True)
    for seconds, name in sorted(took, reverse=True)[:arguments.slowest]:
        print(f"{'# ' if arguments.tap else ''}{seconds:6.1f} s {name}", flush=True)
    return 1 if failed else 0


def as_tap(outcome, name, reason):
    name = name.partition(".")[2]
    return f"not ok - {name}" if outcome == "FAIL" else f"ok - {name}" + (f" # SKIP {reason}" if reason else "")


def run_case(name, case, programs):
    """PASS, FAIL or SKIP, and the reason of a skip."""
    site = Site(programs)
    try:
        case(site)
    except Skip as reason:
        return "SKIP", str(reason)
    except Exception:  # a case may fail in any way; later ones still run
        print(f"--- {name}\n{traceback.format_exc()}{site.logs()}", file=sys.stderr, flush=True)
        return "FAIL", ""
    finally:
        site.close()
    return "PASS", ""


if __name__ == "__main__":
    sys.exit(main())
