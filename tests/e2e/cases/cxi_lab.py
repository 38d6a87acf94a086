# SPDX-License-Identifier: BSD-3-Clause
"""plnet-cxi-lab: ranks with Slingshot NICs in software, on one fabric; LNet nodes on libcxi.so.1 in them."""
import contextlib
import errno
import json
import os
import re
import signal
import subprocess

from cases_common import CPT, PLAN
from cxi_labs import FIRST_ADDRESS, lab, lines, words
from kfi_nodes import IMPATIENT, KFI_NET, nid
from site_under_test import CALL_TIMEOUT_S, eventually, needs_root
from traffic_nodes import BAD

OPERATIONS = 300
TWO_NETS = """net:
    - {net type: kfi, local NI(s): [{interfaces: {0: cxi0}}]}
    - {net type: kfi1, local NI(s): [{interfaces: {0: cxi1}}]}
"""
SETTINGS = f"{PLAN.format(cpts=CPT.format(cpu=min(os.sched_getaffinity(0)))).replace('arena_mib: 4', 'arena_mib: 16')}    kfi: {{interfaces: ["
# Each rank is a node; its process number is the first line that it prints.
RANK = ('echo process $$; mkdir -p {folder}/$CXI_LAB_RANK; exec {program} --socket {folder}/rank-$CXI_LAB_RANK.sock '
        '--instance rank-$CXI_LAB_RANK --lock-dir {folder}/$CXI_LAB_RANK --config {config} --options {options} --idle sleep '
        '--window 4 --bytes-max 65536 --stay {to}')


def case_each_rank_has_its_number_and_the_first_bad_status_counts(site):
    done = lab(site, "-n", "3", "sh", "-c", 'echo "rank $CXI_LAB_RANK of $CXI_LAB_NODES"; echo to errors >&2; exit $((CXI_LAB_RANK * 5 % 8))')
    assert done.returncode in (5, 2), f"{done.returncode}\n{done.stderr}"
    for rank in range(3):
        assert lines(done.stdout, rank) == [f"rank {rank} of 3"], done.stdout
        assert lines(done.stderr, rank) == ["to errors"], done.stderr
    assert lab(site, "true").returncode == 0
    done = lab(site, "/nowhere/program")
    assert done.returncode == 127 and "0: plnet-cxi-lab: /nowhere/program: No such file" in done.stderr, done.stderr
    done = lab(site, "-n", "1", "sh", "-c", "kill -9 $$")
    assert done.returncode == 128 + signal.SIGKILL, done
    assert done.stderr == "plnet-cxi-lab: rank 0 was killed by signal 9 (Killed)\n", done
    done = lab(site, "-n", "1", "sh", "-c", "kill -USR1 $$")
    assert (done.returncode, done.stderr) == (128 + signal.SIGUSR1, ""), done
    done = site.run(site.program("plnet-cxi-lab"), "--library", "/nowhere/libcxi.so.1", "true")
    assert done.returncode == 1 and "/nowhere/libcxi.so.1" in done.stderr, done.stderr


def case_a_lab_starts_beside_the_folder_of_a_killed_one(site):
    """Another lab may get the number of its process."""
    needs_root()
    script = 'echo $$; mkdir /tmp/plnet-cxi-lab-$$; exec "$@" -n 1 true'
    done = site.run("sh", "-c", script, "sh", *words(site))
    os.rmdir(f"/tmp/plnet-cxi-lab-{int(done.stdout)}")
    assert done.returncode == 0, done


