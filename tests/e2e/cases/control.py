# SPDX-License-Identifier: BSD-3-Clause
"""Control and monitoring of a running node with lnetctl and metrics scrapes."""
import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import termios
import time
import urllib.request

from cases_common import two_shards
from site_under_test import NOBODY, Skip, eventually, needs_root


def hops(node):
    return sum(pair["hops"] for pair in node.json("exchange", "show")["exchange"]["pairs"])


def case_two_pollers_exchange_work(site):
    node = site.node("--config", two_shards(site))
    assert node.lnetctl("exchange", "start").returncode == 0
    eventually("tokens hop", lambda: hops(node) > 1000)
    assert node.lnetctl("exchange", "stop").returncode == 0
    eventually("the rings drain", lambda: node.json("exchange", "show")["exchange"]["drained"])
    still = hops(node)
    assert hops(node) == still, "tokens hop after the stop"


def case_cpt_show_counts_turns_of_every_shard(site):
    node = site.node("--config", two_shards(site))
    shown = node.json("cpt", "show")["cpt"]
    shards = [shard for cpt in shown for shard in cpt["shards"]]
    assert len(shown) == 2 and len(shards) == 2, shown
    eventually("turns grow", lambda: all(
        s["turns"] > 0 for c in node.json("cpt", "show")["cpt"] for s in c["shards"]))


def case_set_is_live_and_export_shows_it(site):
    node = site.node()
    assert node.lnetctl("set", "idle", "yield").returncode == 0
    assert "idle: yield" in node.lnetctl("export").stdout
    assert node.lnetctl("set", "log_level", "debug").returncode == 0
    assert "level: debug" in node.lnetctl("export").stdout


def case_json_may_stand_behind_the_command(site):
    node = site.node()
    assert "status" in json.loads(node.lnetctl("status", "--json").stdout)


def case_the_log_names_the_user_of_each_change(site):
    node = site.node()
    assert node.lnetctl("set", "turn_limit_usec", "77").returncode == 0
    eventually("the change is in the log", lambda: f"what=plnet.pollers.turn_limit_usec from=1000 to=77 uid={os.getuid()}"
               in node.output())
    assert node.lnetctl("net", "add", "--nid", "10.0.0.1@tcp", "--driver", "null").returncode == 0
    assert node.lnetctl("net", "del", "--net", "tcp").returncode == 0
    assert node.lnetctl("net", "del", "--net", "tcp").returncode != 0
    said = f'event=command verb="net del" args="net=tcp" uid={os.getuid()} pid='
    eventually("so is the command", lambda: said in node.output())
    assert node.output().count(said) == 1, node.output()


def case_the_log_names_exactly_the_changes(site):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        options = site.write("taken.conf", f"options lnet accept_port={taken.getsockname()[1]}\n")
        node = site.node("--options", options)
        assert node.lnetctl("net", "add", "--nid", "10.0.0.1@tcp", "--driver", "null").returncode == 0
        assert node.lnetctl("set", "turn_limit_usec", "77").returncode == 0
        peer = "peer:\n    - primary nid: 10.0.0.2@tcp\nplnet:\n    pollers:\n        turn_limit_usec: 78\n"
        assert node.lnetctl("import", stdin=peer).returncode == 0
        # The first is refused at once, since its interface is missing; the second fails late, when
        # its port is in use, and its node-wide changes are undone.
        for value, ni, says in ((79, "interfaces: {0: nowhere}", "nowhere"), (80, "nid: 127.0.0.1@tcp7", "cannot listen")):
            net = f"net:\n    - net type: tcp7\n      local NI(s):\n        - {ni}\n"
            done = node.lnetctl("import", stdin=peer.replace("78", str(value)) + net)
            assert done.returncode != 0 and says in done.stderr, done
    eventually("it went back", lambda: "what=plnet.pollers.turn_limit_usec from=80 to=78" in node.output())
    assert " to=79 " not in node.output(), "it has been carried out in part"
    said = [line.split("event=changed ")[1].split(" uid=")[0] for line in node.output().splitlines() if "event=changed " in line]
    assert [each.split()[0] for each in said].count("what=peer") == 1, said
    assert not any(each.startswith("what=net") for each in said), said
    assert node.stop() == 0


def case_export_backup_import_export_is_byte_identical(site):
    node = site.node("--config", two_shards(site, "    log:\n        level: warning\n"))
    first = node.lnetctl("export", "--backup").stdout
    assert first
    done = node.lnetctl("import", stdin=first)
    assert done.returncode == 0, done.stderr
    assert node.lnetctl("export", "--backup").stdout == first
    again = site.node("--config", site.write("exported.yaml", first), "--idle", "sleep", name="again")
    assert node.stop() == 0
    assert again.stop() == 0


