# SPDX-License-Identifier: BSD-3-Clause
"""Debian's kernel for guests, and the initial file system that mounts the host's root and starts guest_agent.py in it."""
import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile

from site_under_test import Skip

HERE = pathlib.Path(__file__).resolve().parent
CACHE = HERE.parents[1] / "build" / "guest"
PACKAGE = "linux-image-amd64"
BUSYBOX = pathlib.Path("/bin/busybox")
# Modules that no other module depends on; the kernel requests crc32_generic only at run time.
ROOT_MODULES = ("virtio_pci", "virtio_console", "9p", "9pnet_virtio", "overlay", "crc32_generic")
MODULES = (*ROOT_MODULES, "virtio_net", "veth", "rdma_rxe", "rdma_ucm", "ib_uverbs")
DOWNLOAD_TIMEOUT_S = 120


def apt(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S)
    if done.returncode != 0:
        raise Skip(f"no kernel for guests: {' '.join(words)}: {done.stderr.strip()[-300:]}")
    return done.stdout


def in_host_network():
    """Runs in the host's network namespace: the namespace of a case cannot reach Debian's archive."""
    there = os.environ.get("PLNET_HOST_NETWORK")
    return ("nsenter", f"--net=/proc/{os.getpid()}/fd/{there}") if there else ()


def download(folder):
    """Unpacks the newest kernel known to apt, without installing it."""
    for line in apt("apt-cache", "depends", PACKAGE).splitlines():
        if "Depends: linux-image-" in line:
            package = line.split()[-1]
            break
    else:
        raise Skip(f"no kernel for guests: apt knows no {PACKAGE}")
    with tempfile.TemporaryDirectory(prefix="kernel-", dir=CACHE) as name:
        scratch = pathlib.Path(name)
        done = subprocess.run([*in_host_network(), "apt-get", "download", package], cwd=scratch, capture_output=True, text=True,
                              timeout=DOWNLOAD_TIMEOUT_S)
        archives = list(scratch.glob("*.deb"))
        if done.returncode != 0 or not archives:
            raise Skip(f"no kernel for guests: apt-get download {package}: {done.stderr.strip()[-300:]}")
        apt("dpkg-deb", "-x", str(archives[0]), str(scratch / "tree"))
        (scratch / "tree").rename(folder)


def needs_of(module):
    """The modules that this one depends on, from its section .modinfo."""
    data = module.read_bytes()
    at = data.find(b"\0depends=")
    names = data[at + len(b"\0depends="):data.index(b"\0", at + 1)].decode()
    return [name for name in names.split(",") if name]


def modules_in_order(folder, names):
    """The files of these modules and of their dependencies, dependencies first."""
    files = {path.stem.replace("-", "_"): path for path in folder.glob("lib/modules/*/kernel/**/*.ko")}
    order = []

    def add(name):
        if name.replace("-", "_") not in files:
            raise Skip(f"no kernel for guests: it has no module {name}")
        path = files[name.replace("-", "_")]
        if path in order:
            return
        for need in needs_of(path):
            add(need)
        order.append(path)

    for name in names:
        add(name)
    return order


def entry(name, data=b"", mode=0o100755):
    """A file or folder of a cpio archive of the format `newc`."""
    path = name.encode() + b"\0"
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def initial_files(modules):
    archive = b"".join(entry(folder, mode=0o040755) for folder in ("bin", "modules", "dev"))
    archive += entry("bin/busybox", BUSYBOX.read_bytes())
    archive += entry("init", (HERE / "guest_init.sh").read_bytes())
    archive += b"".join(entry(f"modules/{path.name}", path.read_bytes()) for path in modules)
    archive += entry("modules/order", "".join(f"{path.name}\n" for path in modules).encode())
    return archive + entry("TRAILER!!!")


def guest_kernel(modules=MODULES, archive_name="initial.cpio"):
    """(kernel, initial files with these modules); downloads the kernel if the build folder has none."""
    if not BUSYBOX.exists():
        raise Skip("busybox-static is not installed")
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = CACHE / "kernel"
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # files of cases run in parallel
        if not folder.exists():
            download(folder)
        kernel = next(folder.glob("boot/vmlinuz-*"))
        archive = CACHE / archive_name
        fresh = archive.with_suffix(".new")
        fresh.write_bytes(initial_files(modules_in_order(folder, modules)))
        os.replace(fresh, archive)
    return kernel, archive
