#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A peer that behaves, beside others that do not: it pings a node all the while. The share of answers has to stay high; the
times are printed for the reader, as they depend on the machine. Two more figures leave out the time during which threads of the
nodes, or the witness itself, were ready to run and had no CPU. At most: only the longest of those waits is left out. At least: all
are, though some were at the same time."""
import contextlib
import json
import pathlib
import select
import socket
import subprocess
import sys
import time

ANSWERED_MIN = 0.99
LEAST = 100  # pings; of fewer, one lost ping is more than a hundredth
PAUSE_S = 0.002
TIMEOUT_S = 1
ANSWER_S = 30  # of the control socket
PATIENCE_S = 60  # until the last of LEAST pings is over


def percentile(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def percentiles(times):
    return f"p50 {1e3 * percentile(times, 0.5):.2f} ms, p99 {1e3 * percentile(times, 0.99):.2f} ms, most {1e3 * max(times):.2f} ms"


def print_figures(what, answered, times, most, least, during):
    """`times`: seconds, of all pings; `most`, `least`: without waits for a CPU; `during`: pings that were sent during the attack."""
    print(f"# figures {what}: {answered} of {len(times)} pings answered ({100 * answered / len(times):.2f} %), {during} during the attack; "
          f"{percentiles(times)}; without waits for a CPU at most {percentiles(most)}, at least {percentiles(least)}", flush=True)


class CpuWaits:
    """The time that each thread of these processes has waited for a CPU, the second figure of its schedstat. None where the kernel
    does not tell."""

    def __init__(self, processes):
        # Nodes have all their threads before they answer the first time.
        self.files = [each / "schedstat" for pid in processes for each in pathlib.Path(f"/proc/{pid}/task").iterdir()]

    def read_s(self):
        waits = []
        for each in self.files:
            with contextlib.suppress(OSError):
                waits.append(int(each.read_text().split()[1]) / 1e9)
        return waits


class Witness:
    """`with Witness("the attack", node, nid, others):` pings from `node`, one ping after the other, in a process of its own: what
    the case does meanwhile does not delay it. `others`: the nodes on the way."""

    def __init__(self, what, node, target, *others):
        pids = [str(each.process.pid) for each in (node, *others)]
        self.what, self.words = what, [sys.executable, __file__, str(node.socket), target, *pids]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()  # the first ping is over
        return self

    def __exit__(self, kind, *_):
        try:
            told, _ = self.process.communicate(timeout=2 * PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        if kind is not None:
            return
        times, most, least, failures, during = json.loads(told)
        print_figures(self.what, len(times) - len(failures), times, most, least, during)
        assert len(failures) <= (1 - ANSWERED_MIN) * len(times), (self.what, len(failures), len(times), failures[:3])


def ping(control, target):
    """An error's words, or None."""
    control.sendall(json.dumps({"v": 1, "id": 1, "verb": "ping", "args": {"nid": [target], "timeout": TIMEOUT_S}}).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        piece = control.recv(65536)
        if not piece:
            return "the node has closed the control socket"
        answer += piece
    return None if "result" in json.loads(answer) else answer.decode()


def main(path, target, *processes):
    times, most, least, failures, during = [], [], [], [], 0
    waits = CpuWaits((*processes, "self"))
    end = None
    while end is None or (len(times) < LEAST and time.monotonic() < end):
        if select.select([sys.stdin] if end is None else [], [], [], PAUSE_S)[0]:
            end, during = time.monotonic() + PATIENCE_S, len(times)
        before = waits.read_s()
        begin = time.monotonic()
        try:
            with contextlib.closing(socket.socket(socket.AF_UNIX)) as control:
                control.settimeout(ANSWER_S)
                control.connect(path)
                failure = ping(control, target)
        except OSError as error:
            failure = str(error)
        times.append(time.monotonic() - begin)
        waited = [after - earlier for earlier, after in zip(before, waits.read_s())]
        most.append(max(0, times[-1] - max(waited, default=0)))
        least.append(max(0, times[-1] - sum(waited)))
        if failure:
            failures.append(failure)
        if len(times) == 1:
            print("the first ping is over", flush=True)
    print(json.dumps([times, most, least, failures, during]))


if __name__ == "__main__":
    main(*sys.argv[1:])
