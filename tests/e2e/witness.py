#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A peer that behaves, beside others that do not: it pings a node all the while. The share of answers has to stay high; the
times are printed for the reader, as they depend on the machine."""
import contextlib
import json
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


def print_figures(what, answered, times, during):
    """`times`: seconds, of all pings; `during`: how many of them were sent during the attack."""
    print(f"# figures {what}: {answered} of {len(times)} pings answered ({100 * answered / len(times):.2f} %), {during} during the attack; "
          f"p50 {1e3 * percentile(times, 0.5):.2f} ms, p99 {1e3 * percentile(times, 0.99):.2f} ms, most {1e3 * max(times):.2f} ms",
          flush=True)


class Witness:
    """`with Witness("the attack", node, nid):` pings from `node`, one ping after the other, in a process of its own: what the
    case does meanwhile does not delay it."""

    def __init__(self, what, node, target):
        self.what, self.words = what, [sys.executable, __file__, str(node.socket), target]

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
        times, failures, during = json.loads(told)
        print_figures(self.what, len(times) - len(failures), times, during)
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


def main(path, target):
    times, failures, during = [], [], 0
    end = None
    while end is None or (len(times) < LEAST and time.monotonic() < end):
        if select.select([sys.stdin] if end is None else [], [], [], PAUSE_S)[0]:
            end, during = time.monotonic() + PATIENCE_S, len(times)
        begin = time.monotonic()
        try:
            with contextlib.closing(socket.socket(socket.AF_UNIX)) as control:
                control.settimeout(ANSWER_S)
                control.connect(path)
                failure = ping(control, target)
        except OSError as error:
            failure = str(error)
        times.append(time.monotonic() - begin)
        if failure:
            failures.append(failure)
        if len(times) == 1:
            print("the first ping is over", flush=True)
    print(json.dumps([times, failures, during]))


if __name__ == "__main__":
    main(*sys.argv[1:])
