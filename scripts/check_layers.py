#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks every #include of the tree against the layers of doc/architecture.md: dependencies point downwards."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# room -> further rooms that it may include. The longest matching prefix determines the room of a
# file.
RULES = {
    "lib/base": [],
    "lib/lnet": ["lib/base"],
    "lib/socklnd": ["lib/lnet", "lib/base"],
    "lib/o2iblnd": ["lib/lnet", "lib/base"],
    "lib/kfilnd": ["lib/lnet", "lib/base"],
    "lib/selftest": ["lib/lnet", "lib/base"],
    # A dissector reads the wire format of LNet and of its transports: the decoders, and nothing
    # else of them.
    "lib/trace": ["lib/lnet", "lib/base", "lib/selftest/srpc_wire.hpp", "lib/selftest/srpc_tests.hpp",
                  "lib/selftest/srpc_codec.hpp", "lib/socklnd/wire.hpp", "lib/o2iblnd/wire.hpp"],
    "lib/runtime/cpt": ["lib/base"],
    "lib/runtime/poll": ["lib/base"],
    "lib/runtime/config": ["lib/lnet", "lib/runtime/cpt", "lib/runtime/poll", "lib/runtime/admin",
                           "lib/base"],
    "lib/runtime/lnet": ["lib/lnet", "lib/runtime/config", "lib/runtime/control", "lib/runtime/verbs", "lib/base"],
    "lib/runtime/admin": ["lib/base"],
    "lib/runtime/files": ["lib/runtime/control", "lib/base"],
    "lib/runtime/verbs": ["lib/base"],
    "lib/runtime/control": ["lib/runtime/verbs", "lib/runtime/admin", "lib/base"],
    "lib/runtime/trace": ["lib/trace", "lib/base"],
    "lib/runtime/host": ["lib/runtime/cpt", "lib/runtime/poll", "lib/base"],
    # A driver may use the interface of its LND, and lib/base.
    "drivers/net/null": ["lib/lnet", "lib/base"],
    "drivers/net/fault": ["lib/lnet", "lib/base", "lib/socklnd/byte_stream.hpp",
                          "lib/o2iblnd/queue_pair.hpp", "lib/kfilnd/fabric_endpoint.hpp"],
    "drivers/net/sim": ["lib/lnet/api/payload.hpp", "lib/base", "lib/socklnd/byte_stream.hpp",
                        "lib/o2iblnd/queue_pair.hpp", "lib/kfilnd/fabric_endpoint.hpp"],
    "drivers/net/tcp": ["lib/base", "lib/socklnd/byte_stream.hpp"],
    "drivers/net/mlx": ["lib/base", "lib/o2iblnd/queue_pair.hpp"],
    "drivers/net/ofi": ["lib/base", "lib/lnet/api/payload.hpp", "lib/kfilnd/fabric_endpoint.hpp"],
    "drivers/net/cassini": ["lib/base", "lib/lnet/api/payload.hpp", "lib/kfilnd/fabric_endpoint.hpp"],
    # The software Cassini and its driver share libcxi's C interface only: no layout of a command or
    # an event.
    "drivers/net/cassini/soft": ["lib/base", "drivers/net/cassini/libcxi_abi.hpp", "drivers/net/cassini/backend_libcxi.hpp"],
    "node": ["lib", "drivers"],
    "apps": ["lib", "drivers", "node"],
    "tests": ["lib", "drivers", "node", "apps", "bench"],
    "bench": ["lib", "drivers", "node", "apps", "tests/mocks"],
}
# Floors with ordered rooms: each may include the earlier ones. Every file is in a room; "." holds
# the files beside the rooms.
ROOMS = {
    "lib/lnet": ["names", "wire", "api", "access", "faults", "load", "match", "peers", "flow", "paths", "move", "control", "node"],
    "lib/trace": ["record", "decode", "filter", "tap", "file", "pair", "show"],
    "node": ["host", "net", "watch", "capture", "admin", "run", "flags"],
    "apps/lnet-sim": ["node", "yaml", "net", "plan", "adopt", "books", "host", "watch", "site", "whatif", "."],
    "apps/lnet-pin": ["stats", "plan", "probe", "run", "report", "recommend", "."],
    "apps/lnet-selftest": ["baseline", "lst", "service", "run", "sim", "."],
}
# Below this folder each network family has a folder. Only the tables of families, settings and
# verbs, tests and benchmarks may use families.
FAMILIES, TABLES = "node/net", ("node/net/families.cpp", "node/net/family_facts.cpp")
# System headers that only one room may use.
SYSTEM_RULES = [
    (r"rte_", ["lib/runtime/host", "lib/runtime/trace", "drivers/net/cassini"], "only lib/runtime/host knows DPDK"),
    (r"hwloc", ["lib/runtime/cpt"], "only lib/runtime/cpt knows hwloc"),
    (r"(sys/socket|netinet/|sys/epoll|sys/eventfd|sys/timerfd|pthread|thread|mutex|condition_variable)",
     ["lib/runtime", "drivers/net/tcp", "drivers/net/mlx", "drivers/net/ofi", "drivers/net/cassini", "node", "apps",
      "tests", "bench"], "sans-IO: no sockets and no threads here"),
    (r"(libfyaml|prometheus/|httplib|spdlog/)", ["lib/runtime", "node", "apps", "tests", "bench"],
     "control-path libraries stay in lib/runtime"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def tracked_sources():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.hpp", "*.cpp", "*.h"], cwd=ROOT, check=True,
                         capture_output=True, text=True).stdout
    return [line for line in out.splitlines() if (ROOT / line).exists()]


def room_of(path):
    rooms = [room for room in RULES if path == room or path.startswith(room + "/")]
    return max(rooms, key=len) if rooms else None


def allowed(room, target):
    own = room_of(target) == room
    return own or any(target == rule or target.startswith(rule + "/") for rule in RULES[room])


def room_on(floor, path):
    inside = path.removeprefix(floor + "/")
    return inside.split("/")[0] if "/" in inside else "."


def points_up(source, target):
    """True if a room includes a later room of its floor, or one that is not listed."""
    for floor, rooms in ROOMS.items():
        if source.startswith(floor + "/") and target.startswith(floor + "/"):
            own, other = (room_on(floor, path) for path in (source, target))
            if not {own, other} <= set(rooms):
                return True
            return rooms.index(other) > rooms.index(own)
    return False


def family_of(path):
    inside = path.removeprefix(FAMILIES + "/")
    return inside.split("/")[0] if inside != path and "/" in inside else None


def names_a_family(source, target):
    """True if a file includes a file of another network family."""
    family = family_of(target)
    return (family is not None and family_of(source) != family and source not in TABLES
            and not source.startswith(("tests/", "bench/")))


def main():
    complaints = []
    sources = tracked_sources()
    for source in sources:
        room = room_of(source)
        if room is None:
            complaints.append(f"{source}: in no known room; add it to RULES in {pathlib.Path(__file__).name}")
            continue
        for number, line in enumerate((ROOT / source).read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, target = match.groups()
            where = f"{source}:{number}"
            if quote == '"':
                if not (ROOT / target).exists():
                    complaints.append(f"{where}: \"{target}\": include from the root of the tree")
                elif not allowed(room, target):
                    complaints.append(f"{where}: {room} may not include {target}")
                elif names_a_family(source, target):
                    complaints.append(f"{where}: only the tables in {FAMILIES} may include {target}")
                elif points_up(source, target):
                    complaints.append(f"{where}: rooms point one way (ROOMS in {pathlib.Path(__file__).name}), not to {target}")
                continue
            for pattern, rooms, why in SYSTEM_RULES:
                if re.match(pattern, target) and not any(source.startswith(r + "/") for r in rooms):
                    complaints.append(f"{where}: <{target}>: {why}")
    print("\n".join(complaints) if complaints else f"{len(sources)} files, every arrow goes down")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
