# SPDX-License-Identifier: BSD-3-Clause
"""What became of each test case, over all builds that it ran in."""


class Tally:
    def __init__(self):
        self._cases = {}   # name -> set of outcomes
        self._failures = []
        self._reasons = {}
        self._runs = 0

    def add(self, name, outcome, detail=""):
        assert outcome in ("passed", "failed", "skipped"), outcome
        self._runs += 1
        self._cases.setdefault(name, set()).add(outcome)
        if outcome == "failed":
            self._failures.append((name, detail))
        if outcome == "skipped":
            self._reasons[name] = detail.strip() or "no reason given"

    def failed(self):
        return [n for n, outcomes in self._cases.items() if "failed" in outcomes]

    def passed(self):
        return [n for n, outcomes in self._cases.items() if "passed" in outcomes and "failed" not in outcomes]

    def skipped(self):
        return [n for n, outcomes in self._cases.items() if outcomes == {"skipped"}]

    def snapshot(self):
        return self._runs

    def since(self, snapshot):
        return f"{self._runs - snapshot} cases"

    def print_details(self):
        for name, detail in self._failures:
            print(f"FAILED {name}\n{detail.rstrip()}\n")
        for name in self.skipped():
            print(f"skipped {name}: {self._reasons[name]}")

    def line(self):
        return f"{len(self.passed())} passed, {len(self.failed())} failed, {len(self.skipped())} skipped"