def case_interfaces_are_as_libfabric_looks_for_them(site):
    """prov/cxi/src/cxip_if.c: the PCI address below /sys/class/net, an address that was set (3) and is local (02:…), link, speed."""
    look = ('for n in /sys/class/net/*; do echo ${n##*/} $(basename $(readlink $n/device)) $(cat $n/addr_assign_type $n/address '
            '$n/operstate $n/speed); done; ip -br link show hsn1; cat ${LD_LIBRARY_PATH%%:*}/libcxi.so.1.conf')
    done = lab(site, "-n", "2", "--nics-per-rank", "2", "sh", "-c", look)
    assert done.returncode == 0, done.stderr
    shown = lines(done.stdout, 1)
    assert shown[0] == "hsn0 0000:00:00.0 3 02:00:00:00:01:02 up 200000", done.stdout
    assert shown[1] == "hsn1 0000:00:01.0 3 02:00:00:00:01:03 up 200000", done.stdout
    assert re.match(r"hsn1\S* +\S+ +02:00:00:00:01:03 ", shown[2]), done.stdout
    assert shown[3:6] == ["devices = 2", "address.0 = 0x102", "address.1 = 0x103"], done.stdout
    assert lines(done.stdout, 0)[0] == "hsn0 0000:00:00.0 3 02:00:00:00:01:00 up 200000", done.stdout


def case_ranks_reach_each_other_by_ip(site):
    meet = ('import os, socket; rank = int(os.environ["CXI_LAB_RANK"]); names = os.environ["CXI_LAB_ADDRESSES"].split()\n'
            'if rank == 0:\n'
            '    with socket.create_server((os.environ["CXI_LAB_ADDRESS"], 7000)) as server: print(server.accept()[1][0])\n'
            'else:\n'
            '    while True:\n'
            '        try: socket.create_connection((names[0], 7000)).close(); break\n'
            '        except OSError: pass\n')
    done = lab(site, "python3", "-c", meet)
    assert done.returncode == 0 and lines(done.stdout, 0) == ["10.201.0.2"], f"{done.stdout}{done.stderr}"


class Nodes:
    """A lab that runs an LNet node in each rank."""

    def __init__(self, site, count, to="", nets=KFI_NET, nics=1):
        needs_root()
        self.site, self.log = site, site.path("lab.log")
        devices = ", ".join(f"{{name: cxi{nic}}}" for nic in range(nics))
        config = site.write("rank.yaml", f"{nets}{SETTINGS}{devices}]}}\n")
        rank = RANK.format(program=site.program("lnet-traffic"), folder=site.directory, config=config,
                           options=site.write("kfi.conf", IMPATIENT), to=to)
        self._file = open(self.log, "wb")
        self.process = subprocess.Popen(words(site, "-n", str(count), "--nics-per-rank", str(nics), "sh", "-c", rank), stdout=self._file, stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL, start_new_session=True, cwd=site.directory)

    def output(self):
        return self.log.read_text(errors="replace")

    def lnetctl(self, rank, *command):
        return self.site.lnetctl("--socket", str(self.site.path(f"rank-{rank}.sock")), *command)

    def pings(self, rank, nic, net="kfi"):
        """The NICs of all ranks count up."""
        return self.lnetctl(rank, "ping", "--timeout", "3", nid(FIRST_ADDRESS + nic, net)).returncode == 0

    def counted(self, rank, row):
        """Of lnet-traffic, over all shards."""
        done = self.lnetctl(rank, "--json", "counters", "show")
        rows = json.loads(done.stdout)["counters"] if done.returncode == 0 else []
        return sum(each[row] for each in rows if each["object"] == "traffic")

    def process_of(self, rank):
        return int(re.search(rf"^{rank}: process (\d+)$", self.output(), re.MULTILINE).group(1))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(CALL_TIMEOUT_S)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._file.close()


@contextlib.contextmanager
def nodes(site, count, **how):
    made = Nodes(site, count, **how)
    try:
        yield made
    except AssertionError as error:
        raise AssertionError(f"{error}\n--- the lab\n{made.output()}") from error
    finally:
        made.close()


def case_nodes_in_two_ranks_exchange_payloads(site):
    with nodes(site, 2, to=f"--count {OPERATIONS} --to {nid(FIRST_ADDRESS)} --to {nid(FIRST_ADDRESS + 1)}") as both:
        for rank in (0, 1):
            ended = lambda: both.counted(rank, "answered") + both.counted(rank, "failed") >= OPERATIONS
            eventually(f"all operations of rank {rank} have ended", ended, CALL_TIMEOUT_S)
        for rank in (0, 1):
            # Those before the other rank was there fail.
            assert both.counted(rank, "answered") > OPERATIONS // 2, [both.counted(rank, row) for row in ("answered", "failed")]
            assert [both.counted(rank, row) for row in BAD] == [0, 0, 0], both.output()
        assert both.stop() == 0, "both end cleanly"


