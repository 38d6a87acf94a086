# SPDX-License-Identifier: BSD-3-Clause
"""plnet-cxi-lab exec and --head: commands that move to another rank of their lab, as mpirun starts its processes."""
import os
import signal

from cxi_labs import lab, lines, words
from site_under_test import NOBODY, Skip, needs_root


def head(site, script, *arguments, ranks=2, stdin=""):
    """Runs the shell script in rank 0; $lab is the program."""
    return lab(site, "-n", str(ranks), *arguments, "--head", "sh", "-c", f'lab={site.program("plnet-cxi-lab")}; {script}', stdin=stdin)


def case_a_command_moves_to_another_rank(site):
    show = "echo $(hostname) $CXI_LAB_RANK $CXI_LAB_ADDRESS $OWN; pwd; ip -br -4 address show hsn0; cat ${LD_LIBRARY_PATH%%:*}/libcxi.so.1.conf"
    done = head(site, f"export OWN=kept; hostname; $lab exec 2 sh -c '{show}'", "--nics-per-rank", "2", ranks=3)
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert shown[:3] == ["rank-0", "rank-2 2 10.201.0.3 kept", str(site.directory)], done.stdout
    assert shown[3].split()[2] == "10.201.0.3/24", done.stdout
    assert shown[4:7] == ["devices = 2", "address.0 = 0x104", "address.1 = 0x105"], done.stdout


def case_input_output_arguments_and_status_are_those_of_the_command(site):
    done = head(site, "printf 'one\\ntwo' | $lab exec 1 cat; $lab exec 1 printf '[%s]' 'a b' '$HOME' ''; $lab exec 1 sh -c 'echo bad >&2; exit 7'; "
                "echo status $?; read line; $lab exec 1 cat; exit 9", stdin="first\nsecond\n")
    assert done.returncode == 9, done
    assert done.stdout == "one\ntwo[a b][$HOME][]status 7\nsecond\n", done.stdout
    assert done.stderr == "bad\n", done.stderr


def case_a_launcher_uses_it_as_ssh(site):
    """The words of ssh are a command line for a shell; ranks have names, which resolve."""
    script = """for host in 1 rank-1 10.201.0.2; do $lab exec --ssh -x $host 'A="a  b";' echo '$A' '"$A"' '$(hostname)'; done
        $lab exec --ssh rank-1 getent hosts rank-0; $lab exec --ssh 1 $lab exec --ssh 0 hostname"""
    done = head(site, script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "a b a  b rank-1\n" * 3 + "10.201.0.1      rank-0\nrank-0\n", done.stdout


def case_a_rank_that_is_not_there_is_named(site):
    outside = site.run(site.program("plnet-cxi-lab"), "exec", "1", "true")
    assert outside.returncode == 1 and "exec is for commands of a lab: CXI_LAB_FOLDER and CXI_LAB_NODES" in outside.stderr, outside
    done = head(site, "$lab exec 2 true; echo $?; $lab exec 1 /nowhere/program; echo $?; $lab exec 1; echo $?")
    assert done.stdout == "1\n127\n2\n", done
    assert "2 is no rank of this lab; ranks are 0 to 1, rank-0 to rank-1, 10.201.0.1 to 10.201.0.2" in done.stderr, done.stderr
    assert "plnet-cxi-lab: /nowhere/program: No such file" in done.stderr, done.stderr


def case_a_rank_that_has_ended_is_told(site):
    """Rank 1 ends at once; rank 0 tries until it has."""
    loop = 'while %s exec 1 true 2>$CXI_LAB_FOLDER/why; do :; done; cat $CXI_LAB_FOLDER/why' % site.program("plnet-cxi-lab")
    done = lab(site, "sh", "-c", f"if [ $CXI_LAB_RANK = 0 ]; then {loop}; fi")
    assert done.returncode == 0 and lines(done.stdout, 0) == ["plnet-cxi-lab: rank 1 has ended"], done


def case_only_root_of_the_lab_enters_another_rank(site):
    done = head(site, 'setpriv --reuid 65534 $lab exec 1 true; echo $?')
    assert done.stdout == "1\n" and "only root of the lab enters it): Permission denied" in done.stderr, done


def case_no_command_leaves_its_lab(site):
    """The number of the rank's process is that of one outside: as after the lab's end, when the kernel has given it away."""
    done = head(site, f"echo {os.getpid()} >$CXI_LAB_FOLDER/rank-1/process; $lab exec 1 true")
    assert done.returncode == 1 and "rank 1 has ended" in done.stderr, done


SIGNALS = """import os, signal, subprocess, sys
for number in (signal.SIGTERM, signal.SIGKILL):
    with subprocess.Popen([sys.argv[1], "exec", "1", "sh", "-c", "echo $$; exec sleep 1000"], stdout=subprocess.PIPE, text=True) as moved:
        same = int(moved.stdout.readline()) == moved.pid
        moved.send_signal(number)
        print(same, moved.wait() == -number)
"""


def case_the_process_is_the_command(site):
    """A signal to it, and its death, are those of the command."""
    done = lab(site, "--head", "python3", site.write("signals.py", SIGNALS), site.program("plnet-cxi-lab"))
    assert done.stdout == "True True\n" * 2, done


def is_running(process):
    """A zombie of an adopting process still has its number."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def case_no_process_remains_when_the_lab_ends(site):
    """As those of mpirun: each in a session of its own, its parent gone."""
    site.write("leave.sh", "(setsid sh -c 'echo $$ >>left; exec sleep 1000' & )\n")
    done = head(site, "touch left; sh leave.sh; $lab exec 1 sh leave.sh; while [ $(wc -l <left) -lt 2 ]; do :; done")
    assert done.returncode == 0, done.stderr
    left = [int(line) for line in site.path("left").read_text().split()]
    assert len(left) == 2 and not any(is_running(process) for process in left), left


def case_the_end_of_rank_0_ends_the_others(site):
    """Of a lab with --head: also by a signal to the lab."""
    done = head(site, "kill -9 $$", ranks=3)
    assert done.returncode == 128 + signal.SIGKILL, done
    done = head(site, "kill -TERM $PPID; exec sleep 1000", ranks=3)
    assert done.returncode == 128 + signal.SIGTERM, done


def case_a_user_without_privileges_has_a_lab(site):
    """Root of a user namespace of its own, in which its commands move."""
    needs_root()
    script = f'{site.program("plnet-cxi-lab")} exec 1 sh -c "hostname; id -u"'
    done = site.run(*words(site, "--head", "sh", "-c", script), user=NOBODY)
    if "a user namespace" in done.stderr:
        raise Skip("users may not make user namespaces here")
    assert (done.returncode, done.stdout) == (0, "rank-1\n0\n"), done
