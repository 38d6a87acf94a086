#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the 20 most expensive headers and the 20 most expensive sources to compile.

A header's cost is the time to compile it alone. A source's cost is the time that ninja recorded in each build tree, so
sources are listed individually only in a tree without unity, such as the one of `./check alone`.
"""
import argparse
import concurrent.futures
import os
import pathlib
import time

import check_headers

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = 20


def header_costs(compiler):
    flags = check_headers.package_flags()

    def cost(header):
        begin = time.monotonic()
        check_headers.compile_alone(compiler, flags, header)
        return time.monotonic() - begin, header

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return sorted(pool.map(cost, check_headers.listed("*.hpp")), reverse=True)


def source_costs(tree):
    """(seconds, object) of the latest compilation of each."""
    took = {}
    for line in (tree / ".ninja_log").read_text().splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and fields[3].endswith(".o"):
            took[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return sorted(((seconds, name) for name, seconds in took.items()), reverse=True)


def print_table(title, costs):
    print(f"{title}: {len(costs)}, {sum(seconds for seconds, _ in costs):.0f} s together")
    for seconds, name in costs[:MOST]:
        print(f"{seconds:7.1f} s  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=pathlib.Path, help="build trees; without: all below build/")
    parser.add_argument("--compiler", default="g++", help="for headers (default: g++)")
    parser.add_argument("--sources", action="store_true", help="sources only, which compiles nothing")
    arguments = parser.parse_args()
    if not arguments.sources:
        print_table("headers, each alone", header_costs(arguments.compiler))
    trees = arguments.trees or sorted(log.parent for log in (ROOT / "build").glob("*/.ninja_log"))
    for tree in trees:
        if not (tree / ".ninja_log").exists():
            parser.error(f"{tree} is no build tree of ninja")
        print_table(f"\nobjects of {tree}", source_costs(tree))


if __name__ == "__main__":
    main()
