# SPDX-License-Identifier: BSD-3-Clause
"""Start, stop, kill, and refused starts."""
import fcntl
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import termios

from cases_common import one_shard, two_shards
from process_watch import handled_crashes
from site_under_test import NOBODY, Skip, eventually, needs_root
from tcp_nodes import pings
from two_hosts import two_hosts

# Numbers of <linux/capability.h>: DAC_OVERRIDE, NET_BIND_SERVICE, NET_ADMIN, NET_RAW, IPC_LOCK, SYS_NICE.
KEPT_CAPABILITIES = sum(1 << number for number in (1, 10, 12, 13, 14, 23))


def gives_up_capabilities(node):
    """No thread of the node can load a module, mount, or change its user."""
    threads = list(pathlib.Path(f"/proc/{node.process.pid}/task").iterdir())
    assert len(threads) > 1, threads
    for thread in threads:
        sets = dict(re.findall(r"^(Cap\w+):\t(\w+)$", (thread / "status").read_text(), re.MULTILINE))
        for name in ("CapEff", "CapPrm", "CapBnd") if os.geteuid() == 0 else ("CapEff", "CapPrm"):
            assert int(sets[name], 16) & ~KEPT_CAPABILITIES == 0, f"{name} of {thread} is {sets[name]}"


def case_starts_without_configuration_and_stops_on_sigterm(site):
    node = site.node()
    status = node.json("status")
    assert status, "status shows nothing"
    gives_up_capabilities(node)
    assert node.stop(signal.SIGTERM) == 0, node.output()
    assert not node.socket.exists(), "the control socket stays behind"


def case_sigint_stops_it_too(site):
    node = site.node("--config", two_shards(site))
    assert node.stop(signal.SIGINT) == 0, node.output()


