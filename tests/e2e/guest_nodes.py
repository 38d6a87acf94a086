# SPDX-License-Identifier: BSD-3-Clause
"""Nodes with o2ib networks inside guests, with the same methods as nodes on the host (site_under_test.Node)."""
import json
import signal

from cases_common import CPT, PLAN
from guests import ADDRESSES, BOOT, CALL_TIMEOUT_S
from traffic_nodes import count, has_answered

START_TIMEOUT_S = 300  # emulated, in parallel with other cases
END_TIMEOUT_S = 60
WAIT_S = 300
# Long enough for a guest on a busy machine to connect.
OPTIONS = """options lnet lnet_transaction_timeout=30 lnet_retry_count=2
options ko2iblnd timeout=15
"""
O2IB = "{net type: o2ib, local NI(s): [{interfaces: {0: eth0}}]}"


class GuestNode:
    def __init__(self, site, guest, program, arguments, name):
        self.site, self.guest, self.name, self.code = site, guest, name, None
        self.socket, self.log = f"{folder_of(site)}/{name}.sock", f"{folder_of(site)}/{name}.log"
        locks = guest.write(f"{folder_of(site)}/locks-{name}/made", "").rpartition("/")[0]
        words = [site.program(program), "--socket", self.socket, "--lock-dir", locks, *arguments]
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
        line = self.guest.ask("control", path=self.socket, verb=" ".join(words), args={}, limit_s=CALL_TIMEOUT_S)["line"]
        assert line, f"{self.name} does not answer"
        answer = json.loads(line)
        assert "result" in answer, answer
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


def nid(side, net="o2ib"):
    return f"{ADDRESSES[side]}@{net}"


def tcp(address):
    return f"{{net type: tcp, local NI(s): [{{nid: '{address}@tcp'}}]}}"


def node(site, side, program, *arguments, name=None, shards=1, nets=(O2IB,)):
    """Starts a node; wait_ready() waits for it."""
    guest, name = BOOT.pair()[side], name or side
    cpts = CPT.format(cpu=0) + "".join(f"\n                - cpu: {cpu}" for cpu in range(1, shards))
    plan = PLAN.format(cpts=cpts).replace("arena_mib: 4", f"arena_mib: {8 + 12 * shards}")
    config = guest.write(f"{folder_of(site)}/{name}.yaml", f"net: [{', '.join(nets)}]\n" + plan)
    options = guest.write(f"{folder_of(site)}/{name}.conf", OPTIONS)
    return GuestNode(site, guest, program, ["--config", config, "--idle", "sleep", "--options", options, *arguments], name)


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


def ni_status(each, net="o2ib"):
    return next(ni["status"] for row in each.json("net", "show")["net"] if row["net type"] == net for ni in row["local NI(s)"])


class TcpHost:
    """A host with TCP inside a guest: a network namespace on a veth pair."""

    NAMESPACE, ROUTER, HOST = "tcp-host", "10.98.0.1", "10.98.0.2"

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
