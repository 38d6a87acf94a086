# SPDX-License-Identifier: BSD-3-Clause
"""A separate Slurm on this machine: munged, slurmctld, and a slurmd in the network namespace of each node. Its files are in
the scratch folder of the case; it ends exactly the processes that it started."""
import os
import pathlib
import secrets
import shutil
import signal
import subprocess

from site_under_test import Skip, eventually

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "squeue", "scontrol", "scancel")
CONFIG = """\
ClusterName=plnet
SlurmctldHost={control}({control_address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort=16817
SlurmdPort=16818
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
KillWait=20
SchedulerParameters=sched_min_interval=0
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def missing():
    return [name for name in PROGRAMS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]


class Job:
    """One srun. Its number is that of the only job."""

    def __init__(self, cluster, process):
        self.cluster, self.process, self.number = cluster, process, None

    def find_number(self):
        listed = self.cluster.run("squeue", "--noheader", "--states", "RUNNING", "--format", "%i").stdout.split()
        self.number = listed[0] if listed else None
        return self.number

    def ended(self):
        return self.process.poll() is not None

    def cancel(self):
        done = self.cluster.run("scancel", self.number)
        assert done.returncode == 0, done
        return self.process.wait(60)

    def output(self):
        return (self.cluster.folder / "srun.out").read_text(errors="replace")


class SlurmCluster:
    """`control` and `nodes`: pairs of namespace and address; nodes are named n0, n1, and so on."""

    def __init__(self, site, control, nodes):
        if missing():
            raise Skip(f"Slurm is not installed: no {', '.join(missing())}")
        self.site, self.control, self.nodes = site, control, nodes
        self.names = [f"n{i}" for i in range(len(nodes))]
        self.folder = pathlib.Path(site.path("slurm"))
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"),
                            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        self.processes = []

    def __enter__(self):
        try:
            self.lay_out()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def lay_out(self):
        for name in ("", "state", *(f"spool-{name}" for name in self.names)):
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        nodes = "\n".join(f"NodeName={name} NodeAddr={address} CPUs=4 State=UNKNOWN"
                          for name, (_, address) in zip(self.names, self.nodes))
        (self.folder / "slurm.conf").write_text(CONFIG.format(folder=self.folder, control="control", control_address=self.control[1],
                                                              nodes=nodes))
        (self.folder / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={self.folder}/cgroup\n")

    def spawn(self, name, *command, namespace=None, host=None):
        """Starts it in the foreground of a child process."""
        if host:
            command = ("unshare", "--uts", "sh", "-c", 'hostname "$1"; shift; exec "$@"', "sh", host, *command)
        if namespace:
            command = ("ip", "netns", "exec", namespace, *command)
        log = open(self.folder / f"{name}.out", "wb")
        process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                   cwd=self.folder)
        log.close()
        self.processes.append(process)
        return process

    def start(self):
        folder = self.folder
        self.spawn("munged", "munged", "--foreground", "--force", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket",
                   f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed")
        eventually("munged has its socket", (folder / "munge.socket").exists)
        self.spawn("slurmctld", "slurmctld", "-D", namespace=self.control[0], host="control")
        for name, (namespace, _) in zip(self.names, self.nodes):
            self.spawn(f"slurmd-{name}", "slurmd", "-D", "-N", name, namespace=namespace, host=name)
        wanted = len(self.names)
        eventually(f"{wanted} nodes are idle", lambda: self.has_ended() or self.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").stdout.split() == self.names,
                   timeout_s=60)

        assert not self.has_ended(), self.logs()

    def has_ended(self):
        return any(process.poll() is not None for process in self.processes)

    def command(self, *words):
        return ["ip", "netns", "exec", self.control[0], "unshare", "--uts", "sh", "-c", 'hostname control; exec "$@"', "sh", *words]

    def run(self, *words, timeout=120, **environment):
        return subprocess.run(self.command(*words), env={**self.environment, **environment}, capture_output=True, text=True,
                              timeout=timeout, stdin=subprocess.DEVNULL, cwd=self.folder)

    def start_job(self, *words):
        job = Job(self, self.spawn("srun", *self.command("srun", "-v", *words)))
        eventually("the job runs", lambda: job.ended() or job.find_number())
        assert job.number, job.output()
        return job

    def logs(self):
        return "".join(f"--- {path.name}\n{path.read_text(errors='replace')[-4000:]}\n"
                       for path in sorted(self.folder.glob("*")) if path.suffix in (".log", ".out"))

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
