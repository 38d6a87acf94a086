# SPDX-License-Identifier: BSD-3-Clause
"""LNet selftest in guests: test nodes, and `lst` on the host of the console."""
import json

from guest_nodes import WAIT_S, folder_of, node
from site_under_test import eventually
from tcp_nodes import counted

SETTINGS = "    selftest: {client_mib: 32, server_mib: 16}\n"
# All bytes are checked. A read is a PUT of the server, a write is a GET of the server.
CHECKED = ("brw read check=full size=1M", "brw write check=full size=1M", "brw read check=full size=4K", "brw write check=full size=4K", "ping")
ONE_WAY = (("clients", "servers"),)
BOTH_WAYS = (("clients", "servers"), ("servers", "clients"))
SESSION_TIMEOUT_S = 300
CALL_TIMEOUT_S = 400
MIB = 1 << 20


def test_node(site, side, *arguments, name=None, **how):
    """`lnet-selftest node`; its instance has its name."""
    return node(site, side, "lnet-selftest node", "--instance", name or side, *arguments, name=name, settings=SETTINGS, **how)


class Lst:
    """A session on the console of a node. A call is one process, which reads its commands line by line: a start takes seconds here."""

    def __init__(self, console, key=77):
        self.console, self.key = console, key

    def call(self, *lines):
        console, site = self.console, self.console.site
        return console.guest.run("env", f"LST_SESSION={self.key}", site.program("lnet-selftest"), "lst", "--run-dir", folder_of(site),
                                 "--instance", console.name, "--lock-dir", console.locks, stdin="".join(f"{line}\n" for line in lines),
                                 timeout_s=CALL_TIMEOUT_S)

    def says(self, *pairs):
        """Each command answers with these words."""
        done = self.call(*(line for line, _ in pairs))
        assert done.stdout == "".join(words for _, words in pairs), f"{done.stdout}{done.stderr}\n{self.console.site.logs()}"

    def begin(self, clients, servers, tests=CHECKED, ways=ONE_WAY, concurrency=2):
        """A session whose tests run until they are stopped."""
        added = [(f"add_test --batch batch --from {source} --to {target} --concurrency {concurrency} {test}", "Test was added successfully\n")
                 for source, target in ways for test in tests]
        self.says((f"new_session --timeout {SESSION_TIMEOUT_S} guests", f"SESSION: guests FEATURES: 1 TIMEOUT: {SESSION_TIMEOUT_S} FORCE: No\n"),
                  (f"add_group clients {clients}", f"{clients} are added to session\n"),
                  (f"add_group servers {servers}", f"{servers} are added to session\n"), *added, ("run batch", "batch is running now\n"))

    def ends_well(self):
        """No request of the session has failed, and no byte was wrong."""
        done = self.call("stop batch", "show_error --session clients servers", "end_session")
        wanted = "clients:\nTotal 0 error nodes in clients\nservers:\nTotal 0 error nodes in servers\nsession is ended\n"
        assert done.stdout.endswith("Batch is stopped\n" + wanted) and done.returncode == 0, f"{done.stdout}{done.stderr}"

    def abandon(self):
        """Ends a session of which a node has died."""
        self.call("stop --force batch", "end_session")


def moved(server):
    """(bytes that it has fetched from its clients, bytes that it has put to them)"""
    return counted(server, "selftest_server", "bulk_get"), counted(server, "selftest_server", "bulk_put")


def moves(server, mib):
    """Tests move so much more in each direction."""
    fetched, put = (each + mib * MIB for each in moved(server))

    def has_moved():
        now = moved(server)
        return now[0] >= fetched and now[1] >= put

    eventually(f"{server.name} has moved {mib} MiB each way", has_moved, WAIT_S)


def measured(console, source, target, report, *words):
    """`lnet-selftest run` between two nodes; returns its report."""
    site = console.site
    folder = f"{folder_of(site)}/{report}"
    console.guest.must(site.program("lnet-selftest"), "run", "--run-dir", folder_of(site), "--instance", console.name, "--lock-dir",
                       console.locks, "--report", folder, "--from", source, "--to", target, "--max-errors", "0", *words,
                       timeout_s=CALL_TIMEOUT_S)
    return json.loads(console.guest.read(f"{folder}/report.json"))