def case_a_process_has_several_nics(site):
    with nodes(site, 2, nets=TWO_NETS, nics=2) as both:
        for rank, nic, net in ((0, 2, "kfi"), (0, 3, "kfi1"), (1, 0, "kfi"), (1, 1, "kfi1")):
            eventually(f"rank {rank} reaches NIC {nic} on {net}", lambda: both.pings(rank, nic, net), CALL_TIMEOUT_S)
        assert both.stop() == 0, "both end cleanly"


SHARES = """import ctypes, subprocess, sys
cxi, PIDS = ctypes.CDLL("libcxi.so.1"), (5, 5, 511)
device, lni, domain = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.POINTER(ctypes.c_uint * 2)()
name = sys.argv[1]
results = [cxi.cxil_open_device(0, ctypes.byref(device)), cxi.cxil_alloc_lni(device, ctypes.byref(lni), 1)]
results += [cxi.cxil_alloc_domain(lni, 1, pid, ctypes.byref(domain)) for pid in PIDS]
print(name, *results, domain.contents[1], flush=True)
if name == "first":
    subprocess.run([sys.executable, __file__, "second"])
"""


def case_processes_share_a_nic(site):
    """Each has the device; a PID belongs to one of them."""
    done = lab(site, "-n", "1", "python3", site.write("shares.py", SHARES), "first")
    taken = -errno.EEXIST
    assert lines(done.stdout, 0) == [f"first 0 0 0 {taken} 0 0", f"second 0 0 {taken} {taken} 0 1"], f"{done.stdout}{done.stderr}"


# Prints the files of the driver that libcxi's programs and libfabric's provider read.
DRIVER_FILES = """import os, re
device = "/sys/class/cxi/cxi1/device/"
read = lambda name: open(device + name).read().strip()
print(os.path.basename(os.path.realpath(device)), os.path.samefile(device, "/sys/class/net/hsn1/device"), os.path.samefile(device, "/sys/class/cxi_user/cxi1/device"))
print(*(read("properties/" + name) for name in ("nid", "nic_addr", "pid_bits", "rdzv_get_idx", "rgids_avail", "cassini_version")))
print(*(read(name) for name in ("fru/description", "fru/part_number", "port/0/link/state", "vendor", "device")))
print(re.search("PCI_SLOT_NAME=(.*)", read("uevent")).group(1), bool(re.fullmatch(r"0@\\d+\\.\\d{9}", read("telemetry/lpe_success_cntr"))))
print(open("/sys/module/cxi_ss1/parameters/ac_size_dbl").read().strip(), os.path.isdir("/sys/class/tty"), len(os.listdir("/sys/module")) > 1)
own = os.environ["LD_LIBRARY_PATH"].split(":")[0]
print([os.listdir(own[:-1] + str(rank)) for rank in range(2) if not own.endswith(str(rank))])
for name, text in (("nid", "1"), ("amo_remap_to_pcie_fadd", "10")):
    try:
        with open(device + "properties/" + name, "w") as file: file.write(text)
        print(name, read("properties/" + name))
    except OSError as error: print(name, error.strerror)
"""


def case_files_of_the_driver(site):
    done = lab(site, "-n", "2", "--nics-per-rank", "2", "python3", site.write("files.py", DRIVER_FILES))
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout, 1) == [
        "0000:00:01.0 True True", "0x103 0x103 9 255 255 2.0", "software Cassini none up 0x17db 0x0501", "0000:00:01.0 True", "5 True True", "[['process']]",
        "nid Read-only file system", "amo_remap_to_pcie_fadd 10"], done.stdout
    assert lines(done.stdout, 0)[1].startswith("0x101 "), done.stdout


