# SPDX-License-Identifier: BSD-3-Clause
"""Emulated guests with RoCE in software (rdma_rxe) on one wire; they end with their user. A guest sees the host's files and
has memory of its own for everything that it writes. guest_agent.py runs commands in it."""
import atexit
import base64
import contextlib
import ctypes
import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from guest_kernel import HERE, guest_kernel
from site_under_test import Skip

QEMU = "qemu-system-x86_64"
START_TIMEOUT_S = 60
BOOT_TIMEOUT_S = 300
CALL_TIMEOUT_S = 120
MTU = 4200  # packets of queue pairs have 4096 bytes then
ADDRESSES = {"a": "10.99.0.1", "b": "10.99.0.2"}
PR_SET_PDEATHSIG = 1


class Done:
    def __init__(self, answer):
        self.returncode, self.stdout, self.stderr = answer["code"], answer["out"], answer["err"]


class Guest:
    def __init__(self, name, folder, kernel):
        self.name, self.folder = name, folder
        self.console = folder / f"{name}.console"
        self.ids, self.lock, self.answers, self.arrived = itertools.count(1), threading.Lock(), {}, threading.Condition()
        self.has_ended = False
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(folder / f"{name}.agent"))
            listener.listen(1)
            listener.settimeout(START_TIMEOUT_S)
            self.process = subprocess.Popen(self.command(kernel), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                            preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
            try:
                self.socket, _ = listener.accept()
            except TimeoutError:
                self.process.kill()
                raise Skip(f"{QEMU} does not start: {self.process.stderr.read().decode()[-300:]}") from None
        threading.Thread(target=self.read_answers, daemon=True).start()

    def command(self, kernel):
        def wire(name):
            return self.folder / f"{name}.wire"

        image, initial = kernel
        other = next(side for side in ADDRESSES if side != self.name)
        # Emulated timers are late on a busy host: the kernel must not report broken hardware.
        words = f"console=ttyS0 quiet panic=-1 mitigations=off no_timer_check plnet.agent={HERE / 'guest_agent.py'}"
        return [
            QEMU, "-M", "q35", "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max,la57=off", "-m", "2048", "-smp", "2",
            "-nodefaults", "-no-reboot", "-display", "none", "-serial", f"file:{self.console}",
            "-kernel", str(image), "-initrd", str(initial), "-append", words,
            "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=host",
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=agent,path={self.folder / self.name}.agent",
            "-device", "virtserialport,chardev=agent,nr=1", "-qmp", f"unix:{self.folder / self.name}.qmp,server=on,wait=off",
            "-netdev", f"dgram,id=wire,local.type=unix,local.path={wire(self.name)},remote.type=unix,remote.path={wire(other)}",
            "-device", f"virtio-net-pci,netdev=wire,mac=02:00:00:99:00:0{'ab'.index(self.name) + 1}"]

    def read_answers(self):
        with self.socket.makefile("rb") as lines:
            for line in lines:
                answer = json.loads(line)
                with self.arrived:
                    self.answers[answer["id"]] = answer
                    self.arrived.notify_all()
        with self.arrived:
            self.has_ended = True
            self.arrived.notify_all()

    def wait_for(self, number, timeout_s):
        with self.arrived:
            there = self.arrived.wait_for(lambda: number in self.answers or self.has_ended, timeout_s)
            assert there and not self.has_ended, f"guest {self.name} does not answer; its console:\n{self.console_text()}"
            answer = self.answers.pop(number)
        assert "error" not in answer, f"guest {self.name}: {answer['error']}"
        return answer

    def ask(self, what, timeout_s=CALL_TIMEOUT_S, **words):
        number = next(self.ids)
        with self.lock:
            self.socket.sendall(json.dumps({"id": number, "what": what, **words}).encode() + b"\n")
        return self.wait_for(number, timeout_s)

    def wait_up(self, timeout_s=BOOT_TIMEOUT_S):
        self.wait_for(0, timeout_s)

    def run(self, *words, stdin="", timeout_s=CALL_TIMEOUT_S):
        return Done(self.ask("run", timeout_s + 10, words=[str(word) for word in words], stdin=stdin, limit_s=timeout_s))

    def must(self, *words, **how):
        done = self.run(*words, **how)
        assert done.returncode == 0, f"guest {self.name}: {' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def write(self, path, text):
        self.ask("write", path=str(path), bytes=base64.b64encode(text.encode()).decode())
        return str(path)

    def read(self, path):
        return base64.b64decode(self.ask("read", path=str(path))["bytes"]).decode(errors="replace")

    def console_text(self):
        return self.console.read_text(errors="replace")

    def set_carrier(self, up):
        """Emulates a cable that is disconnected and connected. The interface stays administratively up."""
        with socket.socket(socket.AF_UNIX) as emulator:
            emulator.connect(str(self.folder / f"{self.name}.qmp"))
            with emulator.makefile("rb") as lines:
                lines.readline()  # its greeting
                for command in ({"execute": "qmp_capabilities"}, {"execute": "set_link", "arguments": {"name": "wire", "up": up}}):
                    emulator.sendall(json.dumps(command).encode() + b"\n")
                    answer = next(each for each in map(json.loads, lines) if "event" not in each)
                    assert "return" in answer, answer

    def set_up(self):
        """Sets up the wire and the RDMA device on it."""
        self.must("ip", "link", "set", "eth0", "mtu", MTU)
        self.must("ip", "address", "add", f"{ADDRESSES[self.name]}/24", "dev", "eth0")
        self.must("ip", "link", "set", "eth0", "up")
        self.must("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0")

    def end(self):
        with contextlib.suppress(OSError):
            self.socket.close()
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


@contextlib.contextmanager
def guests(names="ab"):
    """Running guests by name, with their RDMA devices."""
    if os.geteuid() != 0:
        raise Skip("needs root for guests that read the host's files")
    if shutil.which(QEMU) is None:
        raise Skip(f"{QEMU} is not installed")
    kernel = guest_kernel()
    with tempfile.TemporaryDirectory(prefix="plnet-guests-") as folder, contextlib.ExitStack() as stack:
        made = {}
        for name in names:
            made[name] = Guest(name, pathlib.Path(folder), kernel)
            stack.callback(made[name].end)
        for guest in made.values():
            guest.wait_up()
        for guest in made.values():
            guest.set_up()
        yield made


class Boot:
    """Boots at the first use, and ends with this program."""

    def __init__(self):
        self.made, self.reason, self.stack = None, None, contextlib.ExitStack()

    def pair(self):
        if self.reason:
            raise Skip(self.reason)
        if self.made is None:
            try:
                self.made = self.stack.enter_context(guests())
            except Skip as reason:
                self.reason = str(reason)
                raise
            atexit.register(self.stack.close)
        return self.made


BOOT = Boot()
