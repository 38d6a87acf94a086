# SPDX-License-Identifier: BSD-3-Clause
"""The congestion control of connections, on systems that pace by default."""
import pathlib

from cases_common import one_shard
from site_under_test import Skip
from tcp_nodes import add_v4, nid, pair, pings
from two_hosts import two_hosts

DEFAULT = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control")
FAR_S = (0.005, 0.005)


def pace_by_default(hosts):
    for side in ("a", "b"):
        with hosts.inside(side):
            try:
                DEFAULT.write_text("bbr", encoding="ascii")
            except OSError as error:
                raise Skip(f"no bbr here: {error}") from error


def controls(node):
    """The congestion controls of open connections, once the distance of the peer is known."""
    return {each["tcp info"]["congestion_control"] for each in node.json("conn", "show", "-v")["conn"] if each["state"] == "open"}


def expect(site, control, tcp="", delay_s=None):
    """Expects it on all connections, whichever side made them."""
    with two_hosts(site, may_be_bad=delay_s is not None) as hosts:
        pace_by_default(hosts)
        if delay_s:
            hosts.bad_wire.delay_s = delay_s
        a, b = pair(hosts, site, one_shard(site, tcp))
        add_v4(a, b)
        pings(a, nid("b"))
        pings(b, nid("a"))
        assert controls(a) == controls(b) == {control}, (controls(a), controls(b))


def case_a_system_that_paces_is_overruled_for_a_peer_near_by(site):
    expect(site, "cubic")


def case_a_pacing_system_default_is_used_for_distant_peers(site):
    expect(site, "bbr", delay_s=FAR_S)


def case_the_system_is_left_alone_if_that_is_wanted(site):
    expect(site, "bbr", "    tcp: {congestion_control: system}\n")


def case_the_control_of_connections_may_be_named(site):
    expect(site, "reno", "    tcp: {congestion_control: reno}\n", FAR_S)


def case_a_missing_congestion_control_is_reported_at_start(site):
    config = one_shard(site, "    tcp: {congestion_control: none-such}\n")
    done = site.router("--config", config, "--socket", str(site.path("x.sock")))
    assert done.returncode == 1 and "`none-such` is not to be had, expected auto, system or" in done.stderr, done.stderr
