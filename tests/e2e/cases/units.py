# SPDX-License-Identifier: BSD-3-Clause
"""The systemd units of config/: their permissions suffice for a node and exceed its needs little."""
import pathlib
import re
import shutil
import subprocess

from cases_common import one_shard
from site_under_test import Skip
from tcp_nodes import add_v4, nid, pings
from two_hosts import two_hosts

CONFIG = pathlib.Path(__file__).resolve().parents[3] / "config"
EXPOSURE_MAX = 30  # of `systemd-analyze security`, in tenths


def setting(unit, name):
    """The last value, which systemd uses for most settings."""
    return re.findall(rf"^{name}=(.*)$", unit.read_text(), re.MULTILINE)[-1]


def case_exposure_is_low(_site):
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        raise Skip("needs systemd-analyze")
    for unit in CONFIG.glob("*.service"):
        done = subprocess.run([analyze, "security", "--offline=true", f"--threshold={EXPOSURE_MAX}", "--no-pager", unit], capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0, f"{unit.name}:\n{done.stdout}{done.stderr}"


def case_a_node_lives_with_the_capabilities_that_are_left(site):
    unit = CONFIG / "plnet-router.service"
    left = [name.removeprefix("CAP_").lower() for name in setting(unit, "CapabilityBoundingSet").split()]
    confined = ("setpriv", "--no-new-privs", "--bounding-set", ",".join(["-all", *(f"+{name}" for name in left)]))
    with two_hosts(site) as hosts:
        a, b = (hosts.node(side, "--config", one_shard(site), "--idle", "sleep", prefix=confined) for side in ("a", "b"))
        add_v4(a, b)
        pings(a, nid("b"))
        granted = re.search(r"CapEff:\s*(\w+)", pathlib.Path(f"/proc/{a.process.pid}/status").read_text()).group(1)
        assert bin(int(granted, 16)).count("1") <= len(left), f"{granted}: more than {left}"
        assert a.stop() == 0
