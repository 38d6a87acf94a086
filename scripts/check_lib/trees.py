# SPDX-License-Identifier: BSD-3-Clause
"""Build trees of ./check: configuration, build, and test runs."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess

from check_lib import results

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# A time limit ends a hanging test. It is set for a plain build; sanitizers and busy machines take
# several times as long.
TIME_LIMIT_FACTOR = 5
# Sources of a target are compiled together, since most of the time goes into their common headers.
UNITY = ("-Dunity=on", "-Dunity_size=60")
PROGRESS = re.compile(r"^\s*\d+/\d+ ")


def schedule(process, policy):
    with contextlib.suppress(ProcessLookupError):
        os.sched_setscheduler(process, policy, os.sched_param(0))


def processes_of_session(session):
    """The leader is first, so that its later children inherit its scheduling."""
    found = [session]
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(ProcessLookupError):
            if entry.name.isdigit() and int(entry.name) != session and os.getsid(int(entry.name)) == session:
                found.append(int(entry.name))
    return found


class Tree:
    def __init__(self, name, compiler, *options):
        self.name, self.compiler, self.options = name, compiler, options
        self.path = ROOT / "build" / f"check-{name}"
        self._is_configured = False
        self._ahead = None

    def environment(self):
        # CCACHE_DEPEND: sources that are not in the cache are not preprocessed first.
        return dict(os.environ, CXX=f"ccache {self.compiler}", CXX_LD="lld" if "clang" in self.compiler else "bfd",
                    CCACHE_DEPEND="1")

    def _run(self, command, **how):
        return subprocess.run(command, cwd=ROOT, env=self.environment(), capture_output=True, text=True, **how)

    def configure(self):
        """Configures once in each run of ./check. Returns the error text, or None."""
        if self._is_configured:
            return None
        again = ["--reconfigure"] if (self.path / "build.ninja").exists() else []
        done = self._run(["meson", "setup", str(self.path), "-Db_lto=false", *self.options, *again])
        if done.returncode != 0:
            return done.stdout + done.stderr
        self._is_configured = True
        for line in done.stdout.splitlines():
            if "Skipped (reason)" in line or re.match(r"    (lib|node|apps|drivers|tests|fuzz)\b", line):
                print(line)
        return None

    def build(self, tally, what="all", targets=()):
        """Builds everything, or `targets`; a warning is an error. Counts as one test case."""
        words = self.configure()
        if words is None:
            self._take_over()
            done = self._run(["ninja", "-C", str(self.path), *targets])
            words = done.stdout + done.stderr if done.returncode != 0 else None
        return tally.say(f"build.{self.name}.{what}", words)

    def build_ahead(self, targets=()):
        """Compiles in the background with low priority until build() takes over and reports errors."""
        if self._ahead is None and self.configure() is None:
            # A session of its own, so that all its processes can be found.
            self._ahead = subprocess.Popen(["ninja", "-C", str(self.path), "-k", "0", *targets], cwd=ROOT,
                                           env=self.environment(), start_new_session=True, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL, preexec_fn=lambda: schedule(0, os.SCHED_IDLE))

    def _take_over(self):
        if self._ahead is not None:
            for process in processes_of_session(self._ahead.pid):
                schedule(process, os.SCHED_OTHER)
            self._ahead.wait()
            self._ahead = None

    def end_ahead(self):
        if self._ahead is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._ahead.pid, signal.SIGTERM)
            self._ahead.wait()
            self._ahead = None

    def targets(self, *folders, objects=False):
        """Programs in these folders, or the objects of their sources, by their ninja names."""
        self.configure()
        if objects:
            listed = self._run(["ninja", "-C", str(self.path), "-t", "targets", "all"], check=True)
            names = [line.split(":")[0] for line in listed.stdout.splitlines()]
            return [name for name in names if name.startswith(folders) and name.endswith(".o")]
        listed = self._run(["meson", "introspect", "--targets", str(self.path)], check=True)
        return [os.path.relpath(target["filename"][0], self.path) for target in json.loads(listed.stdout)
                if target["type"] != "static library" and os.path.relpath(target["defined_in"], ROOT).startswith(folders)]

    def generated_headers(self):
        """By their ninja names; clang-tidy reads them."""
        self.configure()
        listed = self._run(["ninja", "-C", str(self.path), "-t", "targets", "all"], check=True)
        return [name for name in (line.split(":")[0] for line in listed.stdout.splitlines()) if name.endswith(".h")]

    def programs_of_suite(self, suite):
        """The programs that the tests of a suite run."""
        self.configure()
        listed = self._run(["meson", "introspect", "--tests", str(self.path)], check=True)
        return sorted({os.path.relpath(test["cmd"][0], self.path) for test in json.loads(listed.stdout)
                       if any(s.endswith(f":{suite}") for s in test["suite"])})

    def run_suites(self, tally, *suites, processes=None):
        """Runs meson's tests and counts every case that they report."""
        words = self.configure()
        if words is not None:
            return tally.say(f"run.{self.name}", words)
        logs = self.path / "meson-logs"
        for stale in [logs / "testlog.junit.xml", logs / "testlog.json", *self.path.glob("*.xml")]:
            stale.unlink(missing_ok=True)  # a crashing program leaves its previous report
        command = ["meson", "test", "-C", str(self.path), "--no-rebuild", "--print-errorlogs",
                   "--timeout-multiplier", str(TIME_LIMIT_FACTOR)]
        command += [f"--suite={suite}" for suite in suites] + ([f"--num-processes={processes}"] if processes else [])
        # Plugins of hwloc, which packages such as Open MPI's install, never free the names of PCI devices.
        environment = dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1", TSAN_OPTIONS="halt_on_error=1", HWLOC_PLUGINS_PATH="/nonexistent")
        running = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        printed = []
        try:
            for line in running.stdout:
                printed.append(line)
                if PROGRESS.match(line):
                    print(line.rstrip(), flush=True)
        except BaseException:  # ./check was interrupted
            running.terminate()
            raise
        before = tally.counts()
        for outcome, case, detail in results.cases_of(logs):
            tally.add(case, outcome, detail)
            if outcome != "passed":  # details of failures follow at the end, if the run gets there
                print(f"{outcome} {self.name}: {case}: {' '.join(detail.split())[:600]}", flush=True)
        if running.wait() != 0 and tally.counts()["failed"] == before["failed"]:
            return tally.say(f"run.{self.name}", "meson test failed without a report of a failed case\n" + "".join(printed))
        ran = {outcome: count - before[outcome] for outcome, count in tally.counts().items()}
        print(f"{', '.join(suites)} of {self.name}: " + ", ".join(f"{count} {outcome}" for outcome, count in ran.items()), flush=True)
        return ran["failed"] == 0
