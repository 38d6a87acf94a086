# SPDX-License-Identifier: BSD-3-Clause
"""lnetdump on files: what kernels said to each other, shown, filtered, written and read again, also by tshark."""
import json
import pathlib
import shutil
import subprocess

from site_under_test import Skip

EXCERPT = pathlib.Path(__file__).resolve().parents[2] / "data/captures/kernel-2.17-tcp-discovery.pcap"
MESSAGES = 8  # in the excerpt


def lnetdump(site, *words, status=0, stdin=None):
    done = subprocess.run([site.programs / "lnetdump", *map(str, words)], capture_output=True, input=stdin, timeout=60)
    assert done.returncode == status, f"lnetdump {words}: {done.returncode}: {done.stderr.decode()}"
    return done.stdout, done.stderr.decode()


def lines(output):
    return output.decode().splitlines()


def case_shows_messages_of_kernels(site):
    shown = lines(lnetdump(site, "-r", EXCERPT)[0])
    assert len(shown) == MESSAGES, shown
    assert "10.99.0.11@tcp" in shown[0] and "LNET_RESERVED" in shown[0], shown[0]
    objects = [json.loads(line) for line in lines(lnetdump(site, "-r", EXCERPT, "--json")[0])]
    assert len(objects) == MESSAGES
    replies = [one for one in objects if one["type"] == "REPLY"]
    assert replies and all(one["latency_ns"] > 0 and one["portal"] == "LNET_RESERVED" for one in replies), replies
    assert replies[0]["ping"]["interfaces"][0]["status"] == "up", replies[0]


def case_filters_messages(site):
    assert len(lines(lnetdump(site, "-r", EXCERPT, "get")[0])) == len(lines(lnetdump(site, "-r", EXCERPT, "reply")[0]))
    source = lines(lnetdump(site, "-r", EXCERPT, "src", "10.99.0.11@tcp", "and", "len > 0", "-p", "%Lf %Lt")[0])
    assert source and all(line.startswith("10.99.0.11@tcp ") for line in source), source
    either = lnetdump(site, "-r", EXCERPT, "--filter", "msg_type=GET", "--filter", "msg_type=REPLY", "-p", "%Lt")[0]
    assert {"GET", "REPLY"} == set(lines(either)), either
    _, error = lnetdump(site, "-r", EXCERPT, "portal OST_IOO", status=2)
    assert "column 8 " in error and "a value of portal" in error, error


def case_writes_files_that_it_reads(site):
    path = site.path("copy.pcapng")
    lnetdump(site, "-r", EXCERPT, "-w", path)
    columns = "%Lf %Lr %Lt %LP %Lm %Ll %Lw"
    assert lnetdump(site, "-r", path, "-p", columns)[0] == lnetdump(site, "-r", EXCERPT, "-p", columns)[0]
    assert lnetdump(site, "-r", "-", "-p", columns, stdin=path.read_bytes())[0] == lnetdump(site, "-r", path, "-p", columns)[0]
    summary = json.loads(lnetdump(site, "-r", path, "--summary", "--json")[0])
    assert summary["messages"] == MESSAGES, summary
    assert lnetdump(site, "-r", path, "--chart", "html")[0].startswith(b"<!DOCTYPE html>")


def case_says_what_is_wrong_with_files(site):
    cut = site.path("cut.pcap")
    cut.write_bytes(EXCERPT.read_bytes()[:-5])
    _, error = lnetdump(site, "-r", cut)
    assert "ends within a packet" in error, error
    _, error = lnetdump(site, "-r", __file__, status=1)
    assert "neither a pcap nor a pcapng file" in error, error
    _, error = lnetdump(site, "-r", site.path("none"), status=1)
    assert "No such file" in error, error


def case_wireshark_reads_files(site):
    if shutil.which("tshark") is None:
        raise Skip("tshark is not installed (scripts/install_packages.sh check)")
    for style in ((), ("--pcap-tcp",)):
        path = site.path(f"for-tshark{len(style)}.pcapng")
        lnetdump(site, "-r", EXCERPT, "-w", path, *style)
        done = subprocess.run(["tshark", "-r", str(path), "-T", "fields", "-e", "lnet.msg_type", "-e", "lnet.src_nid"],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert len([line for line in done.stdout.splitlines() if line.strip()]) == MESSAGES, done.stdout
        done = subprocess.run(["tshark", "-r", str(path), "-Y", "_ws.malformed && !lnet.bad_buflen"], capture_output=True,
                              text=True, timeout=60)
        assert done.stdout == "", done.stdout
