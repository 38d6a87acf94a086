#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Complete nodes with o2ib networks on real libibverbs and librdmacm: two emulated guests with rdma_rxe on one wire. They are
slow, so only `./check --all` runs these cases, beside those of the driver in cases/o2ib_guests.py, which the gate runs as
well."""
import argparse
import collections
import json
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts")]
import run  # noqa: E402
from guest_nodes import (  # noqa: E402
    O2IB, SIDES, WAIT_S, TcpHost, count_of, goes_on, have_no_trouble, incarnations, nid, ni_status, node, other, ready, rests, rows_of, standing, tcp, traffic)
from guest_rate import ratios  # noqa: E402
from guest_selftest import BOTH_WAYS, MIB, Lst, moves, test_node  # noqa: E402
from guests import BOOT  # noqa: E402
from selftest_hosts import has_session  # noqa: E402
from site_under_test import eventually  # noqa: E402
from traffic_nodes import count, has_answered, is_clean, last_words  # noqa: E402


def case_all_sizes_and_a_cable_that_is_pulled(site):
    """PUTs and GETs of 0 B to 1 MiB both ways, each byte checked, before and after. The case does not use `ip link set down`:
    a management datagram sent meanwhile ends queue pair 1 of rdma_rxe (Linux 6.1), and connections fail until the device is
    made anew. Without a carrier the datagram is lost as on a wire."""
    guest = BOOT.pair()["b"]
    a, b = ready(traffic(site, "a", nid("b")), traffic(site, "b", nid("a"), shards=2))
    for each in (a, b):
        has_answered(each, 20, WAIT_S)
    guest.set_carrier(False)
    try:
        eventually("the NI is down", lambda: ni_status(b) == "down", WAIT_S)
    finally:
        guest.set_carrier(True)
    eventually("the NI is up", lambda: ni_status(b) == "up", WAIT_S)
    for each in (a, b):
        goes_on(each)
    for each in (a, b):
        words = last_words(each)
        assert words["delivered"] > 0 and words["served"] > 0, words


def case_a_device_that_is_removed_takes_its_nis_and_nothing_else(site):
    """The system removes rdma_rxe when it has no users: the node must release it."""
    guest = BOOT.pair()["b"]
    with TcpHost(guest) as host:
        a, b = ready(traffic(site, "a", nid("b")), traffic(site, "b", nets=(O2IB, tcp(host.ROUTER))))
        goes_on(a)
        guest.must("rdma", "link", "delete", "rxe0", timeout_s=WAIT_S)
        try:
            eventually("its NI is down", lambda: ni_status(b) == "down", WAIT_S)
            assert ni_status(b, "tcp") == "up"
            assert "its RDMA device was removed: `lnetctl net del`" in b.must("net", "show", "-v", "4"), b.must("net", "show", "-v", "4")
            assert "event=device_removed" in b.output(), b.output()
        finally:
            guest.must("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0")
        b.must("net", "del", "--net", "o2ib")
        b.must("net", "add", "--net", "o2ib", "--if", "eth0")
        assert ni_status(b) == "up"
        goes_on(a)
        is_clean(b)
        last_words(a)
        last_words(b)


LANES = 4
ROUTING = "routing: {enable: 1}\nbuffers: {tiny: 256, small: 256, large: 64}\n"


def case_the_smallest_payloads(site):
    """PUTs and GETs of no byte and of one, both ways."""
    operations = 100
    for client in SIDES:
        # The server is there before the first operation, so that none fails.
        server, = ready(node(site, other(client), "lnet-traffic", "--bytes-max", "1", name=f"server-of-{client}"))
        asking, = ready(node(site, client, "lnet-traffic", "--window", "2", "--stay", "--bytes-max", "1", "--count", str(operations),
                             "--to", nid(other(client)), name=f"client-{client}"))
        has_answered(asking, operations, WAIT_S)
        for each in (asking, server):
            rests(each)
            have_no_trouble(each)
        words = last_words(asking, abandoned_max=0)
        assert words["failed"] == 0 and words["answered"] == operations, words
        words = last_words(server)
        assert words["delivered"] > 0 and words["served"] > 0, words


# Classes of messages to a peer that dies: posted, in a queue, without an answer to the request, without a listener. No deadline
# has passed, since the cause is known at once, and nothing is sent again that the peer may have.
OF_A_DEATH = {"remote_error", "remote_dropped", "local_error", "local_aborted", "local_dropped", "network_timeout"}
CLASSES = OF_A_DEATH | {"local_interrupt", "local_no_route", "local_timeout", "remote_timeout"}


def failures(each):
    statistics = each.ask("stats show")["statistics"]
    return {name: n for name in CLASSES if (n := statistics[f"{name}_count"])}


def has_none_to(each, peer):
    """The console has queue pairs to its own node."""
    conns = each.ask("conn show")["conn"]
    return all(conn["nid"] != peer for conn in conns) and count_of(each, "open", "mlx") == len(conns)


def killed_under_selftest(site, victim):
    """kill -9 of one side while tests run; the other side ends all of them, and goes on with the next life of its peer."""
    nodes = dict(zip(SIDES, ready(*(test_node(site, side) for side in SIDES))))
    survivor = nodes[other(victim)]
    lst = Lst(survivor)
    lst.begin(nid("a"), nid("b"))
    moves(nodes["b"], 2)
    first_life = incarnations(survivor, nid(victim))
    assert len(first_life) == 1 and failures(survivor) == {}, (first_life, failures(survivor))
    nodes[victim].stop(signal.SIGKILL)
    eventually("the survivor has seen it", lambda: count_of(survivor, "lost") > 0, WAIT_S)
    lst.abandon()
    eventually("its session is over", lambda: has_session(survivor, 0), WAIT_S)
    rests(survivor)
    eventually("its queue pairs to the peer have drained", lambda: has_none_to(survivor, nid(victim)), WAIT_S)
    found = failures(survivor)
    assert found and set(found) <= OF_A_DEATH, found
    have_no_trouble(survivor)
    print_figure(f"{victim} killed under selftest", {"failed, by class": found, "quarantined": count_of(survivor, "quarantined")})

    nodes[victim] = test_node(site, victim, name=f"{victim}-again")
    nodes[victim].wait_ready()
    lst.begin(nid("a"), nid("b"))
    moves(nodes["b"], 2)
    second_life = incarnations(survivor, nid(victim))
    assert len(second_life) == 1 and second_life != first_life, (first_life, second_life)
    assert count_of(survivor, "peer_restarts") == 1, standing(survivor)
    lst.ends_well()
    for each in nodes.values():
        rests(each)
    have_no_trouble(*nodes.values())
    assert failures(nodes[victim]) == {}, failures(nodes[victim])


def case_the_server_is_killed_under_selftest_and_starts_anew(site):
    killed_under_selftest(site, "b")


def case_the_client_is_killed_under_selftest_and_starts_anew(site):
    killed_under_selftest(site, "a")


def case_traffic_goes_on_with_each_new_life_of_a_peer(site):
    """The other side sends all the time. Nothing of an old life is taken for the new one's: no byte is wrong, nothing comes twice."""
    nodes = dict(zip(SIDES, ready(*(traffic(site, side, nid(other(side))) for side in SIDES))))
    for life, victim in enumerate(("b", "a", "b"), start=2):
        survivor = nodes[other(victim)]
        for each in nodes.values():
            goes_on(each)
        restarts = count_of(survivor, "peer_restarts")
        nodes[victim].stop(signal.SIGKILL)
        nodes[victim] = traffic(site, victim, nid(other(victim)), name=f"{victim}{life}")
        nodes[victim].wait_ready()
        for each in nodes.values():
            goes_on(each)
        assert count_of(survivor, "peer_restarts") == restarts + 1, standing(survivor)
        assert set(failures(survivor)) <= OF_A_DEATH, failures(survivor)
    for each in nodes.values():
        is_clean(each)
        have_no_trouble(each)
        last_words(each)


