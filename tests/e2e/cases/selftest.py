# SPDX-License-Identifier: BSD-3-Clause
"""LNet selftest with real processes: `lst` drives test nodes over TCP, directly and through a router that is a test node as
well."""
import re
import signal
import time

from routed_hosts import RoutedHosts
from selftest_hosts import CONSOLE, Lst, config, has_session, loses_session, selftest_hosts, start
from site_under_test import eventually
from tcp_nodes import counted, reaches, works

RATES = r"""\[LNet Rates of servers\]
\[R\] Avg: \d+ +RPC/s Min: \d+ +RPC/s Max: \d+ +RPC/s
\[W\] Avg: \d+ +RPC/s Min: \d+ +RPC/s Max: \d+ +RPC/s
\[LNet Bandwidth of servers\]
\[R\] Avg: \d+\.\d\d +MiB/s Min: \d+\.\d\d +MiB/s Max: \d+\.\d\d +MiB/s\x20
\[W\] Avg: \d+\.\d\d +MiB/s Min: \d+\.\d\d +MiB/s Max: \d+\.\d\d +MiB/s\x20
"""


def pair(hosts, shards=1, selftest=""):
    return start(hosts, "client", shards=shards, selftest=selftest), start(hosts, "server", shards=shards, selftest=selftest)


def begin(hosts, lst):
    """Begins a session with one node in each group."""
    said = lst.works("new_session", "--timeout", "100", "night")
    assert said == "SESSION: night FEATURES: 1 TIMEOUT: 100 FORCE: No\n", said
    lst.group("clients", hosts.nid("client"))
    lst.group("servers", hosts.nid("server"))


def run_for_a_while(lst, batch):
    assert lst.works("run", batch) == f"{batch} is running now\n"
    said = lst.works("stat", "--delay", "1", "--count", "1", "servers")
    assert re.fullmatch(RATES, said), said
    assert lst.works("query", batch) == f"{batch} [0] is running\n"
    lst.without_errors("clients", "servers")
    assert lst.works("stop", batch).endswith("Batch is stopped\n")
    assert lst.works("query", batch) == f"{batch} [0] is stopped\n"


def moved(node):
    return counted(node, "selftest_server", "bulk_get"), counted(node, "selftest_server", "bulk_put")


def case_a_session_from_its_own_console(site):
    with selftest_hosts(site) as hosts:
        client, server = pair(hosts, shards=2)
        lst = Lst(hosts)
        assert lst.fails("show_session") == "No session exists\n"
        begin(hosts, lst)
        said = lst.works("show_session")
        assert re.fullmatch(rf"night ID: \d+@{re.escape(hosts.nid(CONSOLE))}, KEY: 77 FEATURES: 1 NODES: 2\n", said), said
        assert has_session(client) and has_session(server)
        assert lst.works("list_group") == "1) clients\n2) servers\nTotal 2 groups\n"
        assert lst.works("list_group", "clients") == "\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL\n\t1\t0\t0\t0\t1\tclients\n"
        lst.works("add_batch", "all")
        for words in (("ping",), ("brw", "read", "check=full", "size=4K"), ("brw", "write", "check=full", "size=1M")):
            lst.test("all", *words)
        said = lst.works("list_batch", "all")
        assert said.startswith("Batch: all Tests: 3 State: 176\n") and "\tTest 3(brw) (loop: -1, concurrency: 4)\n" in said, said
        run_for_a_while(lst, "all")
        assert min(moved(server)) > 0
        id_text = hosts.nid(CONSOLE)
        assert lst.works("ping", "--session") == "".join(
            f"\t12345-{hosts.nid(name)}: Active [session: night id: {id_text}]\n" for name in ("client", "server"))
        assert lst.works("end_session") == "session is ended\n"
        loses_session(client)
        loses_session(server)
        eventually("the console has ended", lambda: not lst.background.exists())
        assert lst.fails("list_group") == "No session exists\n"


def case_tests_that_end_by_themselves(site):
    with selftest_hosts(site) as hosts:
        _, server = pair(hosts)
        lst = Lst(hosts)
        begin(hosts, lst)
        lst.test("batch", "--loop", "10", "brw", "write", "check=full", "size=8K", concurrency=2)
        lst.works("run")
        eventually("the batch is over", lambda: lst.works("query") == "batch [0] is stopped\n")
        assert moved(server) == (20 * 8192, 0)
        lst.without_errors("clients", "servers")
        lst.works("end_session")


def case_a_node_is_killed_while_tests_run(site):
    with selftest_hosts(site) as hosts:
        client, server = pair(hosts)
        lst = Lst(hosts)
        begin(hosts, lst)
        lst.test("batch", "brw", "write", "size=64K")
        lst.works("run")
        server.stop(signal.SIGKILL)
        assert "RPC failure, can't show error on" in lst.fails("show_error", "servers", status=254)
        done = lst.call("ping", "--group", "servers", "--timeout", "6")
        # Down if it was silent, Active if the network reported at once that it is unreachable.
        assert re.match(rf"\t12345-{hosts.nid('server')}: (Down|Active) \[session: (<NULL>|Unknown) id: <\?>\]\n", done.stdout), done
        assert done.returncode == 254
        lst.works("stop", "--force")
        lst.call("end_session")
        loses_session(client)
        eventually("the console has ended", lambda: not lst.background.exists())
        start(hosts, "server", life="-again")
        begin(hosts, lst)
        lst.test("batch", "ping")
        run_for_a_while(lst, "batch")
        lst.works("end_session")


