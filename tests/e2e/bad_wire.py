# SPDX-License-Identifier: BSD-3-Clause
"""A wire that loses, delays and reorders frames, or is cut, from a seed: it replaces netem on kernels without it. Each end is
a TAP device on a host; a thread forwards the frames."""
import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import threading
import time

from site_under_test import Skip

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
MTU = 9000
FRAMES_HELD = 20_000  # like a switch; further frames are lost


def open_tap(name="eth0"):
    """A TAP device of the present network namespace."""
    try:
        end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH14x", name.encode(), IFF_TAP | IFF_NO_PI))
    except OSError as error:
        raise Skip(f"no TAP devices here: {error}") from error
    return end


class BadWire:
    """A good wire by default. Attributes may be set at any time."""

    def __init__(self, ends, seed=988):
        self.ends = ends
        self.loss = 0.0  # share of frames
        self.delay_s = (0.0, 0.0)  # at least, at most
        self.overtakes = 0.0  # share of frames that are not delayed
        self.is_cut = False
        self.lost = self.carried = 0
        self.dice = random.Random(seed)
        self.waiting, self.order = [], itertools.count()
        self.quit, self.quit_here = os.pipe()[::-1]
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        other = {self.ends[0]: self.ends[1], self.ends[1]: self.ends[0]}
        while True:
            wait = max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else None
            ready, _, _ = select.select([*self.ends, self.quit_here], [], [], wait)
            if self.quit_here in ready:
                return
            for end in ready:
                self.take(end, other[end])
            now = time.monotonic()
            while self.waiting and self.waiting[0][0] <= now:
                _, _, to, frame = heapq.heappop(self.waiting)
                self.give(to, frame)

    def take(self, end, to):
        for _ in range(64):
            try:
                frame = os.read(end, MTU + 64)
            except OSError:  # nothing left, or the host has shut the device down
                return
            if self.is_cut or self.dice.random() < self.loss or len(self.waiting) >= FRAMES_HELD:
                self.lost += 1
            elif self.delay_s[1] == 0 or self.dice.random() < self.overtakes:
                self.give(to, frame)
            else:
                due = time.monotonic() + self.dice.uniform(*self.delay_s)
                heapq.heappush(self.waiting, (due, next(self.order), to, frame))

    def give(self, to, frame):
        try:
            os.write(to, frame)
            self.carried += 1
        except OSError:
            self.lost += 1

    def close(self):
        os.write(self.quit, b"x")
        self.thread.join(10)
        for each in (*self.ends, self.quit, self.quit_here):
            os.close(each)
