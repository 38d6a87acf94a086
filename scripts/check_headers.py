#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every header compiles alone: a file that includes it first, and nothing else, is valid C++."""
import concurrent.futures
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++23", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Wconversion",
         "-Wshadow", "-Werror", "-fsyntax-only",
         '-DPLNET_TEST_DATA=""']  # meson.build defines it for tests that read golden vectors
PACKAGES = ["libdpdk", "hwloc", "libfyaml"]


def package_flags():
    flags = []
    for package in PACKAGES:
        found = subprocess.run(["pkg-config", "--cflags", package], capture_output=True, text=True)
        if found.returncode == 0:
            flags += [f"-isystem{f[2:]}" if f.startswith("-I") else f for f in shlex.split(found.stdout)
                      if f.startswith("-I")]
    return flags


def compile_alone(compiler, flags, header):
    source = f'#include "{header}"\n#include "{header}"\n'  # twice: it must also survive being repeated
    done = subprocess.run([compiler, *FLAGS, *flags, f"-I{ROOT}", "-x", "c++", "-"], input=source, text=True,
                          capture_output=True, cwd=ROOT)
    return header, done.returncode, done.stderr


def main():
    compiler = sys.argv[1] if len(sys.argv) > 1 else "g++"
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.hpp"], cwd=ROOT, check=True,
                         capture_output=True, text=True).stdout
    headers = [h for h in out.splitlines() if (ROOT / h).exists()]
    flags = package_flags()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, code, errors in pool.map(lambda h: compile_alone(compiler, flags, h), headers):
            if code != 0:
                failed += 1
                print(f"{header} does not compile alone:\n{errors}")
    print(f"{len(headers) - failed} of {len(headers)} headers compile alone with {compiler}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
