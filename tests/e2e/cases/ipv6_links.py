# SPDX-License-Identifier: BSD-3-Clause
"""IPv6 addresses that are tentative for want of a link, and temporary addresses."""
from cases_common import one_shard
from site_under_test import Skip, eventually
from tcp_nodes import add_v4, fails, nid, pings, reaches, start, works
from two_hosts import ADDRESSES, ip, two_hosts

OURS, THEIRS = "fd89::1", "fd89::2"
NETS = """
net:
    - net type: tcp
      local NI(s):
        - nid: {v4}
    - net type: tcp1
      local NI(s):
        - nid: '{v6}@tcp1'
          tunables:
              peer_credits: {peer_credits}
"""


def on(hosts, side, *words):
    ip("-n", hosts.names[side], *words)


def second_wire(hosts):
    """eth1 on both sides. That of b is down, so that a's has no carrier."""
    ends = [f"p6{hosts.tag}{side}" for side in ADDRESSES]
    ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
    for side, end in zip(ADDRESSES, ends):
        ip("link", "set", end, "netns", hosts.names[side], "name", "eth1")


def link(hosts):
    """eth1 of a in the output of `ip`."""
    return hosts.command("a", "ip", "link", "show", "dev", "eth1")


def addresses(hosts):
    """The addresses on eth1 of a, one a line."""
    return [line for line in hosts.command("a", "ip", "address", "show", "dev", "eth1").splitlines() if " inet6 " in line]


def is_tentative(hosts):
    return any(f" {OURS}/" in line and "tentative" in line for line in addresses(hosts))


def address_without_link(hosts):
    """An address on eth1 of a, whose link comes up with that of b. Without nodad, which would make it usable at once."""
    on(hosts, "a", "link", "set", "eth1", "up")
    eventually("eth1 has no carrier", lambda: "NO-CARRIER" in link(hosts))
    on(hosts, "a", "address", "add", f"{OURS}/64", "dev", "eth1")
    if not is_tentative(hosts):
        raise Skip("this system does not keep addresses without a link from use")


def ni_of(node, net="tcp1"):
    return node.json("net", "show", "-v", "2", "--net", net)["net"][0]["local NI(s)"][0]


def is_down(node):
    return ni_of(node)["status"] == "down" and "has no carrier" in ni_of(node).get("status cause", "")


def document(site, name, peer_credits):
    return site.write(name, NETS.format(v4=nid("a"), v6=OURS, peer_credits=peer_credits))


def two_nets(site):
    """A complete configuration to start a node with."""
    with open(one_shard(site), encoding="utf-8") as plan:
        return site.write("a.yaml", plan.read() + NETS.format(v4=nid("a"), v6=OURS, peer_credits=8))


def changes(node):
    """The log lines about the NI, in order: each change once, none undone."""
    words = (line.split() for line in node.output().splitlines() if f"nid={OURS}@tcp1" in line)
    return [word for line in words for word in line if word.startswith(("event=ni_", "event=link_"))]


def case_a_node_starts_with_an_ipv6_ni_that_has_no_link(site):
    with two_hosts(site) as hosts:
        second_wire(hosts)
        address_without_link(hosts)
        a, b = start(hosts, "a", two_nets(site)), start(hosts, "b", one_shard(site))
        add_v4(b)
        eventually("the NI is down", lambda: is_down(a))
        assert ni_of(a, "tcp")["status"] == "up"
        pings(a, nid("b"))
        pings(b, nid("a"))
        eventually("the log shows it", lambda: changes(a) == ["event=link_down", "event=ni_down"])

        on(hosts, "b", "address", "add", f"{THEIRS}/64", "dev", "eth1", "nodad")
        on(hosts, "b", "link", "set", "eth1", "up")
        eventually("the NI is up", lambda: ni_of(a)["status"] == "up")
        assert not is_tentative(hosts), "it was called up before its address was in use"
        works(b, "net", "add", "--nid", f"{THEIRS}@tcp1")
        reaches(b, f"{OURS}@tcp1")
        reaches(a, f"{THEIRS}@tcp1")
        eventually("the log shows it", lambda: len(changes(a)) == 4)
        assert changes(a)[2:] == ["event=link_up", "event=ni_up"] and ni_of(a)["status changes"] == 2, ni_of(a)


def case_an_import_replaces_an_ipv6_ni_that_has_no_link(site):
    with two_hosts(site) as hosts:
        second_wire(hosts)
        address_without_link(hosts)
        node = start(hosts, "a", two_nets(site))
        eventually("the NI is down", lambda: is_down(node))
        works(node, "import", document(site, "changed.yaml", 9))
        assert ni_of(node)["tunables"]["peer_credits"] == 9, ni_of(node)
        eventually("the one in its place is down", lambda: is_down(node))
        on(hosts, "b", "link", "set", "eth1", "up")
        eventually("the NI is up", lambda: ni_of(node)["status"] == "up")


def case_an_ipv6_address_that_no_interface_has_is_refused(site):
    with two_hosts(site) as hosts:
        node = start(hosts, "a", one_shard(site))
        said = fails(node, "net", "add", "--nid", f"{OURS}@tcp1")
        assert f"cannot listen on [{OURS}]:988: the address is not of this machine" in said, said


def case_an_interface_gives_no_ipv6_address_that_is_soon_gone(site):
    with two_hosts(site) as hosts:
        second_wire(hosts)
        setting = "/proc/sys/net/ipv6/conf/eth1/use_tempaddr"
        done = site.run("ip", "netns", "exec", hosts.names["a"], "sh", "-c", f"echo 2 > {setting}")
        if done.returncode != 0:
            raise Skip(f"cannot ask for temporary addresses: {done.stderr.strip()}")
        for side in ADDRESSES:
            on(hosts, side, "link", "set", "eth1", "up")
        # The system lists later addresses first.
        on(hosts, "a", "address", "add", f"{OURS}/64", "dev", "eth1", "nodad", "mngtmpaddr")
        on(hosts, "a", "address", "add", "fd8a::1/64", "dev", "eth1", "nodad", "preferred_lft", "0")
        listed = addresses(hosts)
        if not any("temporary" in line for line in listed):
            raise Skip("this system makes no temporary addresses")
        assert f" {OURS}/" in listed[2], f"others come before it: {listed}"
        node = start(hosts, "a", one_shard(site))
        works(node, "net", "add", "--net", "tcp1", "--if", "eth1")
        assert ni_of(node)["nid"] == f"{OURS}@tcp1", ni_of(node)
        # An explicit NID may use it.
        temporary = next(line for line in listed if "temporary" in line).split()[1].partition("/")[0]
        works(node, "net", "add", "--nid", f"{temporary}@tcp2")
        eventually("it is in use", lambda: ni_of(node, "tcp2")["status"] == "up")