def case_a_router_between_o2ib_and_tcp(site):
    """client (o2ib, guest a) - router (guest b) - server (tcp, a namespace of guest b): all bytes are checked, both ways."""
    with TcpHost(BOOT.pair()["b"]) as host:
        through = f"{host.HOST}@tcp"
        router = node(site, "b", "lnet-router", "--drain-timeout", "0", name="router", shards=2, nets=(O2IB, tcp(host.ROUTER)), more=ROUTING)
        server = test_node(site, "b", name="server", nets=(tcp(host.HOST),), prefix=host.INSIDE,
                           more=f"route: [{{net: o2ib, gateway: '{host.ROUTER}@tcp'}}]\n")
        client = test_node(site, "a", name="client", more=f"route: [{{net: tcp, gateway: '{nid('b')}'}}]\n")
        ready(router, server, client)
        for each, target in ((client, through), (server, nid("a"))):
            eventually(f"{each.name} reaches {target}", lambda: each.lnetctl("ping", "--timeout", "20", target).returncode == 0, WAIT_S)
        (report,) = client.json("discover", "--force", through)["discover"]
        assert through in json.dumps(report), report
        lst = Lst(client)
        lst.begin(nid("a"), through, ways=BOTH_WAYS)
        for each in (client, server):
            moves(each, 3)
        lst.ends_well()
        for each in (client, router, server):
            rests(each)
        statistics = router.ask("stats show")["statistics"]
        assert statistics["drop_count"] == 0 and statistics["route_length"] > 12 * MIB, statistics
        have_no_trouble(router, client)


