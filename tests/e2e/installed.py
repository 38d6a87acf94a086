#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`meson install` brings a manual page and completion for each program, the units of systemd, and the files for Prometheus and Grafana."""
import json
import pathlib
import subprocess
import sys


def main():
    build = pathlib.Path(sys.argv[1])
    plan = json.loads(subprocess.run(["meson", "introspect", "--installed", build], check=True, capture_output=True, text=True).stdout)
    places = [pathlib.Path(place) for place in plan.values()]
    names = {place.parent.name + "/" + place.name for place in places}
    programs = {place.name for place in places if place.parent.name == "bin"} | ({"lst"} if "bin/lnet-selftest" in names else set())
    missing = [f"completions/{name}" for name in programs if f"completions/{name}" not in names]
    missing += [f"site-functions/_{name}" for name in programs if f"site-functions/_{name}" not in names]
    missing += [f"a manual page of {name}" for name in programs if not {f"man1/{name}.1", f"man8/{name}.8"} & names]
    missing += [name for name in ("system/plnet-router.service", "system/plnet-selftest.service", "prometheus/prometheus.yaml",
                                  "prometheus/plnet.rules.yaml", "prometheus/plnet.dashboard.json") if name not in names]
    if "lnet-router" in programs and "man5/plnet.yaml.5" not in names:
        missing.append("man5/plnet.yaml.5")
    print(f"missing: {missing}" if missing else f"{len(programs)} programs with page and completion")
    return 1 if missing or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
