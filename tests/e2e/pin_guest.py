#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The complete chain of lnet-pin in an emulated guest with two NUMA nodes and four CPUs: probe, plan, run, report, recommend,
check, restore.

Under emulation the figures do not describe any machine. A poller that shares its CPU with a busy loop is slow there as well:
it must rank last, with an interval that excludes zero. Both placements have their memory on the other node, so that remote
memory passes through every step; under emulation its cost is invisible, since all memory is equally fast.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts")]
import guest_kernel  # noqa: E402
import guests  # noqa: E402
from site_under_test import Skip  # noqa: E402

# Two packages of two CPUs, each with memory of its own.
NUMA = ["-object", "memory-backend-ram,id=m0,size=1G", "-object", "memory-backend-ram,id=m1,size=1G",
        "-numa", "node,nodeid=0,cpus=0-1,memdev=m0", "-numa", "node,nodeid=1,cpus=2-3,memdev=m1",
        "-numa", "dist,src=0,dst=1,val=21", "-numa", "dist,src=1,dst=0,val=21"]
MEMORY_MIB = 2048
# A boot takes some 20 seconds of CPU time, which is many minutes on a busy host.
BOOT_TIMEOUT_S = 1200
CALL_TIMEOUT_S = 3600
READY_LOOKS = 300
# Wires between namespaces; the guests' common wire and RDMA devices are not needed here.
MODULES = (*guest_kernel.ROOT_MODULES, "veth")
SWEEP = """
name: guest
measured: server
workload: {networks: tcp, test: write, size: 64k, concurrency: 4, warmup: 200ms, duration: 1s}
rounds: {least: 8, most: 8}
steal_max: 100
budget: 45m
factors: {neighbour: [none, busy], memory: [remote]}
"""


class TwoNodeGuest(guests.Guest):
    def command(self, kernel):
        words = super().command(kernel)
        for option, value in (("-m", MEMORY_MIB), ("-smp", "4,sockets=2,cores=2,threads=1")):
            words[words.index(option) + 1] = str(value)
        return words + NUMA


def chain(guest, programs):
    pin = programs / "lnet-pin"
    probe = json.loads(guest.must(pin, "probe", "--seconds", "10", "--json", timeout_s=CALL_TIMEOUT_S))
    assert len(probe["cpus"]) == 4 and len(probe["machine"]["nodes"]) == 2, probe["machine"]
    assert {(row["cpu"], row["node"]) for row in probe["memory"]} == {(cpu, node) for cpu in range(4) for node in range(2)}, probe["memory"]
    sweep = guest.write("/tmp/guest.yaml", SWEEP)
    plan = json.loads(guest.must(pin, "plan", sweep, "--json"))
    assert [each["text"] for each in plan["placements"]] == ["neighbour=none memory=remote", "neighbour=busy memory=remote"], plan["placements"]
    assert all(each["cpts"] == [{"cpus": [0], "memory_node": 1}] for each in plan["placements"]), plan["placements"]
    print(guest.must(pin, "run", sweep, "-o", "/tmp/guest", "--programs", programs, timeout_s=CALL_TIMEOUT_S), flush=True)
    report = json.loads(guest.must(pin, "report", "/tmp/guest", "--json", timeout_s=CALL_TIMEOUT_S))
    last = report["aims"]["throughput"]["placements"][-1]
    assert last["placement"] == "p1" and last["versus_baseline"]["verdict"] == "lower", report["aims"]["throughput"]
    assert last["versus_baseline"]["percent"]["high"] < 0, last
    yaml, kernel = guest.must(pin, "recommend", "/tmp/guest"), guest.must(pin, "recommend", "/tmp/guest", "--for", "kernel")
    assert "\noptions lnet cpu_npartitions=" in kernel, kernel
    print(yaml, kernel, flush=True)
    check(guest, programs, guest.write("/tmp/recommended.yaml", yaml))
    assert "nothing was changed" in guest.must(pin, "restore"), "restored at the end"
    print(f"a busy neighbour: {last['versus_baseline']['percent']}")


def check(guest, programs, config):
    """A node with the recommended placement is judged well placed."""
    socket = "/tmp/placed.sock"
    guest.must("mkdir", "/tmp/placed")
    node = guest.ask("start", log="/tmp/placed.log", words=[
        str(programs / "lnet-router"), "--config", config, "--socket", socket, "--lock-dir", "/tmp/placed", "--instance", "placed",
        "--idle", "sleep"])
    ready = (f"for i in $(seq {READY_LOOKS}); do grep -qE 'event=ready|^lnet-router: ' /tmp/placed.log && break; sleep 1; done; "
             "grep event=ready /tmp/placed.log || { cat /tmp/placed.log; exit 1; }")
    guest.must("sh", "-c", ready, timeout_s=2 * READY_LOOKS)
    done = guest.run(programs / "lnet-pin", "check", "--socket", socket, "--results", "/tmp/guest", "--json")
    found = json.loads(done.stdout)["findings"]
    assert done.returncode == 3 and [each["text"] for each in found if each["warning"]] == [
        "cpt 0: memory is on node 1, but CPUs 0 are on node 0 (distance 21)"], (done.returncode, found)
    assert any("the node is placed like p" in each["text"] for each in found), found
    guest.ask("signal", pid=node["pid"], signal=signal.SIGTERM)
    guest.ask("wait", pid=node["pid"], limit_s=guests.CALL_TIMEOUT_S)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build tree whose programs to run")
    arguments = parser.parse_args()
    try:
        if os.geteuid() != 0:
            raise Skip("needs root for a guest that reads the host's files")
        if shutil.which(guests.QEMU) is None:
            raise Skip(f"{guests.QEMU} is not installed")
        # Below /var/tmp: /tmp of the guest is a file system in memory.
        with tempfile.TemporaryDirectory(prefix="plnet-pin-", dir="/var/tmp") as name:
            folder = pathlib.Path(name)
            for program in ("lnet-router", "lnet-selftest", "lnet-pin"):
                shutil.copy(arguments.build.resolve() / "apps" / program / program, folder)
            guest = TwoNodeGuest("a", folder, guest_kernel.guest_kernel(MODULES, "pin_guest.cpio"))
            try:
                guest.wait_up(BOOT_TIMEOUT_S)
                chain(guest, folder)
            finally:
                guest.end()
    except Skip as reason:
        print(f"SKIP pin_guest: {reason}")
        return 77
    print("PASS pin_guest")
    return 0


if __name__ == "__main__":
    sys.exit(main())
