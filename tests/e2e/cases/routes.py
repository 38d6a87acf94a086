# SPDX-License-Identifier: BSD-3-Clause
"""Routes from files, from options and at run time, with gateways that go down and come back."""
import json
import select
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

from cases_common import one_shard
from site_under_test import eventually
from tcp_nodes import fails, nid, start, works
from two_hosts import ip, two_hosts

INTERVAL_S, TIMEOUT_S = 1, 2
BUSY_S = 5  # delay by other users of the machine
OPTIONS = f"options lnet alive_router_check_interval={INTERVAL_S} router_ping_timeout={TIMEOUT_S}\n"
ROUTE = "route:\n    - net: o2ib\n      gateway: {gateway}\n"
# The far side of the gateway; no other node is needed there.
FAR = "net:\n    - net type: o2ib\n      local NI(s):\n        - nid: 10.9.0.2@o2ib\n          lnd tunables:\n              driver: 'null'\n"
NET = "net:\n    - net type: tcp\n      local NI(s):\n        - interfaces:\n              0: eth0\n"
MORE = """net: [{net type: tcp7, local NI(s): [{nid: 10.9.0.1@tcp7, lnd tunables: {driver: 'null'}}]}]
route: [{net: o2ib1, gateway: 10.88.0.8@tcp}]
peer: [{primary nid: 10.88.0.6@tcp}]
plnet: {log: {level: warning}}
"""
# At start: enabled later, it would give its peers two minutes.
ROUTES = "routing:\n    - enable: 1\n"


def routes(node, *words):
    return node.json("route", "show", "-v", "3", *words).get("route", [])


def state(node):
    return routes(node)[0]["state"]


def causes(node):
    return [each["cause"] for each in routes(node)[0]["changes"]["last"]]


def gateway(hosts, site, name, more=""):
    node = start(hosts, "b", site.write(f"{name}.yaml", open(one_shard(site), encoding="ascii").read() + FAR + more), name=name)
    works(node, "net", "add", "--net", "tcp", "--if", "eth0")
    return node


def becomes(node, wanted, since):
    """Within the interval and the timeout of a check."""
    eventually(f"the gateway is {wanted}", lambda: state(node) == wanted)
    took = time.monotonic() - since
    assert took < INTERVAL_S + TIMEOUT_S + BUSY_S, f"{wanted} after {took:.1f} s: {routes(node)}"


def case_a_gateway_that_is_killed_is_down_within_its_interval_and_up_when_it_is_back(site):
    with two_hosts(site) as hosts:
        options = site.write("lnet.conf", OPTIONS)
        a = hosts.node("a", "--config", one_shard(site), "--options", options, "--idle", "sleep")
        works(a, "net", "add", "--net", "tcp", "--if", "eth0")
        b = gateway(hosts, site, "idle")
        works(a, "route", "add", "--net", "o2ib", "--gateway", nid("b"), "--hop", "1")
        # It does not route, and reports that.
        eventually("a node that does not route is no gateway", lambda: state(a) == "down")
        assert any("it does not route" in cause for cause in causes(a)), causes(a)
        works(a, "route", "del", "--net", "o2ib", "--gateway", nid("b"))
        assert routes(a) == []
        assert b.stop() == 0
        b = gateway(hosts, site, "gateway", ROUTES)
        works(a, "route", "add", "--net", "o2ib", "--gateway", nid("b"), "--hop", "1")
        eventually("the gateway answers", lambda: "up" == state(a) and "single-hop" == routes(a)[0]["type"])
        # Its connections stay open, so only checks detect it.
        b.process.send_signal(signal.SIGSTOP)
        becomes(a, "down", time.monotonic())
        assert causes(a)[0] == "ping timed out", causes(a)
        b.process.send_signal(signal.SIGCONT)
        becomes(a, "up", time.monotonic())
        b.stop(signal.SIGKILL)
        becomes(a, "down", time.monotonic())
        gateway(hosts, site, "again", ROUTES)
        becomes(a, "up", time.monotonic())
        eventually("both are notified", lambda: "route_down" in a.output() and "route_up" in a.output())


