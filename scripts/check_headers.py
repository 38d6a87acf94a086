#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every header compiles alone: a file that includes only this header is valid C++. The build has checked the headers that a
source includes first; this script compiles the others."""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++23", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Wconversion",
         "-Wshadow", "-Werror", "-fsyntax-only",
         '-DPLNET_TEST_DATA=""']  # meson.build defines it for tests that read golden vectors
PACKAGES = ["libdpdk", "hwloc", "libfyaml"]


FIRST_INCLUDE = re.compile(r'^\s*#\s*include\s*(\S+)', re.MULTILINE)


def listed(pattern):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", pattern], cwd=ROOT, check=True,
                         capture_output=True, text=True).stdout
    return [name for name in out.splitlines() if (ROOT / name).exists()]


def proved_by_the_build():
    found = (FIRST_INCLUDE.search((ROOT / name).read_text(encoding="utf-8")) for name in listed("*.cpp"))
    return {match.group(1).strip('"') for match in found if match and match.group(1).startswith('"')}


def package_flags():
    flags = []
    for package in PACKAGES:
        found = subprocess.run(["pkg-config", "--cflags", package], capture_output=True, text=True)
        if found.returncode == 0:
            flags += [f"-isystem{f[2:]}" if f.startswith("-I") else f for f in shlex.split(found.stdout)
                      if f.startswith("-I")]
    return flags


def compile_alone(compiler, flags, header):
    source = f'#include "{header}"\n'
    done = subprocess.run([compiler, *FLAGS, *flags, f"-I{ROOT}", "-x", "c++", "-"], input=source, text=True,
                          capture_output=True, cwd=ROOT)
    return header, done.returncode, done.stderr


def main():
    compiler = sys.argv[1] if len(sys.argv) > 1 else "g++"
    headers = listed("*.hpp")
    repeatable = [h for h in headers if "\n#pragma once\n" in (ROOT / h).read_text(encoding="utf-8")]
    for header in sorted(set(headers) - set(repeatable)):
        print(f"{header} has no line `#pragma once`")
    proved = proved_by_the_build()
    alone = [h for h in headers if h not in proved]
    flags = package_flags()
    failed = len(headers) - len(repeatable)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, code, errors in pool.map(lambda h: compile_alone(compiler, flags, h), alone):
            if code != 0:
                failed += 1
                print(f"{header} does not compile alone:\n{errors}")
    print(f"{len(headers)} headers, {len(alone)} of them that no source file includes first: {failed} do not compile alone")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