def case_lanes_of_one_peer_use_both_shards(site):
    """Requests to connect are handed to the other shard, and large messages of both directions take the queue pairs of both."""
    # An attempt has a quarter of the timeout, and is not made again once others are open: the emulated machine must not be too slow.
    options = f"options ko2iblnd conns_per_peer={LANES} timeout=200\n"
    a, b = ready(*(traffic(site, side, nid(other(side)), shards=2, options=options) for side in SIDES))
    for each in (a, b):
        goes_on(each)
    failed = {each.name: count(each, "failed") for each in (a, b)}  # before both were there
    for each in (a, b):
        goes_on(each, 40)
    for each in (a, b):
        for name in ("sent", "received"):
            by_shard = {row["shard"]: row[f"{name}_put_request"] + row[f"{name}_get_request"] for row in rows_of(each, "lnd_o2ib")}
            assert len(by_shard) == 2 and min(by_shard.values()) > 0, standing(each)
        shown = [conn["shard"] for conn in each.ask("conn show")["conn"]]
        assert sorted(shown) == [0] * (LANES // 2) + [1] * (LANES // 2), shown
        assert sum(row["crossed_lane"] for row in rows_of(each, "lnet_cause")) > 0
        is_clean(each)
        have_no_trouble(each)
        assert count(each, "failed") == failed[each.name], standing(each)
    for each in (a, b):
        last_words(each)


def case_selftest_has_its_share_of_the_rate_of_perftest(site):
    """A figure, no test: it says how far the rate of LNet is from that of the device."""
    for figure in ratios(site, FIGURE_ROUNDS):
        print_figure(figure.pop("bench"), figure)


FIGURES = []
FIGURE_ROUNDS = 3


def print_figure(name, figure):
    """At the end, where it is found."""
    FIGURES.append(f"{name}: {json.dumps(figure)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build tree whose programs to run")
    parser.add_argument("--tap", action="store_true", help="report for machines: the Test Anything Protocol")
    parser.add_argument("pattern", nargs="?", default="", help="only cases whose name contains this")
    arguments = parser.parse_args()
    arguments.slowest = 5
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    run.enter_own_network()
    chosen = [(f"o2ib_nodes.{name.removeprefix('case_')}", case) for name, case in globals().items()
              if name.startswith("case_") and arguments.pattern in name]
    with run.programs_of(arguments.build.resolve()) as folder:
        status = run.run_cases(chosen, folder, arguments)
    for figure in FIGURES:
        print(f"# {figure}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
