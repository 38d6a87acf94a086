# SPDX-License-Identifier: BSD-3-Clause
"""`lnet-pin` with real nodes: a small sweep that is killed midway, vanishing hosts, missing permissions, invalid files."""
import csv
import json
import os
import pathlib
import shutil
import signal
import subprocess

from routed_hosts import address
from selftest_hosts import CONSOLE, selftest_hosts
from site_under_test import NOBODY, Skip, eventually
from slurm_cluster import SlurmCluster

SWEEP = """
name: small
measured: server
workload: {networks: tcp, test: write, size: 64k, concurrency: 4, warmup: 0, duration: 200ms}
rounds: {least: 2, most: 2}
steal_max: 100
factors: {idle: [yield, sleep]}
"""


class Pin:
    def __init__(self, site):
        if os.geteuid() != 0:
            raise Skip("needs root for network namespaces")
        self.site = site
        self.results, self.state = site.path("results"), site.path("state")

    def words(self, *words):
        return [self.site.program("lnet-pin"), *map(str, words)]

    def run_words(self, sweep):
        return self.words("run", sweep, "--results", self.results, "--state", self.state, "--programs",
                          str(pathlib.Path(self.site.program("lnet-pin")).parent))

    def call(self, *words, status=0, **how):
        done = subprocess.run(self.words(*words), capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                              cwd=self.site.directory, **how)
        assert done.returncode == status, f"{words}: {done.returncode} for {status}\n{done.stdout}{done.stderr}"
        return done.stdout if status == 0 else done.stderr

    def entries(self):
        """Measurements in the journal."""
        journal = pathlib.Path(self.results) / "journal.jsonl"
        return max(0, journal.read_text().count("\n") - 1) if journal.exists() else 0


def cluster(site, hosts):
    return SlurmCluster(site, (hosts.names[CONSOLE], address(0, hosts.ROUTERS[0])),
                        [(hosts.names["client"], address(0, hosts.CLIENT)), (hosts.names["server"], address(0, hosts.SERVER))])


def namespaces(pid):
    folder = pathlib.Path("/run/netns")
    return [each.name for each in folder.glob(f"plnet-pin-{pid}-*")] if folder.exists() else []


def case_a_killed_sweep_continues(site):
    pin = Pin(site)
    sweep = site.write("sweep.yaml", SWEEP)
    with subprocess.Popen(pin.run_words(sweep), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          cwd=site.directory) as first:
        eventually("one measurement is in the journal", lambda: pin.entries() >= 1 or first.poll() is not None, 60)
        first.send_signal(signal.SIGKILL)
    left = namespaces(first.pid)
    assert len(left) == 2, left
    # Without a reader for their output, nodes exit.
    eventually("the nodes have ended", lambda: not any(
        subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout.split() for name in left), 30)
    done = subprocess.run(pin.run_words(sweep), capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, cwd=site.directory)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
    assert "left by an earlier run: network namespace" in done.stdout and "continuing after 1 measurements" in done.stdout, done.stdout
    assert not namespaces(first.pid) and not list(pathlib.Path("/tmp").glob(f"lnet-pin-{first.pid}")), "not restored"
    assert pin.entries() >= 4 and "nothing was changed" in pin.call("restore", "--state", pin.state)
    check_report(pin)
    check_settings(pin, site)


def check_report(pin):
    folder = pathlib.Path(pin.results)
    report = json.loads((folder / "report.json").read_text())
    placements = report["aims"]["throughput"]["placements"]
    assert len(placements) == 2 and all(each["rounds"] == 2 and each["median"]["estimate"] > 0 for each in placements), placements
    assert len(report["aims"]["p99"]["placements"]) == 2, report["aims"].keys()
    assert [each["versus_baseline"]["verdict"] for each in placements if "versus_baseline" in each] == ["too few rounds"], placements
    assert not report["failed"] and not report["not_measured"], report
    # A failed measurement is made again: other cases may have held the memory meanwhile.
    rows = [row for row in csv.DictReader((folder / "report.csv").open()) if row["failed"] == ""]
    assert len({(row["placement"], row["round"]) for row in rows}) == 4 and all(float(row["cpu_seconds"]) > 0 and float(row["busy_cores"]) > 0 for row in rows), rows
    assert all(float(row["longest_turn_us"]) > 0 for row in rows), rows
    page = (folder / "report.html").read_text()
    assert page.count("<div class='machine'>") == 2 and "http" not in page, page[:300]


def repeat_rounds(pin, rounds):
    """Copies the first round of a journal until there are so many."""
    journal = pathlib.Path(pin.results) / "journal.jsonl"
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    first = [each for each in entries if each.get("round") == 0 and "figures" in each]
    have = max(each.get("round", 0) for each in entries) + 1
    with journal.open("a") as file:
        for number in range(have, rounds):
            file.writelines(json.dumps({**each, "round": number}) + "\n" for each in first)


