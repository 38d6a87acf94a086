#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws doc/pictures/placement.svg: how evenly peers are shared out over CPTs.

  scripts/draw_placement.py BUILD    BUILD: a build directory with -Dbenchmarks=true

Needs python3-matplotlib.
"""
import csv
import pathlib
import subprocess
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "plnet"  # the same picture from the same figures
from matplotlib import pyplot  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "doc" / "pictures" / "placement.svg"
PEERS = ("128", "1000")
STYLES = {"lustre-2.17": ("tab:orange", "-"), "lustre-2.15": ("tab:red", ":"), "balanced": ("tab:blue", "-")}


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]) / "bench" / "lnet" / "placement_loads"
    if not program.exists():
        sys.exit(f"draw_placement: {program} is not there: ninja -C {sys.argv[1]} bench/lnet/placement_loads")
    table = list(csv.DictReader(subprocess.check_output([program], text=True).splitlines()))
    patterns = list(dict.fromkeys(row["pattern"] for row in table))
    figure, axes = pyplot.subplots(len(PEERS), len(patterns), figsize=(12, 5), sharex=True, sharey=True)
    for line, peers in zip(axes, PEERS):
        for axis, pattern in zip(line, patterns):
            for rule, (colour, style) in STYLES.items():
                rows = [row for row in table
                        if (row["rule"], row["pattern"], row["peers"]) == (rule, pattern, peers)]
                axis.plot([int(row["cpts"]) for row in rows], [float(row["max_over_mean"]) for row in rows],
                          color=colour, linestyle=style, linewidth=1.2, label=rule)
            axis.set_title(f"{pattern}, {peers} peers", fontsize=9)
            axis.grid(alpha=0.3)
    for axis in axes[-1]:
        axis.set_xlabel("CPTs", fontsize=9)
    for line in axes:
        line[0].set_ylabel("fullest CPT / mean", fontsize=9)
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})
    print(f"wrote {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