def node_that_checks_before_use(hosts, site, timeout_s=TIMEOUT_S):
    """Changes wait for the check of its gateway, which is absent."""
    options = site.write("before.conf", f'options lnet networks=tcp(eth0) routes="o2ib 1 10.88.0.9@tcp" check_routers_before_use=1 '
                         f"alive_router_check_interval=60 router_ping_timeout={timeout_s}\n")
    return hosts.node("a", "--config", one_shard(site), "--options", options, "--idle", "sleep")


def case_a_node_that_checks_before_use_lets_changes_wait_until_its_gateways_have_been_asked(site):
    with two_hosts(site) as hosts:
        a = node_that_checks_before_use(hosts, site)
        works(a, "peer", "add", "--prim_nid", "10.88.0.7@tcp")
        assert state(a) == "down" and causes(a)[-1] == "not checked yet", causes(a)
        assert causes(a)[0] in ("ping timed out", "ping failed"), causes(a)


def case_changes_that_wait_for_one_another_all_take_effect(site):
    with two_hosts(site) as hosts:
        a = node_that_checks_before_use(hosts, site)
        document = site.write("peer.yaml", "peer:\n    - primary nid: 10.88.0.6@tcp\n")
        wishes = (("net", "add", "--nid", "10.9.0.1@tcp7", "--driver", "null"), ("set", "retry_count", "3"),
                  ("set", "lnet.router_ping_timeout", str(TIMEOUT_S + 1)), ("set", "small_buffers", "512"), ("set", "large_buffers", "64"),
                  ("route", "add", "--net", "o2ib1", "--gateway", "10.88.0.[7-8]@tcp"), ("import", document))
        with ThreadPoolExecutor(len(wishes)) as pool:
            for told in pool.map(lambda wish: works(a, *wish), wishes):
                assert told == "", told
        backup = works(a, "export", "--backup")
        for there in ("10.9.0.1@tcp7", "retry_count: 3", f'router_ping_timeout: "{TIMEOUT_S + 1}"', "small: 512", "large: 64", "10.88.0.7@tcp", "10.88.0.6@tcp"):
            assert there in backup, (there, backup)


def ask_to_import(client, number, document):
    client.sendall(json.dumps({"v": 1, "id": number, "verb": "import", "args": {"text": document}}).encode() + b"\n")


def case_imports_wait_for_gateways_that_are_asked_first_and_lose_nothing(site):
    with two_hosts(site) as hosts:
        a = node_that_checks_before_use(hosts, site)
        before = a.json("export", "--backup")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(a.socket))
            ask_to_import(client, 1, "peer: [{primary nid: 10.88.0.7@tcp}]\n")
            ask_to_import(client, 2, MORE)
            works(a, "set", "turn_limit_usec", "77")  # a later command; no change of LNet, so it
                                                      # does not wait
            while True:
                answered = select.select([client], [], [], 0)[0]
                if causes(a) != ["not checked yet"]:
                    break
                assert not answered, client.recv(4096)
            client.settimeout(20)
            with client.makefile("rb") as answers:
                told = [json.loads(answers.readline()) for _ in range(2)]
        assert [(each["id"], "result" in each) for each in told] == [(1, True), (2, True)], told
        after = a.json("export", "--backup")
        for section, more in (("net", ["tcp7"]), ("route", ["10.88.0.8@tcp"]), ("peer", ["10.88.0.7@tcp", "10.88.0.6@tcp"])):
            had = before.pop(section, [])
            assert after[section][:len(had)] == had and len(after[section]) == len(had) + len(more), (had, after)
            assert all(name in str(entry) for name, entry in zip(more, after.pop(section)[len(had):])), after
        own = before["plnet"]["pollers"], before["plnet"]["log"]
        own[0]["turn_limit_usec"], own[1]["level"] = 77, "warning"
        assert after == before, (after, before)


def case_changes_that_wait_when_a_node_ends_are_refused(site):
    with two_hosts(site) as hosts:
        a = node_that_checks_before_use(hosts, site)
        document = "peer: [{primary nid: 10.88.0.6@tcp}]\n"
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(a.socket))
            ask_to_import(client, 1, document)
            works(a, "status")  # a later command
            assert a.stop(signal.SIGINT) == 0, a.output()  # meanwhile the gateway's check times out
            assert b'"id":1' not in client.recv(4096), "no success is reported"