def check_settings(pin, site):
    assert "2 rounds are too few to compare these placements, 7 are needed" in pin.call("recommend", pin.results, status=1)
    repeat_rounds(pin, 9)
    yaml = pin.call("recommend", pin.results)
    config = site.write("recommended.yaml", yaml)
    done = site.run(site.program("lnet-router"), "--config", config, "--check")
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{yaml}"
    kernel = pin.call("recommend", pin.results, "--for", "kernel")
    assert '\noptions lnet cpu_npartitions=1 cpu_pattern="0[' in kernel, kernel
    node = site.node("--config", config, "--idle", "sleep", name="placed")
    # A short round may or may not show that the other placement is better: in that case status 3
    # and a warning.
    done = subprocess.run(pin.words("check", "--socket", node.socket, "--results", pin.results, "--json"), capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL)
    findings = json.loads(done.stdout)["findings"]
    assert any("the node is placed like p" in each["text"] for each in findings), findings
    assert done.returncode == (3 if any(each["warning"] for each in findings) else 0), f"{done.returncode}: {findings}"


def case_the_page_in_a_browser(site):
    """Its script runs, and a click on a heading sorts the table."""
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not browser:
        raise Skip("chromium-headless-shell is not installed")
    pin = Pin(site)
    sweep = site.write("sweep.yaml", SWEEP.replace("least: 2, most: 2", "least: 1, most: 1"))
    done = subprocess.run(pin.run_words(sweep), capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, cwd=site.directory)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
    page = (pathlib.Path(pin.results) / "report.html").read_text()
    click = "<script>document.querySelector('table.sorts th').click();</script></body>"
    clicked = site.write("clicked.html", page.replace("</body>", click))
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={site.path('browser')}", "--dump-dom",
                           f"file://{clicked}"], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert "Uncaught" not in done.stderr, done.stderr
    body = done.stdout.partition('<table class="sorts">')[2].partition("</table>")[0]
    assert body.count("<tr>") == 3 and body.index(">p1<") < body.index(">p0<"), done.stdout[:2000]


def case_kfi_networks_with_nics_in_software(site):
    pin = Pin(site)
    sweep = site.write("sweep.yaml", SWEEP.replace("networks: tcp", "networks: kfi").replace("least: 2, most: 2", "least: 1, most: 1")
                       .replace("factors: {idle: [yield, sleep]}\n", ""))
    done = subprocess.run(pin.run_words(sweep), capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, cwd=site.directory)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
    report = json.loads((pathlib.Path(pin.results) / "report.json").read_text())
    assert not report["failed"] and all(len(report["aims"][aim]["placements"]) == 1 for aim in ("throughput", "p99")), report["aims"].keys()


def failing_programs(site, name, failures):
    """Programs whose server with the idle policy `sleep` fails to start so many times."""
    real = pathlib.Path(site.program("lnet-selftest"))
    folder = site.path(name)
    folder.mkdir()
    program = folder / "lnet-selftest"
    program.write_text(f"""#!/bin/sh
case "$*" in *"--instance server"*)
  n=$(cat "$0.count" 2>/dev/null || echo 0)
  if [ "$n" -lt {failures} ] && grep -q '"idle": "sleep"' "$3"; then
    echo $((n + 1)) >"$0.count"; echo "lnet-selftest: a planted failure" >&2; exit 1
  fi;;
esac
exec {real} "$@"
""")
    program.chmod(0o755)
    return folder


def case_a_failed_measurement_is_repeated(site):
    pin = Pin(site)
    sweep = site.write("sweep.yaml", SWEEP.replace("least: 2, most: 2", "least: 1, most: 1"))

    def run(name, failures):
        pin.results = site.path(name)
        words = pin.run_words(sweep)
        words[-1] = str(failing_programs(site, f"{name}-programs", failures))
        done = subprocess.run(words, capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL, cwd=site.directory)
        return done, json.loads((pathlib.Path(pin.results) / "report.json").read_text())

    done, report = run("once", 1)
    assert done.returncode == 0 and "a planted failure" in done.stdout, done
    assert not report["failed"] and report["failed_measurements"] >= 1, report["failed"]
    assert len(report["aims"]["throughput"]["placements"]) == 2, report["aims"]
    done, report = run("always", 99)
    assert done.returncode == 4 and "some placements failed" in done.stdout, done
    assert "p1 (idle=sleep) has no figures" in done.stderr and "a planted failure" in done.stderr, done.stderr
    assert list(report["failed"]) == ["p1"] and [each["placement"] for each in report["aims"]["throughput"]["placements"]] == ["p0"], report


def case_a_killed_sweep_restores_huge_pages(site):
    """On this machine's real setting, after kill -9."""
    pin = Pin(site)
    setting = pathlib.Path("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages")
    transparent = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not setting.exists() or not os.access(setting, os.W_OK) or not os.access(transparent, os.W_OK):
        raise Skip("huge pages cannot be changed here")
    # Nodes of other cases keep their pages: the number only grows.
    before, policy = setting.read_text(), transparent.read_text()
    wanted = str(int(before) + 16)
    sweep = site.write("sweep.yaml", SWEEP.replace("idle: [yield, sleep]", f"hugepages: ['{wanted}']").replace("200ms", "60s"))
    with subprocess.Popen(pin.run_words(sweep), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          cwd=site.directory) as run:
        try:
            eventually("the setting is changed", lambda: setting.read_text().strip() == wanted or run.poll() is not None, 60)
            assert run.poll() is None and transparent.read_text() != policy, transparent.read_text()
        finally:
            run.send_signal(signal.SIGKILL)
            run.wait()
            said = pin.call("restore", "--state", pin.state)
    assert f"{setting} was '{before.strip()}'" in said and "all of it is restored" in said, said
    assert transparent.read_text() == policy
    # The kernel keeps pages that a process still uses beyond the number.
    eventually("the number of pages is restored", lambda: setting.read_text() == before, 60)
    assert "nothing was changed" in pin.call("restore", "--state", pin.state)


