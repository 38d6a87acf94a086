# SPDX-License-Identifier: BSD-3-Clause
"""Nodes with o2ib networks inside guests, with the same methods as nodes on the host (site_under_test.Node)."""
import collections
import json
import signal

from cases_common import CPT, PLAN
from guests import ADDRESSES, BOOT, CALL_TIMEOUT_S
from site_under_test import eventually
from traffic_nodes import count, has_answered

START_TIMEOUT_S = 300  # emulated, in parallel with other cases
END_TIMEOUT_S = 60
WAIT_S = 300
# Long enough for a guest on a busy machine to connect.
OPTIONS = """options lnet lnet_transaction_timeout=30 lnet_retry_count=2
options ko2iblnd timeout=15
"""
SIDES = tuple(ADDRESSES)
O2IB = "{net type: o2ib, local NI(s): [{interfaces: {0: eth0}}]}"


class GuestNode:
    def __init__(self, site, guest, program, arguments, name, prefix=()):
        """`program`: with its verb, if it has one. `prefix`: the command that runs it."""
        self.site, self.guest, self.name, self.code = site, guest, name, None
        self.socket, self.log = f"{folder_of(site)}/{name}.sock", f"{folder_of(site)}/{name}.log"
        self.locks = guest.write(f"{folder_of(site)}/locks-{name}/made", "").rpartition("/")[0]
        program, *verb = program.split()
        words = [*prefix, site.program(program), *verb, "--socket", self.socket, "--lock-dir", self.locks, *arguments]
        self.pid = guest.ask("start", words=words, log=self.log)["pid"]
        site.nodes.append(self)

    def wait_ready(self):
        self.code = self.guest.ask("await", START_TIMEOUT_S + 10, pid=self.pid, path=self.socket, limit_s=START_TIMEOUT_S)["code"]
        assert self.code is None, f"{self.name} ended with {self.code}:\n{self.output()}"
        return self

    def lnetctl(self, *words, stdin=""):
        return self.guest.run(self.site.program("lnetctl"), "--socket", self.socket, *words, stdin=stdin)

    def must(self, *words):
        done = self.lnetctl(*words)
        assert done.returncode == 0, f"{self.name}: lnetctl {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def json(self, *words):
        """The output of `lnetctl --json`. Without options the node is asked directly."""
        if any(word.startswith("-") for word in words):
            return json.loads(self.must("--json", *words))
        return self.ask(" ".join(words))

    def ask(self, verb, **args):
        """As site_under_test.Node.ask(): without a process, whose start takes seconds under emulation."""
        line = self.guest.ask("control", path=self.socket, verb=verb, args=args, limit_s=CALL_TIMEOUT_S)["line"]
        assert line, f"{self.name} does not answer"
        answer = json.loads(line)
        assert "result" in answer, f"{self.name}: {verb}: {answer}"
        return answer["result"]

    def stop(self, how=signal.SIGTERM):
        if self.code is None and not self.guest.has_ended:
            self.guest.ask("signal", pid=self.pid, signal=int(how))
            self.code = self.guest.ask("wait", END_TIMEOUT_S + 10, pid=self.pid, limit_s=END_TIMEOUT_S)["code"]
        return self.code

    def output(self):
        return "(its guest has ended)" if self.guest.has_ended else self.guest.read(self.log)


def folder_of(site):
    return f"/tmp/{site.directory.name}"


def other(side):
    return "b" if side == "a" else "a"


def nid(side, net="o2ib"):
    return f"{ADDRESSES[side]}@{net}"


def tcp(address):
    return f"{{net type: tcp, local NI(s): [{{nid: '{address}@tcp'}}]}}"


def node(site, side, program, *arguments, name=None, shards=1, nets=(O2IB,), more="", settings="", options="", idle="sleep", prefix=()):
    """Starts a node; wait_ready() waits for it. `more` goes into the document, `settings` into its section `plnet`, `options` to modules."""
    guest, name = BOOT.pair()[side], name or side
    cpts = CPT.format(cpu=0) + "".join(f"\n                - cpu: {cpu}" for cpu in range(1, shards))
    plan = PLAN.format(cpts=cpts).replace("arena_mib: 4", f"arena_mib: {8 + 12 * shards}")
    config = guest.write(f"{folder_of(site)}/{name}.yaml", f"net: [{', '.join(nets)}]\n{more}{plan}{settings}")
    module_options = guest.write(f"{folder_of(site)}/{name}.conf", OPTIONS + options)
    words = ["--config", config, "--idle", idle, "--options", module_options, *arguments]
    return GuestNode(site, guest, program, words, name, prefix)


