# SPDX-License-Identifier: BSD-3-Clause
"""o2ib on real libibverbs and librdmacm, in guests with rdma_rxe: the verbs driver, and two nodes. More of nodes: o2ib_nodes.py."""
from guest_nodes import SIDES, have_no_trouble, nid, pings_and_discovers, ready, rests
from guest_selftest import BOTH_WAYS, Lst, moves, test_node
from guests import ADDRESSES, BOOT

SECOND_ADDRESS = "10.99.0.11"


def case_the_driver_keeps_its_contract(site):
    guest = BOOT.pair()["a"]
    program = site.program("test_drivers_mlx")
    guest.run("ip", "address", "add", f"{SECOND_ADDRESS}/24", "dev", "eth0")
    try:
        done = guest.run("env", f"PLNET_RDMA_ADDRESSES={ADDRESSES['a']} {SECOND_ADDRESS}", program, "--gtest_brief=1",
                         "--gtest_filter=MlxVerbs.*:MlxLnd.*", timeout_s=240)
    finally:
        guest.run("ip", "address", "delete", f"{SECOND_ADDRESS}/24", "dev", "eth0")
    assert done.returncode == 0, done.stdout + done.stderr


def case_nodes_connect_discover_each_other_and_pass_selftest(site):
    """PUT and GET of 4 KiB and 1 MiB both ways, all bytes checked."""
    a, b = ready(*(test_node(site, side) for side in SIDES))
    pings_and_discovers(a, nid("b"))
    lst = Lst(a)
    lst.begin(nid("a"), nid("b"), ways=BOTH_WAYS)
    for each in (a, b):
        moves(each, 3)
    lst.ends_well()
    for each in (a, b):
        rests(each)
    have_no_trouble(a, b)
