# SPDX-License-Identifier: BSD-3-Clause
"""Runs inside a guest and executes the host's requests: one JSON object a line, over a virtio serial port. guests.py is the
other end."""
import base64
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

PORT = "/dev/vport1p1"


class Agent:
    def __init__(self, requests, answers):
        self.requests, self.answers, self.lock, self.started = requests, answers, threading.Lock(), {}

    def serve(self):
        self.answer({"id": 0})  # ready
        for line in iter(self.requests.readline, b""):
            request = json.loads(line)
            if request["what"] == "end":
                return
            threading.Thread(target=self.carry_out, args=(request,), daemon=True).start()

    def carry_out(self, request):
        try:
            answer = getattr(self, "do_" + request["what"])(request)
        except Exception as error:  # every error is reported to the host
            answer = {"error": f"{type(error).__name__}: {error}"}
        self.answer({"id": request["id"], **answer})

    def answer(self, answer):
        with self.lock:
            self.answers.write(json.dumps(answer).encode() + b"\n")
            self.answers.flush()

    def do_run(self, request):
        done = subprocess.run(request["words"], input=request["stdin"], capture_output=True, text=True, errors="replace",
                              timeout=request["limit_s"], cwd="/tmp")
        return {"code": done.returncode, "out": done.stdout, "err": done.stderr}

    def do_start(self, request):
        with open(request["log"], "ab") as log:
            process = subprocess.Popen(request["words"], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd="/tmp",
                                       start_new_session=True)
        self.started[process.pid] = process
        return {"pid": process.pid}

    def do_poll(self, request):
        return {"code": self.started[request["pid"]].poll()}

    def do_signal(self, request):
        self.started[request["pid"]].send_signal(request["signal"])
        return {}

    def do_wait(self, request):
        return {"code": self.started[request["pid"]].wait(request["limit_s"])}

    def do_await(self, request):
        """Waits until a node answers or has exited: its exit code in that case."""
        process, end = self.started[request["pid"]], time.monotonic() + request["limit_s"]
        while process.poll() is None and not self.do_control({**request, "verb": "status", "args": {}})["line"]:
            if time.monotonic() > end:
                raise TimeoutError(f"no answer within {request['limit_s']} s")
            time.sleep(0.2)
        return {"code": process.poll()}

    def do_control(self, request):
        """A request to a node's control socket without starting lnetctl, which is slow here. No line: nothing listens."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(request["limit_s"])
            try:
                client.connect(request["path"])
            except OSError:
                return {"line": ""}
            client.sendall(json.dumps({"v": 1, "id": 1, "verb": request["verb"], "args": request["args"]}).encode() + b"\n")
            with client.makefile("rb") as lines:
                return {"line": lines.readline().decode()}

    def do_write(self, request):
        path = pathlib.Path(request["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(request["bytes"]))
        return {}

    def do_read(self, request):
        return {"bytes": base64.b64encode(pathlib.Path(request["path"]).read_bytes()).decode()}


def main():
    port = os.open(PORT, os.O_RDWR)
    with os.fdopen(port, "rb") as requests, os.fdopen(os.dup(port), "wb") as answers:
        Agent(requests, answers).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