def case_the_console_is_killed_while_tests_run(site):
    with selftest_hosts(site) as hosts:
        # Longer than the longest silence of consoles (half of it and 8 s), so that the second
        # session does not expire on a slow machine.
        nodes = pair(hosts, selftest=", session_timeout_sec: 17")
        lst = Lst(hosts)
        begin(hosts, lst)
        nodes[0].ask("selftest pace", rate=200)  # a fixed rate, so that the test lasts some 20 s
        lst.test("batch", "brw", "read", "check=simple", "size=16K")
        lst.works("run")
        console = site.lnetctl("--socket", str(lst.background), "--json", "status")
        pid = int(re.search(r'"pid": *(\d+)', console.stdout).group(1))
        site.run("kill", "-KILL", str(pid))
        for node in nodes:
            loses_session(node, timeout_s=60)
        assert lst.fails("list_group") == "No session exists\n"
        assert counted(nodes[0], "selftest_session", "active_batches") == 0
        begin(hosts, lst)
        lst.test("batch", "ping")
        run_for_a_while(lst, "batch")
        lst.works("end_session")


def case_sessions_of_others(site):
    with selftest_hosts(site) as hosts:
        _, server = pair(hosts)
        lst = Lst(hosts)
        assert lst.fails("list_group", key="") == "Can't find env LST_SESSION or value is not valid\n"
        assert lst.fails("list_group") == "No session exists\n"
        begin(hosts, lst)
        for words in (("list_group",), ("add_batch", "b"), ("run",), ("end_session",)):
            assert lst.fails(*words, key=78) == "Unmatched session key or not root\n"
        for key in (78, None):
            said = lst.fails("new_session", "x", key=key)
            assert said.startswith("session already exists\n  the node 'lst-77' has the session 'night' (LST_SESSION=77), "), said
        lst.works("show_session")
        assert lst.fails("add_group", "clients", hosts.nid("client")) == "group already exists\n"
        assert lst.fails("run", "none") == "Can't find batch in current session\n"
        # A test that would crash kernels is not sent.
        assert "Invalid parameters" in lst.fails("add_test", "--from", "clients", "--to", "servers", "brw", "size=1001")
        assert lst.call("new_session", "--force", "x", key=78).returncode == 0
        assert lst.fails("list_group") == "Unmatched session key or not root\n"
        loses_session(server)
        assert lst.call("end_session", key=78).returncode == 0


def case_lnet_goes_down_under_a_session(site):
    with selftest_hosts(site) as hosts:
        client, server = pair(hosts, shards=2)
        lst = Lst(hosts)
        begin(hosts, lst)
        lst.test("batch", "brw", "write", "size=64K")
        lst.works("run")
        works(server, "lnet", "unconfigure")
        assert has_session(server, 0)
        works(server, "lnet", "configure", "--all")
        reaches(client, hosts.nid("server"))  # a refused peer does not retry at once
        lst.works("stop", "--force")
        assert lst.call("ping", "--group", "servers").stdout.startswith(f"\t12345-{hosts.nid('server')}: Unknown")
        lst.works("end_session")
        begin(hosts, lst)
        lst.test("batch", "brw", "write", "check=full", "size=64K")
        run_for_a_while(lst, "batch")
        lst.works("end_session")


def case_no_console_without_a_configuration(site):
    with selftest_hosts(site) as hosts:
        lst = Lst(hosts)
        lst.config = str(site.path("missing.yaml"))
        said = lst.fails("new_session")
        assert "missing.yaml" in said, said
        assert not lst.background.exists()


def case_a_router_that_is_node_and_console(site):
    with selftest_hosts(site, RoutedHosts) as hosts:
        router = hosts.node("r0", "--config", config(hosts, "r0", shards=2), "--idle", "sleep", "--selftest", "--drain-timeout", "0")
        client, server = pair(hosts)
        lst = Lst(hosts, node=router)
        assert "several nodes here can be the console" in lst.fails("new_session")  # all hosts
                                                                                    # share one
                                                                                    # folder here
        lst.options = ["--instance", "control"]
        begin(hosts, lst)
        assert not lst.background.exists()
        lst.group("router", hosts.nid("r0", 0))
        lst.works("add_batch", "through")
        for words in (("brw", "write", "check=full", "size=1M"), ("brw", "read", "check=full", "size=4K"), ("ping",)):
            lst.test("through", *words)
        run_for_a_while(lst, "through")
        assert min(moved(server)) > 0 and moved(router) == (0, 0)
        lst.works("add_batch", "leg")
        lst.works("add_test", "--batch", "leg", "--from", "clients", "--to", "router", "brw", "write", "check=full", "size=256K")
        lst.works("run", "leg")
        eventually("the leg is under load", lambda: moved(router)[0] > 0)
        lst.works("stop", "leg")
        lst.works("end_session")
        loses_session(client)
        time.sleep(1.5)
        assert router.process.poll() is None, "a node that was there before stays"
