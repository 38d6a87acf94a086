# SPDX-License-Identifier: BSD-3-Clause
"""The verbs driver on real libibverbs and librdmacm, in a guest with rdma_rxe."""
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
