# SPDX-License-Identifier: BSD-3-Clause
"""Chromium without a window, driven through a pipe by its own protocol (DevTools): opens a page, clicks, draws pictures."""
import base64
import contextlib
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import time

from site_under_test import STOP_TIMEOUT_S, Skip, eventually

ANSWER_S = 60
# The network here is closed: without these it looks for servers of its maker.
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--remote-debugging-pipe"]
DESKTOP, PHONE = (1920, 1080), (360, 740)


def high(descriptor):
    """Above those that the browser uses for itself."""
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(descriptor)
    return copy


class Browser:
    def __init__(self, site, prefix=()):
        program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        if not program:
            raise Skip("chromium-headless-shell is not installed")
        its_in, self.commands = map(high, os.pipe())
        self.answers, its_out = map(high, os.pipe())

        def place():  # the browser reads commands from 3 and answers to 4
            os.dup2(its_in, 3)
            os.dup2(its_out, 4)

        self.log = open(site.path("browser.log"), "wb")
        self.process = subprocess.Popen([*prefix, program, *FLAGS, f"--user-data-dir={site.path('browser')}", "about:blank"], preexec_fn=place,
                                        pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        os.close(its_in)
        os.close(its_out)
        self.buffer, self.number, self.session = b"", 0, None
        self.complaints = []  # exceptions of scripts, and what the page's policy forbade
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setScrollbarsHidden", hidden=True)  # they would cut the pictures off

    def close(self):
        self.process.kill()
        self.process.wait(STOP_TIMEOUT_S)
        self.log.close()
        os.close(self.commands)
        os.close(self.answers)

    def message(self, end):
        while b"\0" not in self.buffer:
            assert time.monotonic() < end, "the browser does not answer"
            if select.select([self.answers], [], [], 1)[0]:
                piece = os.read(self.answers, 1 << 16)
                assert piece, "the browser has ended"
                self.buffer += piece
        line, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(line)

    def note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        if method == "Log.entryAdded" and params["entry"]["level"] == "error" and params["entry"]["source"] != "network":
            self.complaints.append(params["entry"]["text"])

    def call(self, method, **params):
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        end = time.monotonic() + ANSWER_S
        while True:
            message = self.message(end)
            if message.get("id") == self.number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self.note(message)

    def open(self, url, size=DESKTOP):
        self.resize(size)
        answer = self.call("Page.navigate", url=url)
        assert "errorText" not in answer, answer
        self.shows("its document", f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def resize(self, size):
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=size == PHONE)

    def darken(self, is_dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def text(self, selector):
        return self.value(f"(document.querySelector({json.dumps(selector)}) || {{}}).innerText || ''")

    def shows(self, what, expression, timeout_s=60):
        eventually(f"the page shows {what}", lambda: self.value(expression), timeout_s)

    def click(self, selector):
        """With the pointer, at the middle of the element."""
        where = self.value(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
                           " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], button="left", clickCount=1)

    def picture(self, path):
        """The whole page."""
        drawn = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        pathlib.Path(path).write_bytes(base64.b64decode(drawn["data"]))


@contextlib.contextmanager
def browser(site, prefix=()):
    made = Browser(site, prefix)
    try:
        yield made
    finally:
        made.close()
