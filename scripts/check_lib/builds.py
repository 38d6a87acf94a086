# SPDX-License-Identifier: BSD-3-Clause
"""Building trees with meson and turning what their tests, fuzzers and linters say into test cases."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TAIL_LINES = 60
# A test's time limit ends what hangs. It is set for a plain build; sanitizers and busy machines take several times as long.
TIME_LIMIT_FACTOR = 5


def tail(text):
    return "\n".join(text.splitlines()[-TAIL_LINES:])


def run_case(tally, name, command, cwd=ROOT, timeout_s=900, says=None):
    """One command that is one test case. What is printed of a success is its last line, or `says`."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout_s)
        output, ok = done.stdout + done.stderr, done.returncode == 0
    except subprocess.TimeoutExpired:
        output, ok = f"no end after {timeout_s} s", False
    last = output.strip().splitlines()[-1] if output.strip() else ""
    if ok and says:
        last = says
    print(f"{'ok    ' if ok else 'FAILED'} {name}: {last}", flush=True)
    tally.add(name, "passed" if ok else "failed", tail(output))
    return ok


def tests_of_suite(tree, suite):
    """The targets that a suite's tests run, as ninja names them."""
    listed = subprocess.run(["meson", "introspect", "--tests", str(tree)], check=True, capture_output=True, text=True)
    return [os.path.relpath(test["cmd"][0], tree) for test in json.loads(listed.stdout)
            if any(s.endswith(f":{suite}") for s in test["suite"])]


def objects_below(tree, folder):
    """What the sources of a folder are compiled to."""
    listed = subprocess.run(["ninja", "-C", str(tree), "-t", "targets", "all"], check=True, capture_output=True, text=True)
    names = [line.split(":")[0] for line in listed.stdout.splitlines()]
    return [name for name in names if name.startswith(f"{folder}/") and name.endswith(".o")]


def environment_of(compiler):
    return dict(os.environ, CXX=f"ccache {compiler}", CXX_LD="lld" if "clang" in compiler else "bfd")


def setup_of(tree, options):
    # Linking each test with all of the optimiser would take longer than the tests.
    again = ["--reconfigure"] if (tree / "build.ninja").exists() else []
    return ["meson", "setup", str(tree), "-Db_lto=false", *options, *again]


