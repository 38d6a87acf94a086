#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rules of this tree that no compiler checks: banned constructs by room, and the length of files."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINES_MAX = 800       # of a source file; 400 is the aim
CODE = (".hpp", ".cpp", ".h")
SPDX = "SPDX-License-Identifier: BSD-3-Clause"
LICENSED = CODE + (".py", ".sh", ".build")
SCRIPTS = {"check", "try", "measure", ".ci/run"}

# (pattern, affected rooms, exempt places, reason)
BANS = [
    (r"(_clock|Clock)::now\s*\(", ["lib", "drivers"],
     # a library that another program loads has a clock of its own
     ["lib/runtime/poll/tsc_clock", "lib/runtime/admin", "drivers/net/cassini/soft/libcxi_world"], "time is handed in"),
    (r"\b(clock_gettime|gettimeofday)\s*\(", ["lib", "drivers"],
     ["lib/runtime/poll/tsc_clock", "lib/runtime/admin"], "time is handed in"),
    (r"(?<![\w.>:])time\s*\(\s*(nullptr|NULL|0|&)", ["lib", "drivers", "node", "apps"], ["lib/runtime/admin"], "time is handed in"),
    (r"(?<![\w.>])(rand|srand|srandom|rand_r)\s*\(|std::random_device|std::mt19937", ["lib", "drivers"], [],
     "randomness is handed in: lib/base/random.hpp"),
    (r"\b(secure_)?getenv\s*\(", ["lib", "drivers"], [], "the environment belongs to programs"),
    (r"#\s*include\s*<(iostream|sstream|fstream)>", ["lib", "drivers"], ["lib/runtime/config", "lib/runtime/host", "lib/runtime/admin", "lib/runtime/control"],
     "no iostream in lib/"),
    (r"#\s*include\s*<iostream>", ["lib", "drivers"], [], "no iostream in lib/"),
    (r"\b(dynamic_cast|typeid)\b", ["lib", "drivers"], [], "no RTTI"),
    (r"\bco_(await|yield|return)\b", ["lib", "drivers", "node", "apps"], [], "no coroutines"),
    (r"\b(std::)?(recursive_|shared_|timed_)?mutex\b|\bstd::(lock_guard|unique_lock|scoped_lock|condition_variable)\b",
     ["lib/base", "lib/lnet", "lib/socklnd", "lib/o2iblnd", "lib/kfilnd", "lib/selftest", "lib/trace",
      "lib/runtime/poll", "drivers"], [], "no lock near the message path"),
    (r"\b(malloc|calloc|realloc)\s*\(", ["lib", "drivers"],
     ["drivers/net/ofi/device"], "no malloc"),  # libfabric frees this memory
    (r"\breinterpret_cast\s*<[^>]*\b(Header|Wire|Hello|Message)\w*\s*\*", ["lib", "drivers"], [],
     "no struct casts of wire bytes: decode takes a span"),
    (r"\b(usleep|nanosleep)\s*\(|::sleep\s*\(\s*\d|sleep_(for|until)\s*\(", ["lib", "drivers", "tests/unit", "tests/sim"],
     ["drivers/net/cassini/soft/libcxi_world.cpp"],  # the thread that plays the hardware in a process of others
     "nothing sleeps; a test that needs a sleep shows a wrong design"),
    (r"\b(TODO|FIXME|XXX|HACK)\b", ["lib", "drivers", "node", "apps", "tests", "bench", "scripts"], ["scripts/check_style.py"],
     "unfinished work belongs in an issue"),
    (r"^\s*//+ (What|Who|Of|Whoever|Whatever|Nobody)\b", ["lib", "drivers", "node", "apps", "tests", "bench"], [],
     "comment without a noun as its subject"),
]
STRING_OR_COMMENT = re.compile(r'"(\\.|[^"\\])*"|//.*$|/\*.*?\*/')


def tracked():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True,
                         text=True).stdout
    return [line for line in out.splitlines() if (ROOT / line).is_file()]


def under(path, rooms):
    return any(path.startswith(room) for room in rooms)


def complaints_of(path, text):
    lines = text.splitlines()
    if len(lines) > LINES_MAX and path.endswith(CODE):
        yield f"{path}: {len(lines)} lines, the limit is {LINES_MAX}"
    for number, line in enumerate(lines, 1):
        code = STRING_OR_COMMENT.sub('""', line) if path.endswith(CODE) else line
        for pattern, rooms, exempt, why in BANS:
            is_comment = why.startswith(("unfinished", "comment"))
            subject = line if is_comment or "include" in pattern else code
            if under(path, rooms) and not under(path, exempt) and re.search(pattern, subject):
                yield f"{path}:{number}: {line.strip()[:80]}: {why}"


def main():
    complaints = []
    files = tracked()
    for path in files:
        licensed = path.endswith(LICENSED) or path in SCRIPTS
        if not licensed:
            continue
        text = (ROOT / path).read_text()
        if SPDX not in "\n".join(text.splitlines()[:3]):
            complaints.append(f"{path}: no '{SPDX}' in its first lines")
        complaints.extend(complaints_of(path, text))
    print("\n".join(complaints) if complaints else f"{len(files)} files keep the rules")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
