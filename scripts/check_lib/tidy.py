# SPDX-License-Identifier: BSD-3-Clause
"""clang-tidy over the sources of the product, several at a time."""
import concurrent.futures
import json
import os
import pathlib
import subprocess

from check_lib.results import tail

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROOMS = ("lib/", "drivers/", "node/", "apps/")
# The sources are headers of their unit, which includes them in an unusual way.
TOGETHER = ["--header-filter=/(lib|drivers|node|apps)/.*[.](hpp|cpp)$", "--checks=-bugprone-suspicious-include"]


def members_of(unit):
    """The sources in one of meson's unity files, relative to the root."""
    lines = unit.read_text().splitlines()
    return [os.path.relpath(pathlib.Path(line.removeprefix("#include<").removesuffix(">")).resolve(), ROOT)
            for line in lines if line.startswith("#include<")]


def tidy(tally, together, alone):
    """Runs one test case for each file. Units of the tree `together` are checked first, since most of the time is spent on
    the headers that their sources share. The sources of a unit with findings are checked one by one, as the tree `alone`
    compiles them. Tests and benchmarks are checked by the compilers only."""
    database = json.loads((together / "compile_commands.json").read_text())
    units = sorted({together / entry["file"] for entry in database if entry["output"].startswith(ROOMS)})

    def run(commands, arguments):
        done = subprocess.run(["clang-tidy-19", "--quiet", "-p", str(commands), *arguments], cwd=ROOT,
                              capture_output=True, text=True)
        return done.returncode == 0, tail(done.stdout + done.stderr)

    def one(unit):
        members = members_of(unit)
        if members and run(together, [*TOGETHER, str(unit)])[0]:
            return {path: (True, "") for path in members}
        return {path: run(alone, [path]) for path in members or [os.path.relpath(unit, ROOT)]}

    found = {}
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    try:
        for outcome in pool.map(one, units):
            found.update(outcome)
            for path, (clean, text) in outcome.items():
                if not clean:
                    first = next((line for line in text.splitlines() if "warning:" in line or "error:" in line), "")
                    print(f"FAILED tidy.{path} {first}", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)  # ends soon after ./check is interrupted
    for path, (clean, text) in sorted(found.items()):
        tally.add(f"tidy.{path}", "passed" if clean else "failed", text)
    bad = sum(not clean for clean, _ in found.values())
    print(f"{'ok    ' if bad == 0 else 'FAILED'} clang-tidy: {len(found) - bad} of {len(found)} files clean", flush=True)
