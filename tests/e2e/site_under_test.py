# SPDX-License-Identifier: BSD-3-Clause
"""Real processes in a scratch directory: starts nodes, sends them commands, ends its processes."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

START_TIMEOUT_S = 30
STOP_TIMEOUT_S = 20
CALL_TIMEOUT_S = 90  # a NIC needs some 30 to release an absent peer
NOBODY = 65534
# Polling interval of a condition: a poll often costs two processes, and a long wait needs few
# polls.
LOOK_S, LOOK_MAX_S = 0.02, 0.2


class Skip(Exception):
    """The case cannot run here; the text is the reason."""


def eventually(what, condition, timeout_s=20):
    """Waits for a condition that must become true; it fails only if the condition never does."""
    end = time.monotonic() + timeout_s
    pause = LOOK_S
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(pause)
        pause = min(1.3 * pause, LOOK_MAX_S)
    raise AssertionError(f"not within {timeout_s} s: {what}")


class Node:
    """One lnet-router process."""

    def __init__(self, site, name, arguments, user=None, prefix=(), program=None, verb=None):
        self.site, self.name = site, name
        self.socket = site.path(f"{name}.sock")
        self.log = site.path(f"{name}.log")
        command = [*prefix, program or site.program("lnet-router"), *([verb] if verb else []), "--socket", str(self.socket), "--lock-dir",
                   str(site.lock_dir), *arguments]
        self._log_file = open(self.log, "wb")
        # In a session of its own, like a daemon.
        self.process = subprocess.Popen(command, stdout=self._log_file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                        start_new_session=True, cwd=site.directory, user=user, group=user, extra_groups=[] if user else None)

    def wait_ready(self):
        eventually(f"{self.name} answers", lambda: self.process.poll() is not None or self._answers(), START_TIMEOUT_S)
        assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}:\n{self.output()}"
        return self

    def _answers(self):
        return self.socket.exists() and self.lnetctl("status").returncode == 0

    def lnetctl(self, *words, stdin=None, user=None):
        return self.site.lnetctl("--socket", str(self.socket), *words, stdin=stdin, user=user)

    def json(self, *words):
        done = self.lnetctl("--json", *words)
        assert done.returncode == 0, f"lnetctl {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return json.loads(done.stdout)

    def ask(self, verb, **args):
        """Like json(), but without a process: for repeated queries."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(CALL_TIMEOUT_S)
            client.connect(str(self.socket))
            client.sendall(json.dumps({"v": 1, "id": 1, "verb": verb, "args": args}).encode() + b"\n")
            with client.makefile("rb") as answers:
                answer = json.loads(answers.readline())
        assert "result" in answer, f"{self.name}: {verb}: {answer}"
        return answer["result"]

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(STOP_TIMEOUT_S)
        self._log_file.close()
        return code

    def output(self):
        return self.log.read_text(errors="replace")


class Site:
    def __init__(self, programs):
        self.programs = programs
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="plnet-e2e-"))
        self.directory.chmod(0o755)
        self.lock_dir = self.path("locks")
        self.lock_dir.mkdir()
        self.lock_dir.chmod(0o1777)
        self.nodes = []

    def path(self, name):
        return self.directory / name

    def write(self, name, text):
        self.path(name).write_text(text)
        return str(self.path(name))

    def program(self, name):
        path = self.programs / name
        if not path.exists():
            raise Skip(f"{name} was not built here")
        return str(path)

    def node(self, *arguments, name="node", ready=True, **how):
        node = Node(self, name, arguments, **how)
        self.nodes.append(node)
        return node.wait_ready() if ready else node

    def run(self, *command, stdin=None, user=None):
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=CALL_TIMEOUT_S, cwd=self.directory,
                              user=user, group=user, extra_groups=[] if user else None)

    def lnetctl(self, *words, stdin=None, user=None):
        return self.run(self.program("lnetctl"), *words, stdin="" if stdin is None else stdin, user=user)

    def router(self, *arguments):
        """Runs lnet-router until it exits, for calls that must fail or only check."""
        return self.run(self.program("lnet-router"), "--lock-dir", str(self.lock_dir), *arguments)

    def logs(self):
        return "".join(f"--- log of {n.name}\n{n.output()}" for n in self.nodes)

    def close(self):
        for node in self.nodes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                node.stop(signal.SIGKILL)
        shutil.rmtree(self.directory, ignore_errors=True)


def needs_root():
    if os.geteuid() != 0:
        raise Skip("needs root to change users")
