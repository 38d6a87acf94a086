# SPDX-License-Identifier: BSD-3-Clause
"""Messages dropped by a node, by cause, and the causes that a fault explains."""
import collections

OF_SENDER = ("tx_deadline", "tx_hop_down", "tx_no_path", "tx_no_peer", "tx_released")
HOP_AWAY = {"dropped_hop_down", "dropped_hop_stalled", "dropped_hop_parked", "tx_hop_down", "tx_deadline", "tx_released", "dropped_connection_lost"}
LATE = {"dropped_ack_no_md", "dropped_reply_no_md"}  # responses to operations that timed out
ROUTER_AWAY = {"tx_deadline", "tx_released", "tx_no_path", "dropped_connection_lost"} | LATE
OTHER_AWAY = LATE | {"dropped_connection_lost"}
NOT_YET_OPEN = {"dropped_put_no_match", "dropped_get_no_match"}  # its program has not opened its
                                                                 # portals yet


def drops(node):
    causes = collections.Counter()
    for each in node.json("counters", "show")["counters"]:
        if each["object"] == "lnet_cause":
            causes.update({row: n for row, n in each.items() if n and (row.startswith("dropped_") or row in OF_SENDER)})
    return causes


def drop_count(node):
    return node.json("stats", "show")["statistics"]["drop_count"]


def drops_only(node, explained, before=collections.Counter()):
    """Drops since `before` have these causes only."""
    unexplained = {row: n for row, n in (drops(node) - before).items() if row not in explained}
    assert not unexplained, f"{node.name}: nothing explains {unexplained}"