def case_plan_shows_the_difference_and_applies_nothing(site):
    node = site.node()
    before = node.lnetctl("export", "--backup").stdout
    done = node.lnetctl("import", "--plan", stdin="plnet:\n    log:\n        level: debug\n    memory:\n        arena_mib: 77\n")
    assert done.returncode == 0, done.stderr
    for word in ("plnet.log.level", "debug", "live", "plnet.memory.arena_mib", "77", "restart"):
        assert word in done.stdout, f"no {word!r} in\n{done.stdout}"
    assert node.lnetctl("export", "--backup").stdout == before


def case_import_reads_standard_input_and_applies(site):
    node = site.node()
    assert node.lnetctl("import", stdin="plnet:\n    pollers:\n        turn_limit_usec: 123\n").returncode == 0
    assert "turn_limit_usec: 123" in node.lnetctl("export").stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def case_metrics_are_off_until_asked_for(site):
    node = site.node("--config", two_shards(site))
    port = free_port()
    assert node.lnetctl("set", "metrics_listen", f"127.0.0.1:{port}").returncode == 0
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20).read().decode()
    assert "# HELP plnet_" in text and "# TYPE plnet_" in text and 'shard="1"' in text, text[:600]
    assert node.lnetctl("set", "metrics_listen", "").returncode == 0
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5)
        raise AssertionError("still served after it was switched off")
    except OSError:
        pass


def case_metrics_on_any_port_say_which_one_it_is(site):
    node = site.node("--config", two_shards(site))
    assert node.json("status")["status"]["metrics"] == "off"
    assert node.lnetctl("set", "metrics_listen", "127.0.0.1:0").returncode == 0
    address = node.json("status")["status"]["metrics"]
    assert not address.endswith(":0"), address
    assert "plnet_" in urllib.request.urlopen(f"http://{address}/metrics", timeout=20).read().decode()
    assert "127.0.0.1:0" in node.lnetctl("export", "--backup").stdout  # the configured value


def case_a_scrape_is_answered_beside_callers_that_drip(site):
    node = site.node("--config", two_shards(site), "--idle", "sleep")
    assert node.lnetctl("set", "metrics_listen", "127.0.0.1:0").returncode == 0
    host, port = node.json("status")["status"]["metrics"].rsplit(":", 1)

    def scraped_beside_drips():
        with contextlib.ExitStack() as stack:
            drips = [stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(20)]
            for each in drips:
                each.sendall(b"GET /met")
            text = urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=20).read().decode()
            assert "plnet_" in text, text[:200]
            # On a busy machine the node may have closed some before the scrape; the case proves
            # nothing then.
            return all(is_kept_waiting(each) for each in drips)

    eventually("a scrape ends while all others still drip", scraped_beside_drips, 60)


def case_metrics_that_cannot_listen_say_why(site):
    node = site.node()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for address, words in ((f"127.0.0.1:{taken.getsockname()[1]}", "in use"), ("192.0.2.77:9100", "Cannot assign")):
            done = node.lnetctl("set", "metrics_listen", address)
            assert done.returncode != 0 and words in done.stderr, done.stderr
    done = node.lnetctl("set", "metrics_listen", f"[::1]:{free_port()}")
    assert done.returncode == 0 or "IPv6" in done.stderr or "family" in done.stderr or "assign" in done.stderr, done.stderr


SCRAPES_AT_A_TIME = 32  # the node's limit


def is_kept_waiting(connection):
    try:
        connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
    except BlockingIOError:
        return True
    return False


def case_a_hanging_scraper_does_not_delay_others(site):
    """The node closes hanging connections after a while; queued requests are answered then."""
    node = site.node("--config", two_shards(site))
    port = free_port()
    assert node.lnetctl("set", "metrics_listen", f"127.0.0.1:{port}").returncode == 0
    for _ in range(5):  # retries for slow machines
        hung = [socket.create_connection(("127.0.0.1", port)) for _ in range(SCRAPES_AT_A_TIME)]
        for scraper in hung:
            scraper.send(b"GET /metr")
        node.json("status")
        if all(is_kept_waiting(scraper) for scraper in hung):
            break
    else:
        raise AssertionError("nobody was answered before scrapers were cut off")
    assert node.lnetctl("set", "metrics_listen", "").returncode == 0
    node.json("status")
    assert node.stop() == 0


