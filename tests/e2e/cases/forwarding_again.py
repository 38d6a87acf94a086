# SPDX-License-Identifier: BSD-3-Clause
"""A router cannot connect to one interface of a peer: unsent messages go to another interface, once."""
import contextlib
import os

from routed_hosts import RoutedHosts, address, buffers_home, start
from site_under_test import Skip, eventually
from tcp_nodes import counted
from traffic_nodes import IMPATIENT, answers_all, last_words
from two_hosts import ip

OPERATIONS = 400
SECOND = address(1, 52)


class TwoNidHosts(RoutedHosts):
    """The server has two addresses on its network, one of which the router can reach."""

    def wire(self):
        super().wire()
        ip("-n", self.names["server"], "address", "add", f"{SECOND}/24", "dev", "eth1")
        ip("-n", self.names["r0"], "route", "add", "unreachable", SECOND)

    def networks(self, name):
        text = super().networks(name)
        first = f"{{nid: '{self.nid('server')}'}}"
        return text.replace(first, f"{first}, {{nid: '{SECOND}@tcp1'}}") if name == "server" else text


@contextlib.contextmanager
def two_nid_hosts(site):
    if os.geteuid() != 0:
        raise Skip("needs root for network namespaces")
    hosts = TwoNidHosts(site, 1)
    try:
        hosts.wire()
        yield hosts
    finally:
        hosts.unwire()


def case_messages_for_an_unreachable_interface_go_to_another(site):
    with two_nid_hosts(site) as hosts:
        router = start(hosts, "r0", options=IMPATIENT)
        server = start(hosts, "server", options=IMPATIENT)
        client = start(hosts, "client", "--to", hosts.nid("server"), "--count", str(OPERATIONS), options=IMPATIENT)
        answers_all(OPERATIONS, client)
        sent_again = router.json("stats", "show")["statistics"]["resend_count"]
        assert sent_again > 0 and counted(router, "lnet_cause", "forward_failed") == 0, sent_again
        for node in (client, server):  # no message arrived twice
            last_words(node, abandoned_max=0)
        eventually("all buffers are home", lambda: buffers_home(router))
