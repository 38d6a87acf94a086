# SPDX-License-Identifier: BSD-3-Clause
"""The first steps of README, pasted in order."""
import pathlib
import re

from own_run_folder import OWN_RUN_FOLDER
from site_under_test import needs_root

ROOT = pathlib.Path(__file__).resolve().parents[3]
APART = f'set -e; {OWN_RUN_FOLDER}; trap "kill %1 2>/dev/null || true" EXIT; '


def first_steps():
    text = (ROOT / "README.md").read_text()
    return re.search(r"The first steps.*?```\n(.*?)```", text, re.S).group(1)


def case_the_first_steps_work_when_pasted_in_order(site):
    needs_root()
    for program in ("lnet-router", "lnetctl"):
        site.program(program)
    steps = first_steps().replace("config/plnet.yaml", str(ROOT / "config/plnet.yaml"))
    # A machine under other tests starts more slowly.
    steps = steps.replace("sleep 3\n", "for i in $(seq 100); do lnetctl status >/dev/null 2>&1 && break; sleep 0.2; done\n")
    script = site.write("steps.sh", APART + f'export PATH="{site.programs}:$PATH"\n' + steps)
    done = site.run("unshare", "--mount", "bash", script)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.stdout.startswith("verdict   up, not a router; nothing is wrong\n"), done.stdout
    assert "failed: 0" in done.stdout, done.stdout
