# SPDX-License-Identifier: BSD-3-Clause
"""Fleets: nodes started by Slurm with flags alone; groups from a job, from the own allocation, and from a host file."""
import contextlib
import json
import pathlib
import signal
import socket
import subprocess

from routed_hosts import address
from selftest_hosts import CONSOLE, config, selftest_hosts, start
from site_under_test import eventually
from slurm_cluster import SlurmCluster
from traffic_nodes import plan

QUICK = ("--test", "ping", "--concurrency", "2", "--warmup", "0", "--duration", "0.3", "--repeats", "1")


def cluster(site, hosts):
    return SlurmCluster(site, (hosts.names[CONSOLE], address(0, hosts.ROUTERS[0])),
                        [(hosts.names["client"], address(0, hosts.CLIENT)), (hosts.names["server"], address(0, hosts.SERVER))])


def node_script(site):
    """The script of each task. The hosts of this test share folders, unlike real hosts: hence a socket name for each."""
    shared = site.write("fleet.yaml", plan(1))
    return (f"exec {site.program('lnet-selftest')} node --networks 'tcp(eth0)' --idle sleep --config {shared} "
            f"--lock-dir {site.lock_dir} --socket {site.directory}/$SLURMD_NODENAME.sock")


def serves(site, name):
    """Its network is up; the control socket exists slightly earlier."""
    shown = subprocess.run([site.program("lnetctl"), "--socket", str(site.path(f"{name}.sock")), "net", "show"],
                           capture_output=True, text=True)
    return shown.returncode == 0 and "@tcp" in shown.stdout


def run(slurm, site, hosts, report, *words, **environment):
    return slurm.run(site.program("lnet-selftest"), "run", "--run-dir", str(site.path("consoles")), "--config", config(hosts, CONSOLE),
                     "--lock-dir", str(site.lock_dir), "--report", str(report), *QUICK, *words, **environment)


def measured(done, report, clients, servers):
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
    told = json.loads((pathlib.Path(report) / "report.json").read_text())
    assert (told["plan"]["from"], told["plan"]["to"]) == (clients, servers), told["plan"]
    assert told["points"][0]["errors"] == 0 and told["points"][0]["rpc_rate"]["median"] > 0, told["points"]


def case_nodes_of_a_slurm_job(site):
    with selftest_hosts(site) as hosts, cluster(site, hosts) as slurm:
        job = slurm.start_job("-N2", "--ntasks-per-node=1", "sh", "-c", node_script(site))
        eventually("both nodes serve", lambda: job.ended() or all(serves(site, name) for name in slurm.names), 60)
        assert not job.ended(), job.output()
        client, server = hosts.nid("client"), hosts.nid("server")
        first = site.path("by-job")
        measured(run(slurm, site, hosts, first, "--from", f"slurm:{job.number}:1", "--to", f"slurm:{job.number}:2"), first,
                 [client], [server])
        second = site.path("by-allocation")
        measured(run(slurm, site, hosts, second, "--from", "slurm::2", "--to", "slurm::1@tcp", SLURM_JOB_NODELIST="n[0-1]"), second,
                 [server], [client])
        third, listed = site.path("by-file"), site.write("hosts.txt", f"# of this job\nn0 slots=1\n{address(0, hosts.SERVER)}\n")
        measured(run(slurm, site, hosts, third, "--from", f"hostfile:{listed}:1", "--to", f"hostfile:{listed}:2"), third,
                 [client], [server])
        lost = run(slurm, site, hosts, site.path("none"), "--from", "slurm:99999:1", "--to", server)
        assert lost.returncode == 2 and "squeue" in lost.stderr, lost
        job.cancel()
        # SIGTERM sufficed: a node that ends properly removes its socket.
        eventually("no node is left", lambda: not any(site.path(f"{name}.sock").exists() for name in slurm.names))
        assert "Killed" not in job.output() and "signal 9" not in job.output(), job.output()


def case_one_command_line_for_all_hosts(site):
    """Without files or Slurm: flags alone, as an MPI launcher or a systemd unit starts nodes."""
    with selftest_hosts(site) as hosts:
        shared = site.write("fleet.yaml", plan(1))
        nodes = [hosts.node(name, "--config", shared, "--idle", "sleep", "--ip2nets", "tcp(eth0) 10.90.0.[1-2]",
                            program=site.program("lnet-selftest"), verb="node") for name in ("client", "server")]
        for node, name in zip(nodes, ("client", "server")):
            nids = [ni["nid"] for net in node.json("net", "show")["net"] for ni in net["local NI(s)"]]
            assert hosts.nid(name) in nids, nids
        assert [node.stop(signal.SIGTERM) for node in nodes] == [0, 0]


def talk(client, requests):
    client.sendall("".join(json.dumps({"v": 1, "id": i, "verb": verb, "args": args}) + "\n" for i, (verb, args) in enumerate(requests)).encode())


def answers(client, count):
    lines = b""
    while lines.count(b"\n") < count:
        piece = client.recv(65536)
        assert piece, lines
        lines += piece
    return [json.loads(line) for line in lines.splitlines()]


def case_commands_of_the_console_take_no_ping_its_place(site):
    """Sixty-four commands at once, followed by a ping."""
    with selftest_hosts(site) as hosts:
        node = start(hosts, "client")
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(5)]
            for client in clients:
                client.settimeout(60)
                client.connect(str(node.socket))
            node.process.send_signal(signal.SIGSTOP)
            for client in clients[:4]:
                talk(client, [("lst stat", {"key": 1, "nodes": [], "timeout": 1})] * 16)
            talk(clients[4], [("ping", {"nid": [hosts.nid("client")]})])
            node.process.send_signal(signal.SIGCONT)
            for client in clients[:4]:
                assert len(answers(client, 16)) == 16
            assert "result" in answers(clients[4], 1)[0]