def case_a_stranger_may_look_only_if_the_mode_lets_him_and_change_nothing(site):
    needs_root()
    site.directory.chmod(0o755)
    node = site.node("--socket-mode", "0666")
    done = node.lnetctl("status", user=NOBODY)
    assert done.returncode == 0, done.stderr
    done = node.lnetctl("set", "idle", "yield", user=NOBODY)
    assert done.returncode != 0 and "has read access only" in done.stderr, done.stderr
    os.chmod(node.socket, 0o600)
    done = node.lnetctl("status", user=NOBODY)
    assert done.returncode != 0 and "ermission" in done.stderr, done.stderr


def case_cpt_plan_works_on_machines_that_are_not_here(site):
    for synthetic, cpts in (("pack:1 core:4 pu:1", 1), ("[numa] pack:2 core:8 pu:2", None), ("pack:2 [numa] core:4 pu:2", None)):
        done = site.lnetctl("cpt", "plan", "--synthetic", synthetic)
        assert done.returncode == 0, f"{synthetic}: {done.stderr}"
        assert "cpt" in done.stdout, done.stdout
        if cpts is not None:
            assert done.stdout.count("cpt: ") >= cpts, done.stdout


def case_export_writes_to_a_device_and_behind_a_link_instead_of_replacing_them(site):
    node = site.node()
    # A link to the device: a replacement would replace only the link.
    full = site.path("full")
    full.symlink_to("/dev/full")
    done = node.lnetctl("export", str(full))
    assert done.returncode != 0 and "No space left" in done.stderr, f"{done.returncode}: {done.stderr}"
    assert full.is_symlink()
    pipe = site.path("pipe")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert node.lnetctl("export", str(pipe)).returncode == 0
        assert pipe.is_fifo(), "the pipe was replaced by a file"
        assert b"plnet:" in os.read(reader, 65536)
    finally:
        os.close(reader)
    link = site.path("link.yaml")
    link.symlink_to(site.write("target.yaml", "old"))
    assert node.lnetctl("export", str(link)).returncode == 0
    assert link.is_symlink() and "plnet:" in site.path("target.yaml").read_text()


def case_output_that_does_not_get_out_is_a_failure(site):
    node = site.node()
    for command in (["lnetctl", "--socket", str(node.socket), "export"], ["lnetctl", "--help"], ["lnetctl", "cpt", "plan"],
                    ["lnet-router", "--print-config"], ["lnet-router", "--check"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([site.program(command[0]), *command[1:]], stdin=subprocess.DEVNULL, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=20)
        assert done.returncode != 0, f"{command}: success"
        assert "standard output" in done.stderr, f"{command}: {done.stderr}"


def on_a_terminal(node, *words, keys="", until):
    """Output of lnetctl on a terminal, up to the text `until`; `keys` are typed at its prompt."""
    child, terminal = pty.fork()
    if child == 0:
        program = node.site.program("lnetctl")
        os.execve(program, ["lnetctl", "--socket", str(node.socket), *words], {**os.environ, "TERM": "vt100", "HOME": "/nonexistent"})
    seen = b""
    try:
        with contextlib.suppress(OSError):  # the end of the other side
            while until.encode() not in seen:
                piece = os.read(terminal, 65536)
                if not piece:
                    break
                seen += piece
                if keys and b"lnetctl > " in seen:
                    # libedit takes over the terminal after it has written the prompt.
                    eventually("each key is read at once", lambda: not termios.tcgetattr(terminal)[3] & termios.ICANON)
                    os.write(terminal, keys.encode())
                    keys = ""
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
    return seen.decode(errors="replace")


def case_top_is_a_screen_on_a_terminal_and_plain_in_a_file(site):
    node = site.node()
    seen = on_a_terminal(node, "top", until="messages/s")
    assert "\033[H\033[2J" in seen and "messages/s" in seen, seen
    assert "\033" not in node.lnetctl("top").stdout


def case_the_prompt_completes_and_explains(site):
    node = site.node()
    if "libedit" not in site.run("ldd", site.program("lnetctl")).stdout:
        raise Skip("lnetctl was built without libedit")
    seen = on_a_terminal(node, keys="net s?\x15log sh\tx\x7f\nquit\n", until="suppressed")
    assert "networks and their NIs" in seen and "level: info" in seen, seen
    seen = on_a_terminal(node, keys="net show --net l\t\nquit\n", until="net type: lo")
    assert "net type: lo" in seen, seen


def case_an_instance_is_found_by_the_name_of_its_socket(site):
    node = site.node(name=f"router-{os.getpid()}")
    done = site.lnetctl("--instance", f"router-{os.getpid()}", "log", "show")
    assert done.returncode == 0 and "level:" in done.stdout, done
    assert node.stop() == 0
    done = site.lnetctl("--instance", f"router-{os.getpid()}", "log", "show")
    assert done.returncode != 0 and "no node listens" in done.stderr, done