@contextlib.contextmanager
def built_ahead(name, compiler, options):
    """Compiles for build/check-NAME as far as it comes, with what others leave of the CPUs. build() does the rest and tells
    of what does not compile."""
    tree = ROOT / "build" / f"check-{name}"
    common = {"cwd": ROOT, "env": environment_of(compiler), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(setup_of(tree, options), check=False, **common)
    # A session of its own, so that all of it can be ended.
    ahead = subprocess.Popen(["ninja", "-C", str(tree), "-k", "0"], start_new_session=True, **common,
                             preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(ahead.pid, signal.SIGTERM)
        ahead.wait()


def build(tally, name, compiler, options, targets=None):
    """Configures build/check-NAME if needed and builds it, or what targets(tree) names; a warning is an error. One test case."""
    tree = ROOT / "build" / f"check-{name}"
    setup = setup_of(tree, options)
    for command in (setup, ["ninja", "-C", str(tree)]):
        if command is not setup and targets:
            command = command + targets(tree)
        done = subprocess.run(command, cwd=ROOT, env=environment_of(compiler), capture_output=True, text=True)
        if done.returncode != 0:
            print(f"FAILED build.{name}: {' '.join(command)}", flush=True)
            tally.add(f"build.{name}", "failed", tail(done.stdout + done.stderr))
            return False
        for line in done.stdout.splitlines():
            if "Skipped (reason)" in line or line.startswith("    lib/") or line.startswith("    apps/") \
                    or line.startswith("    drivers/"):
                print(line)
    print(f"ok     build.{name}", flush=True)
    tally.add(f"build.{name}", "passed")
    return True


def run_tests(tally, name, arguments):
    """Runs meson's tests of a tree and counts what GoogleTest reports case by case."""
    tree = ROOT / "build" / f"check-{name}"
    for stale in [tree / "meson-logs" / "testlog.junit.xml", tree / "meson-logs" / "testlog.json", *tree.glob("*.xml")]:
        stale.unlink(missing_ok=True)  # a program that crashes leaves its report of the last time
    environment = dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1", TSAN_OPTIONS="halt_on_error=1")
    command = ["meson", "test", "-C", str(tree), "--no-rebuild", "--print-errorlogs",
               "--timeout-multiplier", str(TIME_LIMIT_FACTOR), *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for outcome, case, detail in outcomes_of_tests(tree / "meson-logs"):
        counts[outcome] += 1
        tally.add(case, outcome, detail)
        if outcome == "skipped":  # it may pass in another build, so the tally does not tell
            print(f"skip   {name}: {case}: {' '.join(detail.split())}", flush=True)
        if outcome == "failed":  # all of it stands at the end, if the run gets there
            print(f"FAILED {name}: {case}: {' '.join(detail.split())[:600]}", flush=True)
    if done.returncode != 0 and counts["failed"] == 0:
        counts["failed"] += 1
        tally.add(f"run.{name}", "failed", tail(done.stdout + done.stderr))
        print(f"FAILED run.{name}: no report of a failed case", flush=True)
    print(f"{'ok    ' if counts['failed'] == 0 else 'FAILED'} tests of {name}: {counts['passed']} passed, "
          f"{counts['failed']} failed, {counts['skipped']} skipped", flush=True)


def outcomes_of_tests(logs):
    """(outcome, case, detail) of each case, and of each program that failed by itself: killed, out of time, or leaking."""
    reported = logs / "testlog.junit.xml"
    blamed = set()  # programs with a case that failed
    for suite in ElementTree.parse(reported).getroot().iter("testsuite") if reported.exists() else ():
        if suite.get("name") == "plnet":  # where meson lists programs without a report
            continue
        program, _, _ = suite.get("name").removeprefix("plnet.").partition(".")
        for outcome, case, detail in junit_cases(suite):
            if outcome == "failed":
                blamed.add(program)
            yield outcome, case, detail
    programs = logs / "testlog.json"
    for line in programs.read_text().splitlines() if programs.exists() else ():
        program = json.loads(line)
        if program["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and program["name"] not in blamed:
            output = (program.get("stdout") or "") + (program.get("stderr") or "")
            yield "failed", f"run.{program['name'].rpartition(' / ')[2]}", f"{program['result']}\n{tail(output)}"


def junit_cases(suite):
    for case in suite.iter("testcase"):
        name = f"{case.get('classname', suite.get('name'))}.{case.get('name')}"
        problem = case.find("failure") if case.find("failure") is not None else case.find("error")
        skip = case.find("skipped")
        if problem is not None:
            output = suite.findtext("system-out") or ""
            yield "failed", name, (problem.get("message") or "") + (problem.text or "") + "\n" + tail(output)
        elif skip is not None or case.get("result") == "skipped":
            yield "skipped", name, (skip.get("message") or skip.text or "") if skip is not None else ""
        elif case.get("status") != "notrun":
            yield "passed", name, ""


def is_built(name):
    return (ROOT / "build" / f"check-{name}" / "build.ninja").exists()


# The slowest target does some 2000 a second.
FUZZ_RUNS = 20000


def fuzz(tally, name, seconds_each):
    """Runs each fuzz target of a tree from its corpus. One test case each.

    With no time given, a fixed seed and a fixed number of runs: what passed once passes again, on a slow machine too.
    With a time, a search: another seed each time, and what it learns stays in the tree for the next.
    """
    tree = ROOT / "build" / f"check-{name}"
    targets = sorted(p for p in (tree / "tests" / "fuzz").glob("fuzz_*") if p.is_file() and os.access(p, os.X_OK))
    if not targets:
        tally.add("fuzz.targets", "failed", "no fuzz target was built")
    for target in targets:
        corpus = ROOT / "tests" / "fuzz" / "corpus" / target.name.removeprefix("fuzz_")
        found = tree / f"{target.name}.found"
        if not seconds_each and found.exists():
            shutil.rmtree(found)
        found.mkdir(exist_ok=True)
        bound = [f"-max_total_time={seconds_each}"] if seconds_each else ["-seed=1", f"-runs={FUZZ_RUNS}"]
        run_case(tally, f"fuzz.{target.name.removeprefix('fuzz_')}",
                 [str(target), *bound, "-timeout=10", "-rss_limit_mb=2048", f"-artifact_prefix={tree}/",
                  "-print_pcs=0", "-verbosity=0", str(found), str(corpus)],
                 timeout_s=900 + seconds_each, says=f"{seconds_each} s" if seconds_each else f"{FUZZ_RUNS} runs")


def members_of(unit):
    """The sources that one of meson's unity files puts together, below the root."""
    lines = unit.read_text().splitlines()
    return [os.path.relpath(pathlib.Path(line.removeprefix("#include<").removesuffix(">")).resolve(), ROOT)
            for line in lines if line.startswith("#include<")]


def tidy(tally, name, single_name, rooms):
    """clang-tidy over the product's sources as a unity tree compiles them. One test case a file.

    Several sources at a time: nearly all of the time goes into the headers that they share. What does not go together, or
    is not clean, is looked at file by file, as the other tree compiles it. Tests and benchmarks are left to the
    compilers.
    """
    tree = ROOT / "build" / f"check-{name}"
    database = json.loads((tree / "compile_commands.json").read_text())
    units = sorted({tree / entry["file"] for entry in database if entry["output"].startswith(rooms)})
    single = ROOT / "build" / f"check-{single_name}"
    # The sources are headers of their unit, and it includes them as no source should.
    together = ["--header-filter=/(lib|drivers|apps)/.*[.](hpp|cpp)$", "--checks=-bugprone-suspicious-include"]

    def run(commands, arguments):
        done = subprocess.run(["clang-tidy-19", "--quiet", "-p", str(commands), *arguments], cwd=ROOT,
                              capture_output=True, text=True)
        return done.returncode == 0, tail(done.stdout + done.stderr)

    def one(unit):
        members = members_of(unit)
        if members and run(tree, [*together, str(unit)])[0]:
            return {path: (True, "") for path in members}
        return {path: run(single, [path]) for path in members or [os.path.relpath(unit, ROOT)]}

    found = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for outcome in pool.map(one, units):
            found.update(outcome)
    for path, (clean, text) in sorted(found.items()):
        tally.add(f"tidy.{path}", "passed" if clean else "failed", text)
    bad = sum(not clean for clean, _ in found.values())
    print(f"{'ok    ' if bad == 0 else 'FAILED'} clang-tidy: {len(found) - bad} of {len(found)} files clean", flush=True)


def run_e2e(tally, name):
    """The end-to-end tests print one line `PASS|FAIL|SKIP name[: reason]` a case."""
    done = subprocess.run(["python3", "tests/e2e/run.py", "--build", str(ROOT / "build" / f"check-{name}")], cwd=ROOT,
                          capture_output=True, text=True)
    outcomes = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
    seen = 0
    for line in done.stdout.splitlines():
        word, _, rest = line.partition(" ")
        if word in outcomes:
            name, _, detail = rest.partition(": ")
            seen += 1
            tally.add(f"e2e.{name}", outcomes[word], detail + ("\n" + tail(done.stderr) if word == "FAIL" else ""))
            print(line, flush=True)
    if seen == 0 or (done.returncode != 0 and "FAIL " not in done.stdout):
        tally.add("e2e.run", "failed", tail(done.stdout + done.stderr))
        print(f"FAILED e2e: {tail(done.stderr)}", flush=True)