def case_nodes_of_a_slurm_job(site):
    """Client and server are steps of a job on two hosts of a Slurm cluster; lnet-pin runs on the third."""
    with selftest_hosts(site) as hosts, cluster(site, hosts) as slurm:
        pin = Pin(site)
        job = slurm.start_job("-N2", "--ntasks-per-node=1", "sleep", "600")
        text = SWEEP.replace("least: 2, most: 2", "least: 1, most: 1") + (
            f"hosts: {{client: {{on: 'slurm:{job.number}:n0', addresses: {address(0, hosts.CLIENT)}}}, "
            f"server: {{on: 'slurm:{job.number}:n1', addresses: {address(0, hosts.SERVER)}}}}}\n")
        done = slurm.run(*pin.run_words(site.write("sweep.yaml", text)), timeout=180)
        assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}{slurm.logs()}"
        report = json.loads((pathlib.Path(pin.results) / "report.json").read_text())
        assert not report["failed"] and len(report["aims"]["throughput"]["placements"]) == 2, report
        assert report["counters"] == "the placed node is on another machine", report["counters"]
        job.cancel()


def case_a_host_that_vanishes(site):
    pin = Pin(site)
    # Connects to this host for one measurement (a server, a client and the engine there), and fails
    # afterwards.
    ssh = site.path("ssh")
    ssh.write_text("""#!/bin/sh
n=$(cat "$0.count" 2>/dev/null || echo 0); n=$((n + 1)); echo $n >"$0.count"
[ $n -le 3 ] || { echo "ssh: connect to host away port 22: No route to host" >&2; exit 255; }
while [ "$1" = -o ]; do shift 2; done
shift; exec sh -c "$*"
""")
    ssh.chmod(0o755)
    hosts = "hosts: {client: {on: 'ssh:away', addresses: 127.0.0.1}, server: {on: 'ssh:away', addresses: 127.0.0.2}}\n"
    sweep = site.write("sweep.yaml", SWEEP.replace("most: 2", "most: 4") + hosts)
    done = subprocess.run(pin.run_words(sweep), capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, cwd=site.directory,
                          env={**os.environ, "PATH": f"{ssh.parent}:{os.environ['PATH']}"})
    assert done.returncode == 1, f"{done.returncode}\n{done.stdout}{done.stderr}"
    assert "No route to host" in done.stdout and "no placement can be measured" in done.stderr, done
    report = json.loads((pathlib.Path(pin.results) / "report.json").read_text())
    assert len(report["aims"]["throughput"]["placements"]) == 1 and len(report["failed"]) == 2, report["failed"]


def case_missing_rights(site):
    pin = Pin(site)
    sweep = site.write("sweep.yaml", SWEEP)
    open_folder = site.path("open")
    open_folder.mkdir()
    open_folder.chmod(0o777)
    pin.results, pin.state = open_folder / "results", open_folder / "state"
    done = subprocess.run(pin.run_words(sweep), capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, user=NOBODY,
                          group=NOBODY, extra_groups=[], cwd="/")
    assert done.returncode == 1 and "CAP_NET_ADMIN" in done.stderr, done
    said = pin.call("restore", "--state", "/proc/sys/pin", status=1, user=NOBODY, group=NOBODY, extra_groups=[])
    assert "cannot make the state folder /proc/sys/pin" in said and "--state" in said, said


def case_garbage(site):
    pin = Pin(site)
    bad = site.write("bad.yaml", "factors: {idle: [loud]}\n")
    assert "bad.yaml:1:" in pin.call("plan", bad, status=1)
    assert "no placement exists here" in pin.call("plan", site.write("far.yaml", "factors: {cores: ['4000']}\n"), status=1)
    assert "cannot read" in pin.call("report", site.path("nowhere"), status=1)
    folder = site.path("garbage")
    folder.mkdir()
    (folder / "journal.jsonl").write_bytes(os.urandom(4096) + b"\n")
    assert "no journal of lnet-pin" in pin.call("recommend", folder, status=1)
    assert "no journal of lnet-pin" in pin.call("run", "--results", folder, "--state", pin.state, status=1)
    pin.call("recommend", folder, "--aim", "beauty", status=2)
    said = pin.call("check", "--socket", site.path("nowhere.sock"), status=1)
    assert "--socket PATH" in said and "--instance" not in said, said
    plan = pin.call("plan", site.write("good.yaml", SWEEP), "--synthetic", "pack:2 [numa] core:2 pu:2", "--draw")
    assert "2 placements" in plan and "4 runs," in plan, plan
