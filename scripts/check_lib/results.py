# SPDX-License-Identifier: BSD-3-Clause
"""Outcomes of test cases: read from meson's logs, and counted over all builds that a case ran in."""
import json
import xml.etree.ElementTree as ElementTree

TAIL_LINES = 60


def tail(text):
    return "\n".join((text or "").splitlines()[-TAIL_LINES:])


class Tally:
    def __init__(self):
        self._cases = {}   # name -> set of outcomes
        self._failures = []
        self._reasons = {}
        self._runs = {"passed": 0, "failed": 0, "skipped": 0}

    def add(self, name, outcome, detail=""):
        self._runs[outcome] += 1
        self._cases.setdefault(name, set()).add(outcome)
        if outcome == "failed":
            self._failures.append((name, detail))
        if outcome == "skipped":
            self._reasons[name] = detail.strip() or "no reason given"

    def say(self, name, failure):
        """Adds and prints one case: failed with this text, or passed if None. Returns True if it passed."""
        self.add(name, "passed" if failure is None else "failed", tail(failure))
        print(f"{'ok    ' if failure is None else 'FAILED'} {name}", flush=True)
        return failure is None

    def counts(self):
        """Counts runs: a case counts in each build that it ran in."""
        return dict(self._runs)

    def failed(self):
        return [n for n, outcomes in self._cases.items() if "failed" in outcomes]

    def passed(self):
        return [n for n, outcomes in self._cases.items() if "passed" in outcomes and "failed" not in outcomes]

    def skipped(self):
        return [n for n, outcomes in self._cases.items() if outcomes == {"skipped"}]

    def print_details(self):
        for name, detail in self._failures:
            print(f"FAILED {name}\n{detail.rstrip()}\n")
        for name in self.skipped():
            print(f"skipped {name}: {self._reasons[name]}")

    def line(self):
        return f"{len(self.passed())} passed, {len(self.failed())} failed, {len(self.skipped())} skipped"


OUTCOMES = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}


def cases_of(logs):
    """(outcome, case, detail) of each reported case, and of each program without a report or with a failure that no case
    explains: killed, timed out, or leaking."""
    suites = {}
    if (logs / "testlog.junit.xml").exists():
        for suite in ElementTree.parse(logs / "testlog.junit.xml").getroot().iter("testsuite"):
            # "plnet.plnet:unit / lib_1.Ring", or for a program with TAP output "plnet.plnet:e2e /
            # kfi"
            program, _, _ = suite.get("name").rpartition(" / ")[2].partition(".")
            suites.setdefault(program, []).append(suite)
    programs = (logs / "testlog.json").read_text().splitlines() if (logs / "testlog.json").exists() else []
    for line in programs:
        program = json.loads(line)
        rooms, _, name = program["name"].rpartition(" / ")
        kind = rooms.rpartition(":")[2].split("+")[0]
        cases = [case for suite in suites.get(name, []) for case in junit_cases(suite, name, kind)]
        yield from cases
        outcome = OUTCOMES.get(program["result"], "failed")
        if not cases or (outcome == "failed" and not any(c[0] == "failed" for c in cases)):
            output = tail((program.get("stdout") or "") + (program.get("stderr") or ""))
            yield outcome, f"{kind}.{name}", output if outcome != "failed" else f"{program['result']}\n{output}"


def words_of(output, program, case):
    """The part from "--- program.case" on, or the whole text."""
    before, marker, after = output.partition(f"--- {program}.{case}\n")
    return after.partition(f"\n--- {program}.")[0] if marker else before


def junit_cases(suite, program, kind):
    output = (suite.findtext("system-out") or "") + (suite.findtext("system-err") or "")
    for case in suite.iter("testcase"):
        if case.get("status") == "notrun":
            continue
        reported = case.get("classname")
        if reported == suite.get("name"):  # meson's own name for TAP results: "3 - name"
            short = case.get("name").partition(" ")[2].removeprefix("- ")
            name, words = f"{kind}.{program}.{short}", words_of(output, program, short)
        else:
            name, words = f"{reported or suite.get('name')}.{case.get('name')}", output
        problem = case.find("failure") if case.find("failure") is not None else case.find("error")
        skip = case.find("skipped")
        if problem is not None:
            yield "failed", name, f"{problem.get('message') or ''}{problem.text or ''}\n{tail(words)}"
        elif skip is not None or case.get("result") == "skipped":
            reason = (skip.get("message") or skip.text) if skip is not None else None
            yield "skipped", name, reason or case.findtext("system-out") or ""
        else:
            yield "passed", name, ""
