# SPDX-License-Identifier: BSD-3-Clause
"""An administrator's question to `lnet-sim`, as doc/simulator.md has it: from configuration files to sentences."""
import json
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]


def blocks():
    """The code blocks of the section: the commands, what the first one says, and the answer."""
    text = (ROOT / "doc/simulator.md").read_text()
    section = text.split("## What if: an existing network\n")[1].split("\n## ")[0]
    return re.findall(r"```\n(.*?)```", section, re.S)


def shape(text):
    """Lines without figures and without the table of losses, which depend on the build."""
    kept = text.split("Losses")[0] + text[text.index("Seed"):] if "Seed" in text else text
    return [re.sub(r" +", " ", re.sub(r"\d+(\.\d+)?", "N", line)) for line in kept.splitlines()]


def paste(site, commands):
    programs = pathlib.Path(site.program("lnet-sim")).parent
    return site.run("bash", "-ec", f'export PATH="{programs}:$PATH"\n{commands}')


def case_the_example_of_the_document(site):
    commands, notes, answer = blocks()[:3]
    done = paste(site, commands)
    assert done.returncode == 0, done.stderr
    assert done.stderr == notes, f"{done.stderr}\nin the document:\n{notes}"
    assert shape(done.stdout) == shape(answer), f"{done.stdout}\nin the document:\n{answer}"
    again = paste(site, "lnet-sim what-if site.yaml --lose 10.0.0.2@tcp at 60s for 60s")
    assert again.stdout == done.stdout, "the same seed gives the same answer"
    asked = paste(site, "lnet-sim what-if site.yaml --lose 10.0.0.2@tcp at 60s for 60s --json")
    figures = json.loads(asked.stdout)
    assert figures["clients"] == 60 and figures["events"][0]["node"] == "router.2", figures


def case_a_wrong_file_writes_nothing(site):
    site.write("client.yaml", "net:\n  - net type: tcp\n    nis: 3\n")
    site.write("server.conf", "options lnet networks=tcp\n")
    done = paste(site, "lnet-sim from-config client.yaml:3 --servers server.conf")
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.startswith("client.yaml:3:"), done.stderr
    os.unlink(site.path("client.yaml"))
    done = paste(site, "lnet-sim from-config client.yaml:3 --servers server.conf")
    assert done.returncode == 2 and done.stdout == "" and "client.yaml" in done.stderr, done