# Runs a command with its own terminal, of which it keeps the other end.
WITH_TERMINAL = """
import fcntl, os, pty, sys, termios
if os.getsid(0) != os.getpid(): os.setsid()
master, terminal = pty.openpty()
fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
os.set_inheritable(master, True)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def case_a_lost_terminal_stops_it_cleanly(site):
    node = site.node("--config", two_shards(site), prefix=(sys.executable, "-c", WITH_TERMINAL))
    assert node.stop(signal.SIGHUP) == 0, node.output()
    assert not node.socket.exists(), "the control socket stays behind"


def case_sighup_reads_the_file_again(site):
    config = two_shards(site)
    node = site.node("--config", config, "--idle", "sleep")

    def reload(extra, event):
        """The log lines of one reload."""
        before = len(node.output())
        two_shards(site, extra)
        node.process.send_signal(signal.SIGHUP)
        eventually(event, lambda: f"event={event}" in node.output()[before:])
        return node.output()[before:]

    def timeout():
        return node.json("global", "show")["global"]["transaction_timeout"]

    reload("    log: {level: debug}\nglobal: {transaction_timeout: 77}\n", "reloaded")
    assert timeout() == 77
    log = reload("    log: {level: debug}\nglobal: {transaction_timeout: many}\n", "not_reloaded")
    assert "two.yaml:" in log and "many" in log, log
    log = reload("    log: {level: debug}\nglobal: {transaction_timeout: 78}\nroute:\n- {net: tcp7}\n", "not_reloaded")
    assert "two.yaml:" in log and timeout() == 77, f"half of it: {log}"
    reload("    log: {level: info}\nglobal: {transaction_timeout: 78}\n", "reloaded")
    assert timeout() == 78
    assert node.stop() == 0, node.output()


def case_a_node_started_with_nohup_survives_a_lost_terminal(site):
    node = site.node("--config", two_shards(site), prefix=("nohup",))
    node.process.send_signal(signal.SIGHUP)
    assert node.json("status")
    assert node.stop(signal.SIGTERM) == 0, node.output()
    assert node.output().count("event=signal ") == 1, node.output()


def case_kill_9_leaves_nothing_that_blocks_a_start(site):
    config = two_shards(site)
    for _ in range(3):
        node = site.node("--config", config)
        assert node.stop(signal.SIGKILL) == -signal.SIGKILL
        assert node.socket.exists(), "a killed process cannot have removed its socket"
    assert site.node("--config", config).stop() == 0


def case_a_crash_leaves_its_signal_and_a_core(site):
    if not shutil.which("prlimit"):
        raise Skip("needs prlimit")
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    for crash in (signal.SIGSEGV, signal.SIGABRT):
        node = site.node("--config", two_shards(site), "--idle", "sleep", name=crash.name, prefix=("prlimit", "--core=unlimited"))
        pid = node.process.pid
        assert not handled_crashes(node), handled_crashes(node)
        pathlib.Path(f"/proc/{pid}/coredump_filter").write_text("0")  # a core of headers and registers
        node.process.send_signal(crash)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == crash, (crash.name, status)
        if pattern.startswith(("|", "/")):
            print(f"# {crash.name}: a program or directory of the system takes the core: {pattern}", flush=True)
        else:
            assert os.WCOREDUMP(status), f"{crash.name}: no core"
            assert list(site.directory.glob("core*")), "the core is in the directory of the process"


def case_second_node_on_the_same_socket_is_refused_and_told_the_pid(site):
    first = site.node("--config", two_shards(site))
    done = site.router("--config", two_shards(site), "--socket", str(first.socket), "--idle", "sleep")
    assert done.returncode != 0
    assert str(first.process.pid) in done.stderr, done.stderr
    first.json("status")  # and it still runs


def case_two_instances_live_side_by_side(site):
    config = two_shards(site)
    first = site.node("--config", config, "--idle", "sleep", name="first")
    second = site.node("--config", config, "--idle", "sleep", name="second")
    first.json("status")
    second.json("status")
    assert first.stop() == 0 and second.stop() == 0


def case_a_cpu_that_a_busy_poller_has_is_not_shared(site):
    config = site.write("one.yaml", "plnet:\n    cpts:\n        by: list\n        list:\n            - shards:\n"
                                    "                - cpu: %d\n" % sorted(os.sched_getaffinity(0))[0])
    first = site.node("--config", config, "--idle", "busy", name="first")
    done = site.router("--config", config, "--idle", "busy", "--socket", str(site.path("second.sock")))
    assert done.returncode != 0
    assert str(first.process.pid) in done.stderr and "cpu" in done.stderr.lower(), done.stderr


def case_more_memory_than_there_is_is_refused_before_anything_is_taken(site):
    config = two_shards(site)
    text = site.path("two.yaml").read_text()
    site.write("two.yaml", text.replace("arena_mib: 4", "arena_mib: 1048576"))
    done = site.router("--config", config, "--socket", str(site.path("x.sock")))
    assert done.returncode == 1 and "MiB available" in done.stderr, done.stderr
    assert site.router("--config", config, "--check").returncode == 1


def case_check_fails_where_a_start_would_fail(site):
    with two_hosts(site) as hosts:
        config = one_shard(site, "net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n")
        check = ["ip", "netns", "exec", hosts.names["a"], site.program("lnet-router"), "--lock-dir", str(site.lock_dir), "--config", config,
                 "--check"]
        free = site.run(*check)
        assert free.returncode == 0, f"{free.stdout}{free.stderr}"
        node = hosts.node("a", "--config", config, "--idle", "sleep")
        taken = site.run(*check)
        assert taken.returncode != 0 and "one.yaml:" in taken.stderr and "cannot listen on 10.88.0.1" in taken.stderr, f"{taken.stdout}{taken.stderr}"
        pings(node, "10.88.0.1@tcp")
        assert node.stop() == 0
        assert site.run(*check).returncode == 0


def case_check_names_what_another_process_has(site):
    text = "plnet:\n    cpts: {by: list, list: [{shards: [{cpu: %d}]}]}\n    memory: {arena_mib: 4}\n" % sorted(os.sched_getaffinity(0))[0]
    config = site.write("one.yaml", text)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        address = "127.0.0.1:%d" % holder.getsockname()[1]
        scraped = site.write("scraped.yaml", text + f"    metrics: {{listen: '{address}'}}\n")
        node = site.node("--config", config, "--idle", "sleep", name="first")
        spare = str(site.path("spare.sock"))
        for words, cause in ((["--config", config, "--idle", "sleep", "--socket", str(node.socket)], f"is in use by process {node.process.pid}"),
                             (["--config", config, "--idle", "sleep", "--socket", config], "something that is not a socket is there"),
                             (["--config", config, "--idle", "busy", "--socket", spare], f"is taken by pid {node.process.pid}"),
                             (["--config", scraped, "--idle", "sleep", "--socket", spare], f"metrics address '{address}': cannot listen")):
            for how in (["--check"], []):
                done = site.router(*words, *how)
                assert done.returncode == 1 and cause in done.stderr, f"{words} {how}: {done.stdout}{done.stderr}"
    done = site.router("--config", scraped, "--idle", "sleep", "--socket", spare, "--check")
    assert done.returncode == 0 and not os.path.exists(spare), f"{done.stdout}{done.stderr}"
    assert node.stop() == 0


def case_a_checked_configuration_starts_without_root(site):
    needs_root()
    config = two_shards(site)
    done = site.run(site.program("lnet-router"), "--config", config, "--check", user=NOBODY)
    assert done.returncode == 0, done.stdout + done.stderr


def case_an_unread_log_does_not_end_the_node(site):
    sock = site.path("piped.sock")
    command = [site.program("lnet-router"), "--config", two_shards(site), "--idle", "sleep", "--socket", str(sock),
               "--lock-dir", str(site.lock_dir)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        eventually("the node answers", lambda: site.lnetctl("--socket", str(sock), "status").returncode == 0)
        process.stderr.close()
        process.send_signal(signal.SIGTERM)  # which is logged
        assert process.wait(20) == 0, process.returncode
    finally:
        process.kill()


def case_a_stalled_reader_of_the_log_does_not_stop_the_node(site):
    """The pipe is full, and its reader lives."""
    sock = str(site.path("stalled.sock"))
    command = [site.program("lnet-router"), "--config", two_shards(site), "--idle", "sleep", "--socket", sock, "--lock-dir", str(site.lock_dir)]
    reads, writes = os.pipe()
    room = fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 2 * 4096)
    process = subprocess.Popen(command, stderr=writes)
    try:
        os.close(writes)
        eventually("the node answers", lambda: site.lnetctl("--socket", sock, "status").returncode == 0)
        for turn in range(60):  # each is logged
            done = site.lnetctl("--socket", sock, "set", "discovery", str(turn % 2))
            assert done.returncode == 0, done.stderr
        unread = int.from_bytes(fcntl.ioctl(reads, termios.FIONREAD, bytes(4)), sys.byteorder)
        assert unread > room // 2, f"{unread} bytes of {room}: the last page takes no second line"
        assert site.lnetctl("--socket", sock, "status").returncode == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0, process.returncode
    finally:
        process.kill()
        os.close(reads)


def case_two_shards_on_one_cpu_take_turns(site):
    cpu = sorted(os.sched_getaffinity(0))[0]
    text = "plnet: {cpts: {by: list, list: [{shards: [{cpu: %d}]}, {shards: [{cpu: %d}]}]}, memory: {arena_mib: 4}}" % (cpu, cpu)
    config = site.write("shared.yaml", text)
    refused = site.router("--config", config, "--idle", "busy", "--socket", str(site.path("x.sock")))
    assert refused.returncode != 0 and "share" in refused.stderr, refused.stderr
    node = site.node("--config", config)
    shards = [s for c in node.json("cpt", "show")["cpt"] for s in c["shards"]]
    assert [s["cpu"] for s in shards] == [cpu, cpu] and shards[0]["idle"] in ("yield", "sleep"), shards
    assert node.lnetctl("exchange", "start").returncode == 0
    eventually("both find work", lambda: all(
        pair["hops"] > 100 for pair in node.json("exchange", "show")["exchange"]["pairs"]))
    assert node.stop() == 0


def case_too_few_open_files_are_reported_with_the_command(site):
    done = site.run("bash", "-c", f"ulimit -n 20; exec {site.program('lnet-router')} --lock-dir {site.lock_dir} "
                                  f"--socket {site.path('x.sock')}")
    assert done.returncode == 1 and "ulimit -n" in done.stderr, f"{done.returncode}: {done.stderr}"


def case_a_limit_of_address_space_is_reported_with_its_command(site):
    start = f"exec {site.program('lnet-router')} --lock-dir {site.lock_dir} --socket {site.path('x.sock')}"
    done = site.run("bash", "-c", f"ulimit -v 300000; {start}")
    assert done.returncode == 1 and "ulimit -v" in done.stderr and "MiB" in done.stderr, f"{done.returncode}: {done.stderr}"
    done = site.run("bash", "-c", f"ulimit -v 600000; {start} --check")
    assert "MiB wanted for arenas" in done.stdout and "ulimit -v unlimited" in done.stdout, done.stdout


def case_works_without_root(site):
    needs_root()
    site.directory.chmod(0o777)
    node = site.node("--config", two_shards(site), "--idle", "sleep", user=NOBODY)
    shown = node.json("cpt", "show")
    assert shown
    assert node.stop() == 0, node.output()


def case_file_capabilities_suffice_without_root(site):
    needs_root()
    if shutil.which("setcap") is None:
        raise Skip("no setcap (package libcap2-bin)")
    if os.statvfs(site.directory).f_flag & os.ST_NOSUID:
        raise Skip(f"{site.directory} is mounted nosuid, which ignores capabilities of files")
    site.directory.chmod(0o777)
    plain = site.program("lnet-router")
    able = shutil.copy(plain, site.path("lnet-router"))
    wanted = {"cap_net_bind_service": 10, "cap_ipc_lock": 14, "cap_sys_nice": 23}
    done = site.run("setcap", ",".join(wanted) + "+ep", able)
    if done.returncode != 0:
        raise Skip(f"setcap: {done.stderr.strip()}")
    config = two_shards(site)
    try:
        site.run(able, "--help", user=NOBODY)
    except PermissionError:
        raise Skip("this container may not have these capabilities") from None

    def warned_and_capabilities(program, name):
        node = site.node("--config", config, "--idle", "sleep", name=name, user=NOBODY, program=program)
        status = node.json("status")["status"]
        assert status["pid"] == node.process.pid
        with open(f"/proc/{node.process.pid}/status", encoding="ascii") as lines:
            effective = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
        assert node.stop() == 0, node.output()
        return any("CAP_NET_BIND_SERVICE" in warning["what"] for warning in status["warnings"]), effective

    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as first:
        privileged = int(first.read()) > 988
    assert warned_and_capabilities(plain, "plain") == (privileged, 0)
    assert warned_and_capabilities(able, "able") == (False, sum(1 << bit for bit in wanted.values()))


def case_a_path_without_permission_is_reported_with_the_remedy(site):
    needs_root()
    node = site.node()  # its folder and its lock are root's
    done = site.run(site.program("lnet-router"), "--socket", str(node.socket), "--lock-dir", str(site.lock_dir), user=NOBODY)
    assert done.returncode == 1 and "--socket" in done.stderr, done.stderr


def case_the_user_of_port_988_is_reported_beforehand(site):
    needs_root()
    with socket.socket() as holder:
        try:
            holder.bind(("127.0.0.1", 988))
        except OSError as error:
            raise Skip(f"port 988 is not free here: {error}") from None
        holder.listen()
        checked = site.router("--check")
        assert checked.returncode == 0 and "988" in checked.stdout, checked.stdout
        warnings = site.node("--idle", "sleep").json("status")["status"]["warnings"]
        assert any("988" in warning["what"] for warning in warnings), warnings


def case_sigstop_and_sigcont_are_survived(site):
    node = site.node("--config", two_shards(site))
    node.process.send_signal(signal.SIGSTOP)
    node.process.send_signal(signal.SIGCONT)
    node.json("status")
    assert node.stop() == 0


def case_a_socket_path_that_is_a_file_is_not_deleted(site):
    precious = site.write("precious", "data\n")
    done = site.router("--socket", precious)
    assert done.returncode != 0 and precious in done.stderr, done.stderr
    assert open(precious).read() == "data\n"


def case_a_client_that_says_nothing_does_not_stop_the_node(site):
    node = site.node("--config", two_shards(site))
    silent = [socket.socket(socket.AF_UNIX) for _ in range(8)]
    for client in silent:
        client.connect(str(node.socket))
        client.send(b'{"v":1,')
    node.json("status")
    assert node.stop() == 0
    eventually("socket gone", lambda: not node.socket.exists())


def case_the_journal_gets_priorities(site):
    read, write = os.pipe()
    there = os.fstat(write)
    environment = {**os.environ, "JOURNAL_STREAM": f"{there.st_dev}:{there.st_ino}"}
    process = subprocess.Popen([site.program("lnet-router"), "--socket", str(site.path("j.sock")), "--lock-dir", str(site.lock_dir),
                                "--config", two_shards(site)], stderr=write, stdout=subprocess.DEVNULL, env=environment)
    os.close(write)
    with open(read) as lines:
        first = lines.readline()
        assert first.startswith("<6>") and "event=starting" in first and "time=" not in first, first
        assert any("event=ready" in line for line in lines), "it starts"
        process.send_signal(signal.SIGTERM)
        lines.read()
    assert process.wait(30) == 0
