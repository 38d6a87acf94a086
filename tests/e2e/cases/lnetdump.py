# SPDX-License-Identifier: BSD-3-Clause
"""lnetdump on files: messages between kernels, shown, filtered, written and read again, also by tshark."""
import json
import pathlib
import shutil
import struct
import subprocess

from site_under_test import Skip

ROOT = pathlib.Path(__file__).resolve().parents[3]
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


def case_analyses_files_by_any_number_of_threads(site):
    path = site.path("copy.pcapng")
    lnetdump(site, "-r", EXCERPT, "-w", path)
    for files in ((EXCERPT,), (path,), (EXCERPT, path)):
        words = [word for file in files for word in ("-r", file)]
        summary = lnetdump(site, *words, "--summary")[0] if len(files) == 1 else None
        by_threads = {lnetdump(site, "analyze", "--threads", threads, *files)[0] for threads in (1, 2, 7)}
        assert len(by_threads) == 1 and summary in (None, *by_threads), by_threads
    replies = json.loads(lnetdump(site, "analyze", EXCERPT, "--filter", "reply", "--json")[0])
    assert replies["messages"] == len(lines(lnetdump(site, "-r", EXCERPT, "reply")[0])), replies
    _, error = lnetdump(site, "analyze", __file__, status=1)
    assert "neither a pcap nor a pcapng file" in error, error


def case_assertions_judge_files(site):
    lnetdump(site, "-r", EXCERPT, "--assert", f"count={MESSAGES}", "--assert", "drops=0")
    _, error = lnetdump(site, "-r", EXCERPT, "--filter", "get", "--assert", f"count={MESSAGES}", status=1)
    assert f"assertion failed: count={MESSAGES}: it is" in error and "GET" in error, error
    _, error = lnetdump(site, "-r", EXCERPT, "--assert", "count=1", "true", status=2)
    assert "not with -r" in error, error


def case_errors_in_files_are_reported(site):
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


def exported(payload, portal):
    """A PUT as Wireshark's exported PDU, in a pcap record: for the dissector of TCP port 988."""
    tags = struct.pack(">HH8sHHIHH", 14, 8, b"tcp.port", 32, 4, 988, 0, 0)
    frame = struct.pack("<IIQQ", 0xc1, 0, 0, 0)
    nids = [2 << 48 | address for address in (0x0a000002, 0x0a000001)]
    header = struct.pack("<QQIIII", *nids, 12345, 12345, 1, len(payload))
    area = struct.pack("<QQQQII", 2**64 - 1, 2**64 - 1, 7, 0, portal, 0)
    packet = tags + frame + header + area + payload
    return struct.pack("<IIII", 1, 0, len(packet), len(packet)) + packet


def case_wireshark_decodes_selftest_with_our_dissector(site):
    if shutil.which("tshark") is None:
        raise Skip("tshark is not installed (scripts/install_packages.sh check)")
    vectors = json.loads((ROOT / "tests/data/vectors/selftest.json").read_text())
    messages = [bytes.fromhex(each["hex"]) for each in vectors if each["struct"].startswith("srpc_msg.")]
    messages = [each for each in messages if len(each) == 160 and each[:4] in (b"\x0d\xf0\xb0\xee", b"\xee\xb0\xf0\x0d")]
    assert len(messages) > 10
    types = [int.from_bytes(each[8:12], "little" if each[:1] == b"\x0d" else "big") for each in messages]
    path = site.path("selftest.pcap")
    path.write_bytes(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 252)
                     + b"".join(exported(each, 50 + number % 3) for number, each in enumerate(messages)))
    words = ("tshark", "-X", f"lua_script:{ROOT / 'apps/lnetdump/lnet_selftest.lua'}", "-r", str(path), "-Y", "lnet_selftest")
    done = subprocess.run([*words, "-T", "fields", "-e", "lnet_selftest.type"], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == [str(each) for each in types], (done.stdout, types, done.stderr)
    done = subprocess.run([*words[:-1], "_ws.malformed || _ws.lua.error"], capture_output=True, text=True, timeout=60)
    assert done.stdout == "", done.stdout


def case_missing_requirements_of_a_kernel_capture_are_reported(site):
    symbols = pathlib.Path("/proc/kallsyms").read_text(errors="replace")
    if "\t[lnet]" in symbols:
        raise Skip("the kernel of this machine has LNet")
    _, error = lnetdump(site, "--kernel", "--seconds", "1", status=1)
    assert "has no LNet" in error and "modprobe lnet" in error, error
    _, error = lnetdump(site, "--kernel", "--assert", "count=0", "true", status=125)
    assert "has no LNet" in error, error
    _, error = lnetdump(site, "--kernel", "-r", EXCERPT, status=2)
    assert "--kernel" in error, error
    _, error = lnetdump(site, "--lnet-btf", "lnet.btf", status=2)
    assert "--kernel" in error, error
