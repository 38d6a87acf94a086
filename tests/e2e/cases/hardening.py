# SPDX-License-Identifier: BSD-3-Clause
"""The programs as they are built: what compiler and linker add against errors in memory."""
import pathlib
import platform
import shutil
import subprocess

from site_under_test import Skip

LANDING_PAD = b"\xf3\x0f\x1e\xfa"  # endbr64
LANDING_PADS_MIN = 100  # of a program; the startup files of the C library have a few


def readelf(option, program):
    return subprocess.run(["readelf", "-W", option, program], check=True, capture_output=True, text=True).stdout


def programs(site):
    if not shutil.which("readelf"):
        raise Skip("needs readelf")
    found = [each for each in pathlib.Path(site.program("lnet-router")).parent.iterdir() if each.read_bytes()[:4] == b"\x7fELF"]
    assert len(found) >= 3, found
    return found


def case_programs_lie_anywhere_and_their_tables_are_read_only(site):
    for program in programs(site):
        kind, segments, dynamic = (readelf(option, program) for option in ("-h", "-l", "-d"))
        assert "DYN" in kind, f"{program.name}: position-independent"
        assert "GNU_RELRO" in segments and "BIND_NOW" in dynamic, f"{program.name}: no table of functions that is writable"
        (stack,) = [line for line in segments.splitlines() if "GNU_STACK" in line]
        assert "RWE" not in stack, f"{program.name}: {stack}"


def case_functions_check_their_stack(site):
    for program in programs(site):
        assert "__stack_chk_fail" in readelf("--dyn-syms", program), program.name


def case_indirect_calls_have_landing_pads(site):
    if platform.machine() != "x86_64":
        raise Skip("control-flow enforcement is of x86")
    for program in programs(site):
        assert program.read_bytes().count(LANDING_PAD) >= LANDING_PADS_MIN, program.name