def case_a_node_that_waits_for_its_gateways_goes_down_in_order_when_it_is_told_to(site):
    with two_hosts(site) as hosts:
        a = node_that_checks_before_use(hosts, site, timeout_s=50)
        assert causes(a) == ["not checked yet"], causes(a)
        assert a.stop() == 0, a.output()
        assert "lnet_not_down" not in a.output() and "event=stopped" in a.output(), a.output()


def case_lnet_is_up_with_all_that_it_was_asked_for_or_down(site):
    with two_hosts(site) as hosts:
        a = start(hosts, "a", one_shard(site, NET))
        works(a, "lnet", "unconfigure")
        ip("-n", hosts.names["a"], "link", "set", "eth0", "down")
        fails(a, "lnet", "configure", "--all")
        assert "errno: -100" in fails(a, "net", "show")
        fails(a, "import", site.write("net.yaml", NET))
        assert "errno: -100" in fails(a, "net", "show")
        ip("-n", hosts.names["a"], "link", "set", "eth0", "up")
        works(a, "lnet", "configure", "--all")
        assert nid("a") in works(a, "net", "show")


def case_routes_come_by_file_by_options_and_live_and_go_out_as_they_came(site):
    with two_hosts(site) as hosts:
        a = start(hosts, "a", one_shard(site))
        works(a, "net", "add", "--net", "tcp", "--if", "eth0")
        works(a, "route", "add", "--net", "o2ib1", "--gateway", "10.88.0.[7-9]@tcp", "--priority", "2")
        assert {each["gateway"] for each in routes(a)} == {f"10.88.0.{i}@tcp" for i in (7, 8, 9)}
        assert all((each["hop"], each["priority"], each["type"]) == (-1, 2, "multi-hop") for each in routes(a))
        works(a, "import", "--add", site.write("more.yaml", ROUTE.format(gateway="10.88.0.2@tcp")))
        assert len(routes(a)) == 4 and len(routes(a, "--net", "o2ib")) == 1
        backup = works(a, "export", "--backup")
        assert a.stop() == 0
        again = start(hosts, "a", site.write("backup.yaml", backup), name="again")
        assert works(again, "export", "--backup") == backup
        works(again, "route", "del", "--net", "o2ib1", "--gateway", "10.88.0.[7-9]@tcp")
        assert [each["net"] for each in routes(again)] == ["o2ib"]
        works(again, "net", "del", "--net", "tcp")
        assert routes(again) == [], "their gateways are out of reach"
        assert again.stop() == 0
        # The same options on all nodes of a site: each ignores the parts for others.
        options = site.write("site.conf", 'options lnet networks=tcp(eth0) routes="o2ib 1 10.88.0.2@tcp; tcp 10.9.0.2@o2ib; o2ib 7.7.7.7@tcp9"\n')
        third = hosts.node("a", "--config", one_shard(site), "--options", options, "--idle", "sleep", name="third")
        assert [(each["net"], each["gateway"], each["hop"]) for each in routes(third)] == [("o2ib", "10.88.0.2@tcp", 1)]


def case_invalid_routes_get_the_kernels_errno_and_change_nothing(site):
    with two_hosts(site) as hosts:
        a = start(hosts, "a", one_shard(site))
        works(a, "net", "add", "--net", "tcp", "--if", "eth0")
        works(a, "route", "add", "--net", "o2ib", "--gateway", "10.88.0.2@tcp")
        before = works(a, "export", "--backup")
        for words, number in ((("o2ib", "10.88.0.2@tcp"), -17), (("o2ib", "10.88.0.[2-3]@tcp"), -17), (("tcp", "10.88.0.2@tcp"), -22), (("o2ib", "10.88.0.2@tcp7"), -113),
                              (("tcp", "10.9.0.2@o2ib"), -17)):
            told = fails(a, "route", "add", "--net", words[0], "--gateway", words[1])
            assert f"errno: {number}" in told, (words, told)
        assert "errno: -2" in fails(a, "route", "del", "--net", "o2ib", "--gateway", "10.88.0.3@tcp")
        wrong = site.write("wrong.yaml", ROUTE.format(gateway="10.88.0.300@tcp"))
        told = fails(a, "import", wrong)
        assert "wrong.yaml:3" in told or "gateway" in told, told
        assert works(a, "export", "--backup") == before
