# SPDX-License-Identifier: BSD-3-Clause
"""Each command of doc/operating.md, typed in the order of the document on one machine, with its output compared.

Blocks of commands are fenced as `sh` (pasted as a whole; each command must succeed) or as `console`: a line that begins with
`# ` is a command, the lines below it are its output. A line `…` stands for any lines, `…` within a line for any text. A
command of a console block is repeated until its output is as shown, since nodes need some time to notice changes.
"""
import os
import pathlib
import re
import shutil
import subprocess
import threading
import time

from own_run_folder import OWN_RUN_FOLDER
from site_under_test import Skip, needs_root
from two_hosts import two_hosts

ROOT = pathlib.Path(__file__).resolve().parents[3]
HANDBOOK = ROOT / "doc" / "operating.md"
PROGRAMS = ("lnet-router", "lnetctl")
TOOLS = ("ip", "curl", "prometheus", "promtool")
ANY = "…"
SHOWN_WITHIN_S = 60  # a console command
PASTED_WITHIN_S = 90  # an sh block
PAUSE_S = 0.2
# The namespaces of other processes of this machine are not met either.
APART = (f"{OWN_RUN_FOLDER} && mkdir -p /run/netns && mount -t tmpfs none /run/netns\n"
         "trap 'failed=${failed:-$BASH_COMMAND}' ERR\n")


def blocks(text):
    """(line, language, lines) of each fenced block."""
    found, begin = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("```"):
            assert "```" not in line, f"{HANDBOOK.name}:{number}: a fence begins its line"
            if begin:
                found[-1][2].append(line)
        elif begin:
            assert line == "```", f"{HANDBOOK.name}:{number}: a fence within the block of line {begin}"
            begin = None
        else:
            begin = number
            found.append((number, line[3:], []))
    assert begin is None, f"{HANDBOOK.name}:{begin}: a block without end"
    return found


def shown(lines, first):
    """(line, command, output lines) of a console block whose first line has the number `first`."""
    commands = []
    for number, line in enumerate(lines, first):
        if line.startswith("# "):
            commands.append((number, line[2:], []))
        else:
            assert commands, f"{HANDBOOK.name}:{number}: output without a command"
            commands[-1][2].append(line)
    return commands


def pattern_of(lines):
    """Of complete output."""
    parts = [r"(?:.*\n)*?" if line.strip() == ANY else ".*".join(map(re.escape, line.rstrip().split(ANY))) + r" *\n" for line in lines]
    return re.compile("".join(parts))


def steps_of(text):
    """(line, command, output lines): None instead of output for a pasted block."""
    steps = []
    for number, language, lines in blocks(text):
        if language == "text" and not any(program in line for program in PROGRAMS for line in lines):
            continue  # a picture
        assert language in ("sh", "console"), f"{HANDBOOK.name}:{number}: a block is `sh` or `console`, so that it is run"
        if language == "sh":
            steps.append((number, "\n".join(lines), None))
        else:
            steps += shown(lines, number + 1)
    return steps


class Shell:
    """One bash for all commands, in mount and process namespaces of its own: its end ends all processes."""

    def __init__(self, site):
        self.folder = site.path("handbook")
        self.folder.mkdir()
        self.number = 0
        environment = os.environ | {"PATH": f"{site.programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        self.errors_log = site.path("handbook.errors")
        self.errors = open(self.errors_log, "w")
        self.process = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"], cwd=self.folder,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, env=environment,
                                        start_new_session=True)
        self.pasted(APART)

    def typed(self, command, within_s):
        """Its output on both streams, and the first command of it that failed."""
        self.number += 1
        script, output = (self.folder / f".{self.number}.{kind}" for kind in ("sh", "out"))
        script.write_text(command + "\n")
        timer = threading.Timer(within_s, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(f". ./{script.name} </dev/null >{output.name} 2>&1\necho done ${{failed@Q}}; failed=\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        finally:
            timer.cancel()
        text = output.read_text(errors="replace") if output.exists() else ""
        assert answer, f"the shell ended, or was ended after {within_s} s:\n{text}{self.errors_log.read_text()}"
        return text, answer.removeprefix("done").strip(" '\n")

    def pasted(self, command):
        text, failed = self.typed(command, PASTED_WITHIN_S)
        assert not failed, f"failed: {failed}\n{text}"

    def logs(self):
        return "".join(f"--- {path.name}\n{path.read_text(errors='replace')}" for path in sorted(self.folder.glob("*.log")))

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()


def printed(shell, command, expected):
    """Repeats the command until it prints that; otherwise returns the last output."""
    pattern = pattern_of(expected)
    end = time.monotonic() + SHOWN_WITHIN_S
    while True:
        text, _ = shell.typed(command, SHOWN_WITHIN_S)
        if pattern.fullmatch(text if text.endswith("\n") or not text else text + "\n"):
            return None
        if time.monotonic() > end:
            return text
        time.sleep(PAUSE_S)


def run(shell, steps):
    for number, command, expected in steps:
        begin = time.monotonic()
        where = f"{HANDBOOK.name}:{number}: {command}"
        try:
            other = shell.pasted(command) if expected is None else printed(shell, command, expected)
        except AssertionError as error:
            raise AssertionError(f"{where}\n{error}\n{shell.logs()}") from None
        assert other is None, "\n".join([where, "--- expected", *expected, "--- printed", other, shell.logs()])
        if os.environ.get("PLNET_HANDBOOK_TIMES"):
            print(f"# {time.monotonic() - begin:5.1f} s {where.splitlines()[0]}", flush=True)


def words_of(command):
    """Without the choice of the node, which a reader on that host leaves out."""
    return re.sub(r"^ip netns exec \S+ |--instance \S+ ", "", re.sub(r"^ip netns exec \S+ ", "", command)).replace("'", "").split()


def named(text):
    """The commands of our programs in the text between blocks: code that begins with a program's name."""
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return [words_of(code) for code in re.findall(r"`([^`]+)`", plain) if code.split()[0] in PROGRAMS and len(code.split()) > 1]


def is_run(words, ran):
    """Words in capitals stand for any word."""
    return any(len(words) <= len(other) and all(word.isupper() or word == there for word, there in zip(words, other)) for other in ran)


def case_a_command_of_the_text_is_in_a_block(site):
    text = HANDBOOK.read_text()
    ran = [words_of(line.strip()) for _, command, _ in steps_of(text) for line in command.splitlines()]
    missing = [" ".join(words) for words in named(text) if not is_run(words, ran)]
    assert not missing, f"{HANDBOOK.name} names commands that no block of it runs: {missing}"


def case_the_table_quotes_what_commands_print(site):
    text = HANDBOOK.read_text()
    rows = [line.split("|") for line in text.partition("## 3 a.m.")[2].splitlines() if line.startswith("| ") and line.count("|") == 6]
    quotes = [quote for row in rows for quote in re.findall(r"`([^`]+)`", row[3])]
    output = " ".join(" ".join(line for _, _, expected in steps_of(text) for line in expected or []).split())
    assert len(quotes) >= 12, quotes
    assert not [quote for quote in quotes if quote not in output], [quote for quote in quotes if quote not in output]


def case_each_command_prints_what_the_handbook_shows(site):
    needs_root()
    with two_hosts(site):
        pass  # skipped here without network namespaces
    for program in PROGRAMS:
        site.program(program)
    for tool in TOOLS:
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")
    text = HANDBOOK.read_text().replace("/usr/local/share/plnet/prometheus", str(ROOT / "config" / "prometheus"))
    shell = Shell(site)
    try:
        run(shell, steps_of(text))
    finally:
        shell.close()
