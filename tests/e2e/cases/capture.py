# SPDX-License-Identifier: BSD-3-Clause
"""lnetdump on running nodes: its captures, permissions, and that readers do not delay messages."""
import contextlib
import json
import os
import signal
import struct
import subprocess

from cases_common import one_shard
from routed_hosts import routed_hosts
from routed_hosts import start as start_routed
from site_under_test import NOBODY, Skip, eventually, needs_root
from tcp_nodes import add_v4, nid, pair, pings, works
from traffic_nodes import answers_all, has_answered
from two_hosts import two_hosts

OPERATIONS = 300
FIELDS = "%Ls %Lt %Lf %Lr"


def lnetdump(site, node, *words, status=0, user=None):
    done = site.run(site.program("lnetdump"), "--socket", str(node.socket), *map(str, words), user=user)
    assert done.returncode == status, f"lnetdump {words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def captures(node):
    return node.json("capture", "show")["captures"]


class Reader:
    """lnetdump in the background."""

    def __init__(self, site, node, name, *words):
        self.node = node
        self.printed, self.errors = site.path(f"{name}.out"), site.path(f"{name}.err")
        with open(self.printed, "wb") as output, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([site.program("lnetdump"), "--socket", str(node.socket), *map(str, words)], stdout=output,
                                            stderr=errors, stdin=subprocess.DEVNULL)
        site.nodes.append(self)  # ends with the case, and its output is shown on failure
        self.name = name
        eventually("the capture begins", lambda: self.process.poll() is not None or self.shown())
        assert self.process.poll() is None, self.said()

    def shown(self):
        return next((each for each in captures(self.node) if each["pid"] == self.process.pid), None)

    def output(self):
        return self.errors.read_text(errors="replace")

    said = output

    def lines(self):
        return self.printed.read_text(errors="replace").splitlines()

    def stop(self, how=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(20)

    def losses(self):
        """Its final counts: captured and lost messages."""
        last = self.said().splitlines()[-1].split()
        assert last[1] == "messages," and last[3] == "lost", self.said()
        return int(last[0]), int(last[2])


@contextlib.contextmanager
def two_nodes(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        pings(a, nid("b"))
        yield a, b


def ping_many(node, target, times):
    for _ in range(times):
        pings(node, target)


def case_both_legs_of_a_router_are_seen(site):
    with routed_hosts(site) as hosts:
        router = start_routed(hosts, "r0")
        file = site.path("router.pcapng")
        reader = Reader(site, router, "reader", "-w", file, "--ring", "65536", "-s", "64")
        start_routed(hosts, "server")
        client = start_routed(hosts, "client", "--to", hosts.nid("server"), "--count", str(OPERATIONS))
        has_answered(client, 1)
        answers_all(OPERATIONS, client)
        assert reader.stop() == 0, reader.said()
        messages, lost = reader.losses()
        assert lost == 0 and messages >= 4 * OPERATIONS, reader.said()
        eventually("the node has removed the capture", lambda: not captures(router))
        shown = site.run(site.program("lnetdump"), "-r", str(file), "put", "-p", FIELDS + " %i").stdout.splitlines()
        ends = f"PUT {hosts.nid('client')} {hosts.nid('server')}"
        legs = {direction: [line for line in shown if line.startswith(f"{direction} {ends}")] for direction in ("RECV", "SEND")}
        assert legs["RECV"] and len(legs["RECV"]) == len(legs["SEND"]), {key: len(value) for key, value in legs.items()}
        assert {line.split()[-1] for line in legs["RECV"]} == {hosts.nid("r0", 0)}, legs["RECV"][:3]
        assert {line.split()[-1] for line in legs["SEND"]} == {hosts.nid("r0", 1)}, legs["SEND"][:3]
        summary = json.loads(site.run(site.program("lnetdump"), "-r", str(file), "--summary", "--json").stdout)
        assert summary["messages"] == messages, summary


def case_two_captures_have_independent_filters(site):
    with two_nodes(site) as (a, b):
        gets = Reader(site, b, "gets", "get", "-p", FIELDS)
        all_of_them = Reader(site, b, "all", "--json")
        assert [each["filter"] for each in captures(b)] == ["get", ""], captures(b)
        ping_many(a, nid("b"), 3)
        eventually("all are there", lambda: len(gets.lines()) >= 3 and len(all_of_them.lines()) >= 6)
        assert gets.stop() == 0 and all_of_them.stop() == 0
        assert set(gets.lines()) == {f"RECV GET {nid('a')} {nid('b')}"}, gets.lines()
        objects = [json.loads(line) for line in all_of_them.lines()]
        assert {(one["dir"], one["type"]) for one in objects} == {("RECV", "GET"), ("SEND", "REPLY")}, objects
        replies = [one for one in objects if one["type"] == "REPLY"]
        assert all(one["ping"]["interfaces"] and one["latency_ns"] >= 0 for one in replies), replies


def case_states_show_the_waits_of_messages(site):
    with two_nodes(site) as (a, _):
        reader = Reader(site, a, "states", "--states", "--json")
        site.lnetctl("--socket", str(a.socket), "ping", "--timeout", "1", "192.0.2.9@tcp")
        waits = lambda: [one for one in map(json.loads, reader.lines()) if one.get("wait") == "target" and one["dst"] == "192.0.2.9@tcp"]
        eventually("a message has waited for the new target", lambda: [one["dir"] for one in waits()] == ["WAIT", "GO"])
        assert waits()[1]["waited_ns"] >= 0, waits()
        assert reader.stop() == 0, reader.said()
        done = site.lnetctl("--socket", str(a.socket), "debug", "messages")
        assert "- for: target" in done.stdout, done.stdout


def case_a_reader_that_is_killed_takes_its_capture_along(site):
    with two_nodes(site) as (a, b):
        reader = Reader(site, b, "reader", "-q")
        ping_many(a, nid("b"), 2)
        assert captures(b)
        reader.stop(signal.SIGKILL)
        eventually("its capture is gone", lambda: not captures(b))
        assert "event=capture_ended" in b.output(), b.output()
        pings(a, nid("b"))
        for number in range(10):  # earlier captures are gone
            Reader(site, b, f"again{number}", "-q").stop(signal.SIGKILL)
            eventually("its capture is gone", lambda: not captures(b))


def case_a_reader_that_does_not_read_loses_messages_and_holds_up_none(site):
    with two_nodes(site) as (a, b):
        for keep in ("newest", "oldest"):
            reader = Reader(site, b, keep, "--ring", "64", "--keep", keep, "-p", "%Lt")
            reader.process.send_signal(signal.SIGSTOP)
            words = ("--socket", str(a.socket), "--json", "ping", *[nid("b")] * 100)
            for _ in range(6):
                done = site.lnetctl(*words)
                assert done.returncode == 0, done.stderr
            offered = reader.shown()
            reader.process.send_signal(signal.SIGCONT)
            reader.process.send_signal(signal.SIGINT)
            assert reader.process.wait(20) == 0, reader.said()
            messages, lost = reader.losses()
            assert lost > 0 and messages > 0 and messages == len(reader.lines()), (keep, messages, lost)
            assert messages + lost >= offered["messages"] >= 1200, (offered, messages, lost)
            assert (offered["no_room"] > 0) == (keep == "oldest"), offered


def case_only_administrators_capture(site):
    needs_root()
    node = site.node("--config", one_shard(site), "--socket-mode", "0666")
    done = lnetdump(site, node, status=1, user=NOBODY)
    assert "has read access only" in done.stderr, done.stderr
    assert not captures(node)
    os.chmod(node.socket, 0o600)
    done = lnetdump(site, node, status=1, user=NOBODY)
    assert "no permission" in done.stderr, done.stderr


def case_captures_are_bounded(site):
    node = site.node("--config", one_shard(site))
    readers = [Reader(site, node, f"reader{number}", "-q", "--ring", "64") for number in range(8)]
    done = lnetdump(site, node, status=1)
    assert "8 captures already" in done.stderr, done.stderr
    readers[0].stop()
    eventually("one is free", lambda: len(captures(node)) == 7)
    done = lnetdump(site, node, "--ring", str(1 << 20), status=1)
    assert "use a smaller --ring" in done.stderr, done.stderr
    # The node ends: readers keep the records that they have.
    node.stop()
    for reader in readers[1:]:
        assert reader.process.wait(20) == 0 and "the node has ended the capture" in reader.said(), reader.said()


def case_assertions_judge_commands(site):
    with two_nodes(site) as (a, b):
        ping = (site.program("lnetctl"), "--socket", str(a.socket), "ping", nid("b"))
        report = site.path("report.xml")
        asserted = ("--filter", "msg_type=GET,dir=SEND", "--junit", report)
        lnetdump(site, a, *asserted, "--assert", "count=1", "--assert", "errors=0", *ping)
        assert 'tests="2" failures="0"' in report.read_text(), report.read_text()
        done = lnetdump(site, a, *asserted, "--assert", "count=4", *ping, status=1)
        assert "assertion failed: count=4: it is 1" in done.stderr and nid("b") in done.stderr, done.stderr
        assert 'failures="1"' in report.read_text() and "is 1" in report.read_text(), report.read_text()
        lnetdump(site, a, "--assert", "count>=0", "sh", "-c", "exit 7", status=7)
        lnetdump(site, a, "--assert", "count>=0", "/nonexistent", status=125)
        done = site.run(site.program("lnetdump"), "--socket", str(site.path("none")), "--assert", "count=0", "true")
        assert done.returncode == 125 and "no node listens" in done.stderr, done
        done = lnetdump(site, a, "--assert", "many=0", "true", status=2)
        assert "is not one of count" in done.stderr, done.stderr


def case_runs_of_a_command_are_compared(site):
    with two_nodes(site) as (a, b):
        ping = (site.program("lnetctl"), "--socket", str(a.socket), "ping", nid("b"))
        for name, command in (("one", ping), ("same", ping), ("more", (*ping, nid("b")))):
            lnetdump(site, a, "--record", site.path(name), *command)
        diff = [site.program("lnetdump"), "diff", str(site.path("one"))]
        done = site.run(*diff, str(site.path("same")))
        assert done.returncode == 0 and not done.stdout, done
        done = site.run(*diff, str(site.path("more")))
        assert done.returncode == 1 and f"+1 SEND {nid('a')} > {nid('b')} GET" in done.stdout, done
        assert site.run(*diff, str(site.path("none"))).returncode == 2


def instruction(code, registers=0, offset=0, immediate=0):
    return struct.pack("<BBhi", code, registers, offset, immediate)


def case_programs_of_users_filter_and_bad_ones_are_refused(site):
    with two_nodes(site) as (a, b):
        gets = site.path("gets.bpf")  # r0 = type; if it is 2, 1, else 0
        gets.write_bytes(instruction(0x71, 0x10, 125) + instruction(0x15, 0x00, 2, 2) + instruction(0xb7) + instruction(0x95)
                         + instruction(0xb7, 0, 0, 1) + instruction(0x95))
        reader = Reader(site, b, "gets", "--bpf", gets, "-p", FIELDS)
        assert reader.shown()["filter"] == "(program)", reader.shown()
        ping_many(a, nid("b"), 3)
        eventually("they are there", lambda: len(reader.lines()) >= 3)
        assert reader.stop() == 0
        assert set(reader.lines()) == {f"RECV GET {nid('a')} {nid('b')}"}, reader.lines()
        loop = site.path("loop.bpf")
        loop.write_bytes(instruction(0xb7) + instruction(0x05, 0, -2) + instruction(0x95))
        done = lnetdump(site, b, "--bpf", loop, status=2)
        assert "instruction 1: a jump leads backward" in done.stderr, done.stderr


def case_programs_are_compiled_by_clang(site):
    if site.run("sh", "-c", "clang-19 --print-targets | grep -q bpf").returncode != 0:
        raise Skip("clang with the target bpf is not installed")
    with two_nodes(site) as (a, b):
        source = site.write("filter.c", """
#include "lnetdump_filter.h"
int wanted(const struct lnetdump_message *message) {
  return message->type == LNETDUMP_GET && message->present & LNETDUMP_HAS_PORTAL && message->portal == 0;
}
""")
        header = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../apps/lnetdump")
        done = site.run("clang-19", "-target", "bpf", "-mcpu=v2", "-O2", "-I", header, "-c", source, "-o", str(site.path("filter.o")))
        assert done.returncode == 0, done.stderr
        reader = Reader(site, b, "compiled", "--bpf", site.path("filter.o"), "-p", FIELDS)
        ping_many(a, nid("b"), 2)
        eventually("they are there", lambda: len(reader.lines()) >= 2)
        assert reader.stop() == 0
        assert set(reader.lines()) == {f"RECV GET {nid('a')} {nid('b')}"}, reader.lines()


def case_tables_come_again_and_again(site):
    node = site.node("--config", one_shard(site))
    reader = Reader(site, node, "top", "--top", "0.05", "--seconds", "60")
    title = "from > to"
    eventually("there are three of them", lambda: sum(line.startswith(title) for line in reader.lines()) >= 3)
    assert reader.stop() == 0, reader.said()
    done = lnetdump(site, node, "--seconds", "0.01", "--summary", "--json")
    assert json.loads(done.stdout)["messages"] == 0, done


def case_drops_are_seen_with_their_cause(site):
    with two_nodes(site) as (a, b):
        works(b, "fault", "drop", "add", "-s", nid("a"), "-d", "*@tcp", "-r", "1", "-m", "GET")
        reader = Reader(site, b, "reader", "drop", "--json")
        a.lnetctl("ping", "--timeout", "1", nid("b"))
        eventually("the drop is there", lambda: len(reader.lines()) >= 1)
        assert reader.stop() == 0
        one = json.loads(reader.lines()[0])
        assert (one["dir"], one["cause"], one["type"], one["src"]) == ("DROP", "dropped_fault_rule", "GET", nid("a")), one


def case_captures_go_on_when_lnet_is_taken_down_and_up(site):
    with two_nodes(site) as (a, b):
        reader = Reader(site, b, "reader", "get", "-p", "%Ls")
        pings(a, nid("b"))
        works(b, "lnet", "unconfigure")
        works(b, "lnet", "configure")
        add_v4(b)
        before = len(reader.lines())
        eventually("it answers again", lambda: a.lnetctl("ping", "--timeout", "1", nid("b")).returncode == 0)
        eventually("messages are seen again", lambda: len(reader.lines()) > before)
        assert reader.stop() == 0


def case_nodes_elsewhere_are_captured_by_ssh(site):
    """A script replaces ssh and runs its command in a shell, as sshd does."""
    with two_nodes(site) as (a, b):
        stand_in = site.path("bin")
        stand_in.mkdir()
        (stand_in / "lnetdump").symlink_to(site.program("lnetdump"))
        (stand_in / "ssh").write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift 2\nexec sh -c "$*"\n')
        (stand_in / "ssh").chmod(0o755)
        path = f"{stand_in}:{os.environ['PATH']}"
        words = ("env", f"PATH={path}", site.program("lnetdump"), "--ssh", "elsewhere", "--socket", str(b.socket))
        ping = (site.program("lnetctl"), "--socket", str(a.socket), "ping", nid("b"))
        done = site.run(*words, "--filter", "get and not portal 5", "--settle", "1500", "--assert", "count=1", *ping)
        assert done.returncode == 0, done
        assert "1 message," in done.stderr, done.stderr
        eventually("nothing is left there", lambda: not captures(b))
        done = site.run("env", f"PATH={path}", site.program("lnetdump"), "--ssh", "elsewhere", "--socket", str(site.path("none")))
        assert done.returncode == 1 and "no node listens" in done.stderr, done
