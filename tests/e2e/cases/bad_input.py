# SPDX-License-Identifier: BSD-3-Clause
"""Invalid input: the error names the place, the error and the expectation; the exit status is not 0; nothing changes."""
import json
import socket

CONFIG_ERRORS = {
    "unknown_key": ("plnet:\n    pollers:\n        idel: busy\n", ":3:9", "idle"),
    "duplicate_key": ("plnet:\n    pollers:\n        idle: busy\n        idle: sleep\n", ":4:9", "idle"),
    "bad_value": ("plnet:\n    pollers:\n        idle: lazy\n", ":3:15", "busy"),
    "out_of_range": ("plnet:\n    exchange:\n        in_flight: -3\n", ":3:20", "in_flight"),
    "not_yaml": ("plnet: [1, 2\n", ":2:1", "bracket"),
    "tab": ("plnet:\n\tpollers:\n", ":2:1", "tab"),
    "unknown_top": ("plnot:\n    a: 1\n", ":1:1", "call back for 'plnot' not found"),
}


def case_a_configuration_error_names_file_line_column_and_starts_nothing(site):
    for name, (text, position, word) in CONFIG_ERRORS.items():
        path = site.write(f"{name}.yaml", text)
        done = site.router("--config", path, "--socket", str(site.path("x.sock")))
        assert done.returncode != 0, f"{name}: accepted"
        assert f"{name}.yaml{position}" in done.stderr, f"{name}: no {position} in\n{done.stderr}"
        assert word in done.stderr, f"{name}: no {word!r} in\n{done.stderr}"
        assert not site.path("x.sock").exists()


def case_a_missing_cpu_is_reported_with_its_place_in_the_file(site):
    path = site.write("far.yaml", "plnet:\n    cpts:\n        by: list\n        list:\n            - shards: [{cpu: 8191}]\n")
    for words in (["--check"], ["--socket", str(site.path("x.sock"))]):
        done = site.router("--config", path, *words)
        assert done.returncode == 1 and "far.yaml:5:30: cpt 0 shard 0: cpu 8191" in done.stderr, done.stderr


def case_keys_without_effect_are_warned_of(site):
    path = site.write("idle.yaml", "plnet:\n    cpts:\n        by: numa\n        pattern: \"N\"\n    memory: {arena_mib: 4}\n")
    done = site.router("--config", path, "--check")
    assert done.returncode == 0 and "pattern: no effect" in done.stdout, done.stdout
    node = site.node("--config", path, "--idle", "sleep")
    assert any("pattern: no effect" in warning["what"] for warning in node.json("status")["status"]["warnings"])
    assert "pattern: no effect" in node.output()


def case_a_bad_import_changes_nothing(site):
    node = site.node()
    before = node.lnetctl("export", "--backup").stdout
    for name, (text, position, word) in CONFIG_ERRORS.items():
        done = node.lnetctl("import", site.write(f"{name}.yaml", text))
        assert done.returncode != 0, f"{name}: accepted"
        assert word in done.stderr, f"{name}: no {word!r} in\n{done.stderr}"
        assert position in done.stderr, f"{name}: no {position} in\n{done.stderr}"
    assert node.lnetctl("export", "--backup").stdout == before


def case_one_error_among_good_keys_applies_none_of_them(site):
    node = site.node()
    before = node.lnetctl("export", "--backup").stdout
    text = "plnet:\n    log:\n        level: debug\n    pollers:\n        idle: lazy\n"
    assert node.lnetctl("import", stdin=text).returncode != 0
    assert node.lnetctl("export", "--backup").stdout == before


def case_a_change_that_needs_a_restart_is_refused_whole(site):
    node = site.node()
    before = node.lnetctl("export", "--backup").stdout
    text = "plnet:\n    log:\n        level: debug\n    memory:\n        arena_mib: 77\n"
    done = node.lnetctl("import", stdin=text)
    assert done.returncode != 0 and "restart" in done.stderr, done.stderr
    assert node.lnetctl("export", "--backup").stdout == before


def case_flags_of_lnet_router(site):
    for arguments, word in ((["--nonsense"], "nonsense"), (["--idle", "lazy"], "busy"), (["--config", "/nowhere"], "/nowhere"),
                            (["--config", "/"], "'/'"), (["--config", "/dev/zero"], "/dev/zero"),
                            (["--config", ""], "--config ''"), (["--instance", ""], "--instance ''"), (["--socket", ""], "--socket ''"),
                            (["--socket-mode", "9999"], "9999"), (["extra"], "extra")):
        done = site.router(*arguments)
        assert done.returncode != 0, f"{arguments}: accepted"
        assert word in done.stderr, f"{arguments}: no {word!r} in\n{done.stderr}"


def case_flags_of_lnetctl(site):
    for arguments, word in ((["nonsense"], "nonsense"), (["cpt", "nonsense"], "nonsense"), (["cpt", "plan", "--by", "moon"], "moon"),
                            (["cpt", "plan", "--synthetic", "pack:zero"], "pack:zero"), (["cpt", "plan", "--bad"], "bad"),
                            (["set", "idle"], "VALUE")):
        done = site.lnetctl("--socket", "/nowhere/sock", *arguments)
        assert done.returncode != 0, f"{arguments}: accepted"
        assert word in done.stderr, f"{arguments}: no {word!r} in\n{done.stdout}{done.stderr}"


def case_lnetctl_without_a_node_explains_how_to_start_one(site):
    done = site.lnetctl("--socket", str(site.path("none.sock")), "status")
    assert done.returncode != 0
    assert "none.sock" in done.stderr and "lnet-router" in done.stderr, done.stderr


def case_ambiguous_prefix_names_the_candidates(site):
    done = site.lnetctl("ex")
    assert done.returncode != 0
    assert "Ambiguous command" in done.stderr and "export" in done.stderr and "exchange" in done.stderr, done.stderr


def talk(node, data):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(node.socket))
        try:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
        except BrokenPipeError:
            pass
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
        return answer


def case_garbage_on_the_control_socket_gets_an_error(site):
    node = site.node()
    for data in (b"\n", b"hello\n", b"{}\n", b"[1]\n", b'{"v":2,"id":1,"verb":"status","args":{}}\n',
                 b'{"v":1,"id":1,"verb":"no such verb","args":{}}\n', b'{"v":1,"id":1,"verb":"status","args":[]}\n',
                 b'{"v":1,"id":1,"verb":"status","args":{"x":1}}\n', b"\x00\xff\xfe\n", b'{"v":1,' + b"[" * 100000 + b"\n"):
        for line in talk(node, data).splitlines():
            reply = json.loads(line)
            assert "error" in reply and reply["error"]["descr"], f"{data[:40]!r}: {reply}"
    node.json("status")


def case_an_endless_request_is_cut_off(site):
    node = site.node()
    try:
        answer = talk(node, b"x" * (40 << 20))
        assert b"error" in answer or answer == b""
    except ConnectionResetError:
        pass
    node.json("status")