# Services with libcxi's functions, as cxi_service makes them; each role is a process of its own.
SERVICES = """import ctypes, os, struct, subprocess, sys
cxi, device = ctypes.CDLL("libcxi.so.1"), ctypes.c_void_p()
LIMITED, WITH_VNIS, KINDS, VNI = 1 << 3, 1 << 1, 8, 50
assert cxi.cxil_open_device(0, ctypes.byref(device)) == 0
role, arguments = sys.argv[1], [int(word) for word in sys.argv[2:]]
def make(portals):
    limits = [portals, 0] + [16, 0] * (KINDS - 1)
    return cxi.cxil_alloc_svc(device, struct.pack("<BB4H6B16s16HI", LIMITED | WITH_VNIS, 1, VNI, 0, 0, 0, *[0] * 6, bytes(16), *limits, 0), None)
def group(service):
    made = ctypes.c_void_p()
    return cxi.cxil_alloc_lni(device, ctypes.byref(made), service), made
def portals(of, count):
    options, made = (ctypes.c_uint64 * 8)(), ctypes.c_void_p()
    return [cxi.cxil_alloc_pte(of, None, options, ctypes.byref(made)) for _ in range(count)]
def groups_left(): return open("/sys/class/cxi/cxi0/device/properties/rgids_avail").read().strip()
if role == "make": print("made", make(*arguments))
if role == "remove": print("removed", cxi.cxil_destroy_svc(device, *arguments))
if role in ("open", "hold", "share"):
    opened, of = group(arguments[0])
    print(role, opened, *(portals(of, arguments[1]) if opened == 0 else []), flush=True)
if role == "hold": sys.stdin.read()
if role == "share":
    holder = subprocess.Popen([sys.executable, __file__, "hold", str(arguments[0]), "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    print(holder.stdout.readline().strip(), "then", *portals(of, 1), "left", groups_left())
    print("removed", cxi.cxil_destroy_svc(device, arguments[0]))
    holder.kill(), holder.wait()
    print("after its end", *portals(of, 3), "left", group(arguments[0])[0], groups_left())
"""


def case_services_belong_to_the_nic(site):
    """One process makes a service, the others use it; its limits hold over all of them, and a killed one gives back what it had."""
    run = f"python3 {site.write('services.py', SERVICES)} "
    roles = ("make 3", "share 2 1", "open 2 4", "remove 2", "remove 2", "open 2 1")
    done = lab(site, "-n", "2", "sh", "-c", "[ $CXI_LAB_RANK = 1 ] || {" + "".join(f" {run}{role};" for role in roles) + f" }}; {run}open 1 1")
    full, busy, none = -errno.ENOSPC, -errno.EBUSY, -errno.EINVAL
    assert lines(done.stdout, 0) == [
        "made 2", "share 0 0", f"hold 0 0 0 then {full} left 253", f"removed {busy}", f"after its end 0 0 {full} left 0 253", f"open 0 0 0 0 {full}",
        "removed 0", f"removed {none}", f"open {none}", "open 0 0"], f"{done.stdout}{done.stderr}"
    assert lines(done.stdout, 1) == ["open 0 0"], f"{done.stdout}{done.stderr}"


def case_a_killed_rank_leaves_the_others_running(site):
    with nodes(site, 3) as three:
        for rank, other in ((0, 1), (1, 2), (2, 0)):
            eventually(f"rank {rank} reaches {other}", lambda: three.pings(rank, other), CALL_TIMEOUT_S)
        subprocess.run(["kill", "-9", str(three.process_of(2))], check=True)
        eventually("its end is seen", lambda: not three.pings(0, 2), CALL_TIMEOUT_S)
        assert three.process.poll() is None, "the lab goes on"
        for rank in (0, 1):
            eventually(f"rank {rank} reaches the other", lambda: three.pings(rank, 1 - rank), CALL_TIMEOUT_S)
        assert three.stop() == 128 + signal.SIGKILL, "the first bad status"
