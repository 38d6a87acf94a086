# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages and completion, which programs print from the tables of their help."""
import os
import re
import shutil

from site_under_test import Skip
from tcp_nodes import add_v4, nid, pings, works
from two_hosts import two_hosts
from cases_common import one_shard

SECTIONS = {"lnet-sim": 1, "lnet-pin": 8, "lnet-router": 8, "lnet-selftest": 8, "lnet-traffic": 8, "lnetctl": 8, "lnetdump": 8, "lst": 8,
            "plnet-cxi-lab": 1}
# Prints what the completion of a command line offers, as readline would ask for it.
BASH = ('source "$2"; COMP_LINE=$1; COMP_POINT=${#1}; read -ra COMP_WORDS <<< "$1"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
        '$(complete -p "${COMP_WORDS[0]}" | sed "s/.*-F \\([^ ]*\\) .*/\\1/"); printf "%s\\n" "${COMPREPLY[@]}"')
# The same for zsh, with its completion system replaced by words on standard output.
ZSH = ('_describe() { local n=$argv[-1]; print -rl -- "${(@P)n}"; }; compadd() { local n=$argv[-1]; print -rl -- "${(@P)n}"; }; '
       '_files() { print -r -- FILES; }; compset() { :; }; words=("${(@s: :)1}"); CURRENT=${#words}; source $2')


def tool(name):
    if shutil.which(name) is None:
        raise Skip(f"{name} is missing: apt-get install {name}")
    return name


def program(site, name):
    """The command: lst is a name of lnet-selftest."""
    return [site.program("lnet-selftest"), "lst"] if name == "lst" else [site.program(name)]


def output(site, *command):
    done = site.run(*command)
    assert done.returncode == 0 and not done.stderr, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def pages(site):
    """All pages in the directory of the site, where mandoc looks for the pages that others refer to."""
    names = {}
    for name, section in SECTIONS.items():
        names[name] = f"{name}.{section}"
        site.write(names[name], output(site, *program(site, name), "--print-manual"))
    names["plnet.yaml"] = "plnet.yaml.5"
    site.write(names["plnet.yaml"], output(site, site.program("lnet-router"), "--print-config-manual"))
    return names


def case_mandoc_has_no_complaint(site):
    done = site.run(tool("mandoc"), "-Tlint", *pages(site).values())
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr


def plain_page(site, page):
    """The page as a terminal without bold letters shows it."""
    return re.sub(".\b", "", output(site, tool("mandoc"), "-Tascii", "-Owidth=200", page))


def case_a_page_has_every_option_of_the_help(site):
    names = pages(site)
    for name in SECTIONS:
        shown = plain_page(site, names[name])
        options = set(re.findall(r"--[a-z][a-z-]+", output(site, *program(site, name), "--help")))
        missing = {each for each in options if each not in shown}
        assert options and not missing, f"{name}: {missing}"
    page = plain_page(site, names["lnetctl"])
    for words in output(site, site.program("lnetctl"), "--list-commands").split("\n"):
        assert words in page, words
    keys = re.findall(r"^\| `([^`]+)`", output(site, site.program("lnet-router"), "--print-reference"), re.M)
    page = plain_page(site, names["plnet.yaml"])
    assert len(keys) > 100 and all(key in page for key in keys), [key for key in keys if key not in page]


def completer(site, shell, name):
    script = site.write(f"{name}.{shell}", output(site, *program(site, name), "--completion", shell))

    def offers(line):
        command = {"bash": ["bash", "-c", BASH, "bash"], "zsh": [tool("zsh"), "-fc", ZSH, "zsh"]}[shell]
        return output(site, "env", f"PATH={site.programs}:{os.environ['PATH']}", *command, line, script).split("\n")[:-1]

    return offers


def case_bash_completes_commands_options_and_values(site):
    offers = completer(site, "bash", "lnetctl")
    assert {"net", "route", "ping", "status"} <= set(offers("lnetctl "))
    assert offers("lnetctl net sh") == ["show"] and offers("lnetctl --inst") == ["--instance"]
    assert "--verbose" in offers("lnetctl net show --") and "add" not in offers("lnetctl net show ")
    site.write("a-file.yaml", "")
    assert offers("lnetctl import a-fi") == ["a-file.yaml"]
    assert completer(site, "bash", "lnetdump")("lnetdump --keep ") == ["newest", "oldest"]
    assert completer(site, "bash", "lnet-selftest")("lnet-selftest lst add_g") == ["add_group"]
    assert completer(site, "bash", "lst")("lst add_g") == ["add_group"]
    assert completer(site, "bash", "lnet-pin")("lnet-pin recommend --aim p") == ["p99"]
    for name in SECTIONS:
        assert "--completion" in completer(site, "bash", name)(f"{name} --comp"), name


def case_zsh_completes_commands_with_their_help(site):
    offers = completer(site, "zsh", "lnetctl")
    assert "show:networks and their NIs" in offers("lnetctl net ")
    assert offers("lnetctl import ") == ["FILES"]
    assert "recommend:print the best placement as configuration" in completer(site, "zsh", "lnet-pin")("lnet-pin ")
    for name in SECTIONS:
        assert any(each.startswith("--completion:") for each in completer(site, "zsh", name)(f"{name} --")), name


def case_nids_nets_and_interfaces_are_those_of_the_node(site):
    with two_hosts(site) as hosts:
        config = one_shard(site)
        a, b = (hosts.node(side, "--config", config, "--idle", "sleep") for side in ("a", "b"))
        add_v4(a, b)
        pings(a, nid("b"))
        works(a, "route", "add", "--net", "tcp7", "--gateway", nid("b"))
        shells = ["bash", "zsh"] if shutil.which("zsh") else ["bash"]
        for shell in shells:
            offers = completer(site, shell, "lnetctl")
            line = f"lnetctl --socket {a.socket} "
            assert {nid("a"), nid("b")} <= set(offers(line + "ping ")), shell
            assert {"tcp", "tcp7"} <= set(offers(line + "route show --net ")), shell
            assert "eth0" in offers(line + "net add --if "), shell
        # Bash takes what follows an @ for a word of its own.
        assert completer(site, "bash", "lnetctl")(f"lnetctl --socket {a.socket} ping {nid('b')[:-1]}") == ["@tcp"]


def case_without_a_node_completion_is_silent(site):
    for kind in ("nids", "nets", "interfaces"):
        assert output(site, site.program("lnetctl"), "--socket", str(site.path("none.sock")), "--complete", kind) == ""
    assert completer(site, "bash", "lnetctl")(f"lnetctl --socket {site.path('none.sock')} ping ") == [""]
