# SPDX-License-Identifier: BSD-3-Clause
"""The router part of ./try with a few thousand messages: its figures are present although outputs of commands may change, and
they match the final counts of client and router."""
import pathlib
import re
import signal
import subprocess

from two_hosts import two_hosts

PARTS = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "try_parts"
PROGRAMS = ("lnet-router", "lnetctl", "lnet-traffic", "lnet-selftest")
OPERATIONS = 12000  # enough for a few rows
ROWS_MAX = 60  # limit for the script
MIB = 1 << 20
ENDS_WITHIN_S = 120
SCRIPT = f"""set -euo pipefail
operations={OPERATIONS}
source "$1/stage.sh"
enter_stage "$2"
source "$1/router.sh"
"""
COLUMNS = ("seconds", "messages", "MiB/s", "large, free", "fewest free", "client credits", "hop p50", "hop p99")


def programs_by_folder(site):
    """Sorted as in a build tree."""
    apps = site.path("apps")
    for name in PROGRAMS:
        (apps / name).mkdir(parents=True)
        (apps / name / name).symlink_to(site.program(name))
    return str(apps)


def shown_by(*command):
    # In a session of its own; interrupted, it ends its nodes and namespaces.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        raise AssertionError(f"no end within {ENDS_WITHIN_S} s: {process.communicate(timeout=60)[0]}") from None
    assert process.returncode == 0, output
    return output


def figures(output):
    """The printed rows of the table."""
    lines = output.splitlines()
    first = next((i for i, line in enumerate(lines) if line.split() == " ".join(COLUMNS).split()), len(lines)) + 1
    rows = []
    while first + len(rows) < len(lines) and lines[first + len(rows)].strip():
        rows.append(lines[first + len(rows)].split())
    assert rows and all(len(row) == len(COLUMNS) for row in rows), output
    return rows


def told(output, name):
    """The value of that name in the final output of client or router."""
    numbers = re.findall(rf"^\s*{name}: (\d+)$", output, re.MULTILINE)
    assert len(numbers) == 1, (name, numbers, output)
    return int(numbers[0])


def check_sums(rows, output):
    """Each row covers the time since the previous one; their sums match the totals."""
    ends = [float(row[0]) for row in rows]
    took = [end - begin for begin, end in zip([0.0, *ends], ends)]
    assert all(each > 0.9 for each in took), f"a row comes after a second: {ends}"
    forwarded, forwarded_bytes = told(output, "route_count"), told(output, "route_length")
    assert sum(int(row[1]) for row in rows) == forwarded, (rows, forwarded)
    # A PUT and its ACK, or a GET and its REPLY; nodes exchange few other messages.
    assert 2 * OPERATIONS <= forwarded <= 2 * OPERATIONS + 100, forwarded
    mib = sum(float(row[2]) * seconds for row, seconds in zip(rows, took))
    # Seconds are shown to a hundredth, MiB/s to a tenth.
    assert abs(mib - forwarded_bytes / MIB) <= 0.02 * mib + 1, (rows, forwarded_bytes)
    payload = told(output, "answered_bytes")
    assert payload <= forwarded_bytes <= 1.02 * payload + MIB, (payload, forwarded_bytes)


def case_the_router_of_try_is_shown_with_its_figures(site):
    with two_hosts(site):
        pass  # skipped here
    output = shown_by("bash", "-c", SCRIPT, "try", str(PARTS), programs_by_folder(site))
    rows = figures(output)
    assert len(rows) < ROWS_MAX, f"it did not see that the client was done: {output}"
    check_sums(rows, output)
    # The times of a next hop are known after some hundred messages.
    assert all(value.isdigit() or column >= 6 and value == "-" for row in rows[:-1] for column, value in enumerate(row) if column >= 3), rows
    assert all(value.isdigit() for value in rows[-1][3:]), rows
    free, fewest, credits_left, p50, p99 = (int(value) for value in rows[-1][3:])
    assert free >= fewest > 0 and credits_left > 0 and 0 < p50 <= p99, rows
    assert "exit status" not in output, output
    for words in ("- net: tcp1", "gateway: 10.89.0.10@tcp", "primary nid: 10.89.1.1@tcp1", "cpt[0]:", "event=drained cut_off=0",
                  "the router ended with status 0", "every operation was answered with correct bytes", f"answered: {OPERATIONS}\n", "failed: 0\n", "p99: "):
        assert words in output, (words, output)
