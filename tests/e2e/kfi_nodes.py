# SPDX-License-Identifier: BSD-3-Clause
"""Nodes with kfi networks on software NICs: two processes on one memif, and a TCP network on the loopback interface."""
import os

from cases_common import CPT, PLAN
from site_under_test import eventually

SERVER, CLIENT = 0x1a2, 0x2b3  # addresses of NICs
IMPATIENT = """options lnet lnet_transaction_timeout=8 lnet_retry_count=2
options kkfilnd kfi_timeout=3
"""


def nid(address, net="kfi"):
    return f"{address}@{net}"


def memif(site, role):
    """The server owns the socket; a killed one leaves it behind."""
    socket = site.path("memif.sock")
    if role == "server":
        socket.unlink(missing_ok=True)
    return f"net_memif0,role={role},id=0,socket-abstract=no,socket={socket}"


def plan(cpu=0, arena_mib=16, cpts=1):
    """This many CPTs of one shard each, from that CPU on."""
    cpus = sorted(os.sched_getaffinity(0))
    shards = "".join(CPT.format(cpu=cpus[(cpu + i) % len(cpus)]) for i in range(cpts))
    return PLAN.format(cpts=shards).replace("arena_mib: 4", f"arena_mib: {arena_mib * cpts}")


def soft(port, address, name="cxi0"):
    """The settings to be placed below plan()."""
    return f"""    kfi:
        interfaces:
            - name: {name}
              backend: soft
              port: "{port}"
              address: {address}
"""


KFI_NET = "net: [{net type: kfi, local NI(s): [{interfaces: {0: cxi0}}]}]\n"


def start(site, name, role, address, *arguments, nets=KFI_NET, cpu=0, cpts=1, life="", more="", options=IMPATIENT, **how):
    text = nets + plan(cpu, cpts=cpts) + soft(memif(site, role), address) + more
    return site.node("--config", site.write(f"{name}{life}.yaml", text), "--options", site.write("kfi.conf", options), "--idle", "sleep",
                     *arguments, name=name + life, **how)


def pair(site, **how):
    """Two nodes that reach each other."""
    server = start(site, "server", "server", SERVER, **how)
    client = start(site, "client", "client", CLIENT, cpu=1, **how)
    answers(client, nid(SERVER))
    answers(server, nid(CLIENT))
    return server, client


def answers(node, target, timeout_s=60):
    eventually(f"{target} answers {node.name}", lambda: node.lnetctl("ping", "--timeout", "3", target).returncode == 0, timeout_s)


def homes_of(node, address):
    """The receive contexts that have this peer as a regular one, not as a guest."""
    return [each["shard"] for each in node.json("kfi", "peers")["kfi peers"] for peer in each["peers"]
            if peer["nid"] == nid(address) and peer["version"] == 2]
