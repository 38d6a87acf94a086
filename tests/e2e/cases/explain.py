# SPDX-License-Identifier: BSD-3-Clause
"""`route explain` compared with routes and connections: a client behind two routers, with an NI on each of two shards."""
import os

from cases_common import plan_on
from routed_hosts import address, routed_hosts, start
from site_under_test import eventually
from tcp_nodes import works
from traffic_nodes import has_answered, last_words
from two_hosts import ip

SECOND = 3  # the client's other address
QUICK = "options lnet alive_router_check_interval=1 router_ping_timeout=4\n"
PEER_CREDITS = 8


def client_of_two_shards(hosts):
    """Each of its NIs is served by one shard, so for one of the two a gateway has its home on the other shard."""
    cpus = sorted(os.sched_getaffinity(0))
    ours = [f"{address(0, number)}@tcp" for number in (hosts.CLIENT, SECOND)]
    ip("-n", hosts.names["client"], "address", "add", f"{address(0, SECOND)}/24", "dev", "eth0")
    nis = ", ".join(f"{{nid: '{nid}', CPT: [{cpt}]}}" for cpt, nid in enumerate(ours))
    routes = ", ".join(f"{{net: tcp1, gateway: '{hosts.nid(router, 0)}'}}" for router in hosts.routers)
    text = f"net: [{{net type: tcp, local NI(s): [{nis}]}}]\nroute: [{routes}]\n" + plan_on([cpus[0], cpus[-1]])
    config = hosts.site.write("client.yaml", text.replace("arena_mib: 4", "arena_mib: 32"))
    node = hosts.node("client", "--config", config, "--idle", "sleep", "--options", hosts.site.write("quick.conf", QUICK), "--to", hosts.nid("server"),
                      "--window", "2", "--stay", program=hosts.site.program("lnet-traffic"))
    return node, ours


def explained(node, source, destination):
    return node.json("route", "explain", source, destination)["path"]


def not_taken(path, kind):
    return {each[kind]: each for each in path.get("not taken", []) if kind in each}


def states(node):
    return {each["gateway"]: each["state"] for each in node.json("route", "show", "-v")["route"]}


def shards_of_connections(node):
    shards = {}
    for each in node.json("conn", "show")["conn"]:
        shards.setdefault((each["local nid"], each["nid"]), set()).add(each["shard"])
    return shards


def case_the_shards_of_a_path_are_those_of_its_connections(site):
    with routed_hosts(site, routers=2) as hosts:
        for name in (*hosts.routers, "server"):
            start(hosts, name, options=QUICK)
        client, ours = client_of_two_shards(hosts)
        gateways = [hosts.nid(router, 0) for router in hosts.routers]
        eventually("each NI has connections to each gateway", lambda: len(shards_of_connections(client)) == 4)
        for gateway in gateways:
            homes = set()
            for cpt, nid in enumerate(ours):
                path = explained(client, nid, gateway)
                assert (path["ni"], path["next hop"], path["reachable"]) == (nid, gateway, True), path
                assert path["verdict"] == f"messages go to {gateway} by {nid}", path
                assert {path["lane shard"]} == shards_of_connections(client)[nid, gateway] == {cpt}, path
                assert path["cpt"] == path["shard"], path
                assert path["peer tx credits max"] == PEER_CREDITS and path["ni tx credits"] > 0, path
                homes.add(path["shard"])
            assert len(homes) == 1, (gateway, homes)  # its connections are on the home of one NI,
                                                      # but not of the other
        last_words(client)


def case_a_path_names_its_gateway_and_why_not_the_other(site):
    with routed_hosts(site, routers=2) as hosts:
        r0, _, _ = [start(hosts, name, options=QUICK) for name in (*hosts.routers, "server")]
        client, ours = client_of_two_shards(hosts)
        drained, other = (hosts.nid(router, 0) for router in hosts.routers)
        eventually("both routes are up", lambda: states(client) == {drained: "up", other: "up"})
        has_answered(client, 50)
        path = explained(client, "*", hosts.nid("server"))
        taken = path["route"]["gateway"]
        left, = {drained, other} - {taken}
        assert path["next hop"] == taken and path["for"] == hosts.nid("server") and path["ni"] in ours, path
        lost = not_taken(path, "route")
        assert set(lost) == {f"tcp1 by {left}"} and lost[f"tcp1 by {left}"]["instead"] == f"tcp1 by {taken}", path
        assert set(not_taken(path, "NI")) == set(ours) - {path["ni"]}, path
        works(r0, "routing", "drain", "--timeout", "60")
        eventually("the client knows", lambda: states(client) == {drained: "down", other: "up"})
        path = explained(client, "*", hosts.nid("server"))
        assert path["route"]["gateway"] == path["next hop"] == other, path
        down = {"route": f"tcp1 by {drained}", "why not": "the route is down: the gateway answers that it does not route (routing is off or drained there)"}
        assert not_taken(path, "route") == {f"tcp1 by {drained}": down}, path
        works(r0, "routing", "undrain")
        eventually("the client knows", lambda: states(client) == {drained: "up", other: "up"})
        path = explained(client, "*", hosts.nid("server"))
        assert not any(each["why not"].startswith("the route is down") for each in not_taken(path, "route").values()), path
        last_words(client)