def traffic(site, side, *to, operations=0, **how):
    """Sends PUTs and GETs of all sizes to those NIDs, endlessly without a count, and answers others."""
    targets = [word for each in to for word in ("--to", each)]
    return node(site, side, "lnet-traffic", "--window", "4", "--stay", "--count", str(operations), *targets, **how)


def ready(*nodes):
    """Waits for nodes that start in parallel."""
    for each in nodes:
        each.wait_ready()
    return nodes


def goes_on(each, operations=10):
    """It gets this many further answers."""
    before = count(each, "answered")
    try:
        has_answered(each, before + operations, WAIT_S)
    except AssertionError as error:
        raise AssertionError(f"{error}\n" + "\n".join(map(standing, each.site.nodes))) from None


def standing(each):
    """Counters other than 0, for failure reports."""
    if each.code is not None:
        return f"{each.name} ended with {each.code}"
    sets = each.json("counters", "show")["counters"]
    rows = [{key: value for key, value in row.items() if value} for row in sets if row["object"] in ("lnd_o2ib", "mlx", "traffic", "o2ib_door")]
    return f"{each.name}: {rows} {each.json('conn', 'show')}"


def rows_of(each, object_name):
    """Its counters in sets of this name: one set for each shard, or for each NI and shard."""
    return [row for row in each.ask("counters show")["counters"] if row["object"] == object_name]


def pings_and_discovers(each, target):
    """As a user does it. The first ping connects."""
    (report,) = each.json("ping", "--timeout", "30", target)["ping"]
    assert report["primary nid"] == target, report
    (report,) = each.json("discover", "--force", target)["discover"]
    assert target in json.dumps(report), report
    (peer,) = each.ask("peer show", nid=target)["peer"]
    assert peer["Multi-Rail"], peer
    assert {conn["state"] for conn in each.ask("conn show", nid=target)["conn"]} == {"open"}


def rests(each):
    """All memory is free: no message is under way, and none waits until its peer can no longer write."""
    def is_free():
        return each.ask("stats show")["statistics"]["msgs_alloc"] == 0 and count_of(each, "quarantine_waiting", "lnet_wait") == 0
    eventually(f"all messages of {each.name} are free", is_free, WAIT_S)


# Only a fault of ours or of the peer raises these counters and those of dropped messages. The end of a queue pair does not.
NEVER = {"stray_completions": "lnd_o2ib", "stale_resumes": "lnd_o2ib", "unexpected_events": "lnd_o2ib", "rejected": "lnd_o2ib",
         "timeouts": "lnd_o2ib", "drains_forced": "mlx"}


def have_no_trouble(*nodes):
    for each in nodes:
        for row in rows_of(each, "lnd_o2ib") + rows_of(each, "mlx"):
            found = {name: n for name, n in row.items() if n and (name.startswith("dropped_") or name in NEVER and row["object"] == NEVER[name])}
            assert not found, f"{each.name}: {row['object']} of shard {row['shard']}: {found}\n{standing(each)}"


def count_of(each, name, object_name="lnd_o2ib"):
    return sum(row[name] for row in rows_of(each, object_name))


def incarnations(each, peer):
    """Of the peer, by the open connections to it."""
    return {conn["queue pair"]["incarnation"] for conn in each.ask("conn show", nid=peer, verbose=1)["conn"] if conn["state"] == "open"}


def ni_status(each, net="o2ib"):
    return next(ni["status"] for row in each.json("net", "show")["net"] if row["net type"] == net for ni in row["local NI(s)"])


class TcpHost:
    """A host with TCP inside a guest: a network namespace on a veth pair."""

    NAMESPACE, ROUTER, HOST = "tcp-host", "10.98.0.1", "10.98.0.2"
    INSIDE = ("ip", "netns", "exec", NAMESPACE)

    def __init__(self, guest):
        self.guest = guest

    def __enter__(self):
        for words in (f"netns add {self.NAMESPACE}", f"link add leg type veth peer name eth0 netns {self.NAMESPACE}",
                      f"address add {self.ROUTER}/24 dev leg", "link set leg up",
                      f"-n {self.NAMESPACE} address add {self.HOST}/24 dev eth0", f"-n {self.NAMESPACE} link set eth0 up",
                      f"-n {self.NAMESPACE} link set lo up"):
            self.guest.must("ip", *words.split())
        return self

    def __exit__(self, *_):
        self.guest.run("ip", "netns", "delete", self.NAMESPACE)  # also deletes the pair
