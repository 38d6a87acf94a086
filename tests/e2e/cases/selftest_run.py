# SPDX-License-Identifier: BSD-3-Clause
"""`lnet-selftest run` with real processes: a short plan from end to end, interrupts and thresholds."""
import contextlib
import csv
import json
import os
import pathlib
import signal
import subprocess

from routed_hosts import RoutedHosts
from selftest_hosts import CONSOLE, Lst, config, loses_session, selftest_hosts, start
from site_under_test import Skip, eventually
from tcp_nodes import counted

FILES = ("report.txt", "report.json", "report.csv", "report.html")


class Runs:
    """Runs from the console's host, one after another."""

    def __init__(self, hosts, node=None):
        self.hosts, self.site = hosts, hosts.site
        self.run_dir = node.socket.parent if node else self.site.path("consoles")
        self.config = config(hosts, CONSOLE)

    def command(self, folder, *words):
        hosts, site = self.hosts, self.site
        return ["ip", "netns", "exec", hosts.names[CONSOLE], site.program("lnet-selftest"), "run", "--run-dir", str(self.run_dir),
                "--config", self.config, "--lock-dir", str(site.lock_dir), "--report", str(folder), "--from", hosts.nid("client"),
                "--to", hosts.nid("server"), "--test", "write", "--size", "4k", "--concurrency", "1,4", "--warmup", "0",
                "--duration", "1", "--repeats", "2", *words]

    def call(self, folder, *words):
        return subprocess.run(self.command(folder, *words), capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL,
                              cwd=self.site.directory)

    @contextlib.contextmanager
    def under_way(self, folder, *words):
        with subprocess.Popen(self.command(folder, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL, cwd=self.site.directory) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def leaves_nothing(self, *nodes):
        for node in nodes:
            loses_session(node)
        eventually("the console has ended", lambda: not list(pathlib.Path(self.run_dir).glob("lst-*.sock")))


def pair(hosts):
    return start(hosts, "client"), start(hosts, "server")


def read(folder):
    return json.loads((pathlib.Path(folder) / "report.json").read_text())


def case_a_short_plan(site):
    with selftest_hosts(site) as hosts:
        nodes = pair(hosts)
        runs = Runs(hosts)
        first, second = site.path("first"), site.path("second")
        done = runs.call(first)
        assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
        assert "complete" in done.stdout, done.stdout
        runs.leaves_nothing(*nodes)
        assert sorted(path.name for path in pathlib.Path(first).iterdir()) == sorted(FILES)
        report = read(first)
        assert report["complete"] and not report["interrupted"] and report["failure"] == "", report
        points = report["points"]
        assert [(each["test"], each["size"], each["concurrency"]) for each in points] == [("write", 4096, 1), ("write", 4096, 4)]
        for point in points:
            assert len(point["repeats"]) == 2 and point["errors"] == 0, point
            assert point["throughput_mibps"]["median"] > 0 and point["rpc_rate"]["median"] > 0, point
            for repeat in point["repeats"]:
                # 4 KiB with each RPC, plus protocol messages.
                assert repeat["throughput_mibps"] * 1048576 >= 0.9 * repeat["rpc_rate"] * 4096, repeat
                assert repeat["cpus"] and repeat["seconds"] > 0.5, repeat
                assert repeat["from"]["nodes"][0]["node"] == f"12345-{hosts.nid('client')}", repeat
        mtus = [each["mtu"] for each in report["environment"]["interfaces"]]
        assert "1500" in mtus, report["environment"]
        rows = list(csv.DictReader((pathlib.Path(first) / "report.csv").open()))
        assert len(rows) == 4 and all(float(row["rpc_rate"]) > 0 for row in rows), rows
        page = (pathlib.Path(first) / "report.html").read_text()
        assert page.count("<svg") >= 2 and "http" not in page, page[:300]
        done = runs.call(second, "--concurrency", "4")
        assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
        compared = subprocess.run([site.program("lnet-selftest"), "compare", f"{first}/report.json", f"{second}/report.json"],
                                  capture_output=True, text=True, timeout=30)
        assert compared.returncode in (0, 3), compared
        assert "write 4k, concurrency 4" in compared.stdout, compared
        assert "only in one of them: write 4k, concurrency 1 (first)" in compared.stdout, compared


def case_an_interrupt_leaves_a_report_and_no_session(site):
    with selftest_hosts(site) as hosts:
        nodes = pair(hosts)
        runs = Runs(hosts)
        folder = site.path("partial")
        with runs.under_way(folder, "--duration", "60") as process:
            # A session, a test, two queries before it runs, RUN, and three samples, of which two
            # have arrived.
            eventually("it measures", lambda: counted(nodes[0], "selftest", "rpcs_received") >= 8)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert process.returncode == 130, (process.returncode, out, err)
        assert "interrupted" in err, (out, err)
        runs.leaves_nothing(*nodes)
        report = read(folder)
        assert report["interrupted"] and not report["complete"], report["outcome"]
        repeat = report["points"][0]["repeats"][0]
        assert repeat["cut_short"] and repeat["throughput_mibps"] > 0, repeat


def case_thresholds_and_plans(site):
    with selftest_hosts(site) as hosts:
        # The node of this host is the console. All sockets of a site are in one folder.
        node = start(hosts, CONSOLE, "--instance", "standing")
        nodes = pair(hosts)
        runs = Runs(hosts, node=node)
        plan = site.write("plan.yaml", "repeats: 1\nthresholds: {rate_min_rps: 1000000000, errors_max: 0}\n")
        done = runs.call(site.path("missed"), plan, "--concurrency", "2", "--repeats", "1", "--instance", "standing")
        assert done.returncode == 3, f"{done.returncode}\n{done.stdout}{done.stderr}"
        assert "threshold missed: write 4k, concurrency 2: " in done.stdout, done.stdout
        assert len(read(site.path("missed"))["thresholds_missed"]) == 1
        # Both clients have their sockets where the run looks for nodes of its host.
        local = runs.call(site.path("local"), "--from", hosts.nid(CONSOLE), "--instance", "standing")
        assert local.returncode == 0, local
        repeat = read(site.path("local"))["points"][1]["repeats"][1]
        told, own = repeat["latency_us"], repeat["from"]["nodes"][1]
        assert own["node"] == f"12345-{hosts.nid(CONSOLE)}", repeat
        assert 0 < told["p50"] <= told["p99"] <= told["max"], repeat
        assert 0.5 * repeat["rpc_rate"] < told["count"] / repeat["seconds"] < 2 * repeat["rpc_rate"], repeat
        assert told["count"] == sum(each["count"] for each in repeat["latency_us_by_node"].values()), repeat
        assert f"12345-{hosts.nid(CONSOLE)}" in [each["node"] for each in repeat["cpts"]], repeat
        for each in (*nodes, node):
            loses_session(each)
        assert node.process.poll() is None
        bad = site.write("bad.yaml", "speed: 3\n")
        done = runs.call(site.path("bad"), bad)
        assert done.returncode == 2 and f"{bad}:1:1: unknown key 'speed'" in done.stderr, done
        assert not os.path.exists(site.path("bad"))


def case_a_router_is_in_the_report(site):
    with selftest_hosts(site, RoutedHosts) as hosts:
        router = hosts.node("r0", "--config", config(hosts, "r0"), "--idle", "sleep", "--selftest", "--drain-timeout", "0")
        pair(hosts)
        runs = Runs(hosts, node=router)
        folder = site.path("routed")
        words = ("--instance", "control", "--router", str(router.socket), "--concurrency", "4")
        done = runs.call(folder, *words)
        assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
        report = read(folder)
        # All sockets are in one folder here, so that the run also finds the client and the server.
        pollers = {each["role"]: each for each in report["points"][0]["repeats"][1]["pollers"]}
        assert set(pollers) == {"client", "server", "router"}, pollers
        for role, each in pollers.items():
            assert 0 < each["duty_percent"] <= 100 and each["shards"], each
            assert each["cycles_per_message" if role == "router" else "cycles_per_rpc"] > 0, each
        assert pollers["router"]["node"] == hosts.nid("r0", 0) and pollers["router"]["forward_rate"] > 0, pollers
        assert "routing" in report["configurations"][hosts.nid("r0", 0)], report["configurations"]
        text = (pathlib.Path(folder) / "report.txt").read_text()
        assert f"pollers of {hosts.nid('r0', 0)} (router): duty " in text, text
        done = runs.call(site.path("none"), *words[:2], "--router", str(site.path("none.sock")))
        assert done.returncode == 2 and "none.sock" in done.stderr, done


def case_a_session_of_others_is_named_and_dropped_by_force(site):
    with selftest_hosts(site) as hosts:
        nodes = pair(hosts)
        lst, runs = Lst(hosts), Runs(hosts)
        lst.works("new_session", "--timeout", "100", "night")
        lst.group("clients", hosts.nid("client"))
        folder = site.path("refused")
        done = runs.call(folder)
        assert done.returncode == 1 and "has the session 'night' (LST_SESSION=77), which ends in " in done.stderr, done
        assert "which ends in " in lst.fails("new_session"), "lst names it as well"
        done = runs.call(site.path("forced"), "--force", "--concurrency", "1", "--repeats", "1")
        assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
        runs.leaves_nothing(*nodes)


def case_a_node_that_is_not_there_is_named(site):
    with selftest_hosts(site) as hosts:
        client = start(hosts, "client")
        runs = Runs(hosts)
        folder = site.path("failed")
        done = runs.call(folder)
        assert done.returncode == 1, f"{done.returncode}\n{done.stdout}{done.stderr}"
        assert f"session on nodes: 12345-{hosts.nid('server')}: " in done.stderr, done.stderr
        assert hosts.nid("server") in read(folder)["failure"]
        runs.leaves_nothing(client)


def case_a_first_look(site):
    if os.geteuid() != 0:
        raise Skip("needs root to claim CPUs for nodes")
    folder, temporary = site.path("look"), site.path("temporary")
    temporary.mkdir()
    done = subprocess.run([site.program("lnet-selftest"), "run", "--loopback", "--lock-dir", str(site.lock_dir), "--report", str(folder),
                           "--size", "4k", "--warmup", "0", "--duration", "200ms", "--repeats", "1", "--baseline"],
                          capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL, cwd=site.directory,
                          env={**os.environ, "TMPDIR": str(temporary)})
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
    assert sorted(path.name for path in pathlib.Path(folder).iterdir()) == sorted(FILES)
    points = read(folder)["points"]
    assert [each["test"] for each in points] == ["ping", "read", "write"], points
    for point in points:
        assert point["errors"] == 0 and point["rpc_rate"]["median"] > 0, point
        assert point["repeats"][0]["latency_us"]["count"] > 0, point
        if len(os.sched_getaffinity(0)) > 1:
            floor = point["repeats"][0]["floor"]
            # Others on this machine may have taken too much of its CPUs meanwhile.
            assert floor["exchange_rate"] > 0 and ("percent_of_floor" in point) == (floor["disturbed_percent"] <= 10), point
    assert not list(temporary.iterdir()), list(temporary.iterdir())
    elsewhere = subprocess.run([site.program("lnet-selftest"), "run", "--loopback", "--to", "10.0.0.9@tcp"],
                               capture_output=True, text=True, timeout=30)
    assert elsewhere.returncode == 2 and "nodes of its own" in elsewhere.stderr, elsewhere


def case_an_open_loop(site):
    with selftest_hosts(site) as hosts:
        node = start(hosts, CONSOLE, "--instance", "standing")
        nodes = pair(hosts)
        runs = Runs(hosts, node=node)
        folder = site.path("paced")
        done = runs.call(folder, "--from", hosts.nid(CONSOLE), "--control", f"{hosts.nid('client')}={nodes[0].socket}", "--rate", "400",
                         "--arrivals", "constant", "--concurrency", "64", "--repeats", "1", "--instance", "standing")
        assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
        point = read(folder)["points"][0]
        assert point["rate"] == 400 and point["errors"] == 0, point
        repeat = point["repeats"][0]
        assert set(repeat["latency_us_by_node"]) == {f"12345-{hosts.nid(name)}" for name in ("client", CONSOLE)}, repeat
        # Never more than requested, at any speed of the machine. The two answers are not from the
        # same moment.
        assert 0 < repeat["pace"]["begun"] <= 400 * (repeat["seconds"] + 10), repeat
        assert repeat["latency_us"]["count"] > 0, repeat
        assert counted(nodes[0], "selftest_pace", "begun") > 0
        for each in (*nodes, node):
            loses_session(each)


def case_a_client_that_cannot_be_paced(site):
    with selftest_hosts(site) as hosts:
        nodes = pair(hosts)
        runs = Runs(hosts)
        folder = site.path("refused")
        done = runs.call(folder, "--rate", "100")
        assert done.returncode == 2, f"{done.returncode}\n{done.stdout}{done.stderr}"
        assert f"the pace of 12345-{hosts.nid('client')} cannot be set" in done.stderr, done.stderr
        other = runs.call(folder, "--rate", "100", "--control", f"{hosts.nid('client')}={nodes[1].socket}")
        assert other.returncode == 2 and "is of another node" in other.stderr, other
        gone = runs.call(folder, "--rate", "100", "--control", f"{hosts.nid('client')}={site.path('gone.sock')}")
        assert gone.returncode == 2 and "gone.sock" in gone.stderr, gone
        assert not os.path.exists(folder)
        runs.leaves_nothing(*nodes)
