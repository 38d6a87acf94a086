# SPDX-License-Identifier: BSD-3-Clause
"""The status page of a node: over plain HTTP, and in a browser. Its pictures stay in the folder PLNET_PICTURES, if that is set."""
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import socket

from browser import PHONE, browser
from cases_common import one_shard
from routed_hosts import WINDOW, address, routed_hosts, start
from script_crowd import addresses
from script_peer import ScriptPeer
from site_under_test import Skip, eventually
from tcp_nodes import works
from traffic_nodes import count, has_answered, last_words
from two_hosts import inside, ip

WATCHERS_MAX = 16
PEERS = 1000
PAGE_BYTES_MAX, EVENT_BYTES_MAX = 60 << 10, 64 << 10
SAFE = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-store",
        "cross-origin-resource-policy": "same-origin"}


class Answer:
    """The answer to a request. Of a stream: its head, and `event` reads on."""

    def __init__(self, port, path="/", method="GET", host="localhost", **headers):
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}:{port}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().decode().strip()):
            name, _, value = line.partition(": ")
            self.headers[name.lower()] = value

    def body(self):
        return self.file.read()

    def event(self):
        while not (line := self.file.readline()).startswith(b"data: "):
            assert line, "the stream has ended"
        assert len(line) < EVENT_BYTES_MAX, len(line)
        return json.loads(line.removeprefix(b"data: "))

    def close(self):
        self.file.close()
        self.socket.close()


def served(node, address="0"):
    """Turns the page on; its port."""
    works(node, "set", "status_page_listen", address)
    at = node.json("status")["status"]["status page"]
    assert at.startswith("127.0.0.1:"), at
    return int(at.rpartition(":")[2])


def case_the_page_is_off_until_it_gets_an_address(site):
    node = site.node("--config", one_shard(site), "--idle", "sleep")
    assert node.json("status")["status"]["status page"] == "off" and "page at" not in works(node, "status")
    port = served(node)
    assert f"page at http://127.0.0.1:{port}/" in works(node, "status")
    size = 0
    for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
        answer = Answer(port, path)
        assert answer.status == 200 and answer.headers["content-type"].startswith(kind), (path, answer.headers)
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; "), answer.headers
        assert "unsafe" not in answer.headers["content-security-policy"] and SAFE.items() <= answer.headers.items(), answer.headers
        assert not [name for name in answer.headers if name.startswith("access-control")], answer.headers
        body = answer.body()
        assert len(body) == int(answer.headers["content-length"]) and b"http://" not in body and b"https://" not in body
        size += len(body)
        head = Answer(port, path, "HEAD")
        assert head.status == 200 and head.headers == answer.headers and not head.body()
    assert size <= PAGE_BYTES_MAX, size
    works(node, "set", "status_page_listen", "")
    eventually("nobody listens", lambda: is_refused(port))
    assert node.json("status")["status"]["status page"] == "off"
    refused = node.lnetctl("set", "status_page_listen", "router:80")
    assert refused.returncode != 0 and "status page address 'router:80': not an IPv4 address" in refused.stderr, refused.stderr
    assert node.stop() == 0


def is_refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), 60).close()
    except ConnectionRefusedError:
        return True
    return False


def case_the_page_only_reads_and_is_for_its_own_host(site):
    config = one_shard(site, "    status_page:\n        listen: 127.0.0.1:0\n")
    node = site.node("--config", config, "--idle", "sleep")
    port = int(node.json("status")["status"]["status page"].rpartition(":")[2])
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer = Answer(port, "/", method)
        assert answer.status == 405 and answer.headers["allow"] == "GET, HEAD", (method, answer.status)
    for host in ("localhost", "127.0.0.1", socket.gethostname()):
        assert Answer(port, host=host).status == 200, host
    for host in ("rebound.example", "localhost.rebound.example", "127.0.0.1.rebound.example"):
        for path in ("/", "/events"):
            assert Answer(port, path, host=host).status == 421, host
    assert Answer(port, "/events", Sec_Fetch_Site="cross-site").status == 403
    assert Answer(port, "/../etc/passwd").status == 404
    assert Answer(port, "/" + "x" * 9000).status == 431
    assert Answer(port, "/events", "HEAD").body() == b""
    assert node.stop() == 0


def case_watchers_get_events_and_are_limited(site):
    node = site.node("--config", one_shard(site), "--idle", "sleep")
    port = served(node)
    watchers = [Answer(port, "/events", Sec_Fetch_Site="same-origin") for _ in range(WATCHERS_MAX)]
    assert all(each.status == 200 and each.headers["content-type"] == "text/event-stream" for each in watchers)
    for each in (watchers[0], watchers[0], watchers[-1]):
        event = each.event()
        asked = node.json("status")["status"]
        for key in ("verdict", "instance", "version", "routes", "rules"):
            assert event["status"][key] == asked[key], (key, event["status"][key], asked[key])
    works(node, "set", "log_level", "debug")
    eventually("the change is among the latest", lambda: any(each["event"] == "changed" for each in watchers[1].event()["lately"]))
    refused = Answer(port, "/events")
    assert refused.status == 503 and b"16 watchers look at this page already" in refused.body()
    assert Answer(port).status == 200, "the page itself has room"
    watchers.pop().close()

    def has_room():
        answer = Answer(port, "/events")
        if answer.status == 200:
            watchers.append(answer)
        return answer.status == 200

    eventually("there is room again", has_room)
    assert watchers[-1].event()["status"]["verdict"]
    for each in watchers:
        each.close()
    assert node.stop() == 0


def picture(site, view, name):
    """At the size of a desktop, dark as well, and of a phone. Nothing is cut off at the side of a phone."""
    folder = pathlib.Path(os.environ.get("PLNET_PICTURES", site.directory))
    folder.mkdir(parents=True, exist_ok=True)
    view.picture(folder / f"{name}.png")
    view.darken(True)
    view.picture(folder / f"{name}-dark.png")
    view.darken(False)
    view.resize(PHONE)
    assert view.value("document.documentElement.scrollWidth <= window.innerWidth"), f"{name}: wider than a phone"
    view.picture(folder / f"{name}-phone.png")
    view.resize((1920, 1080))
    assert not view.complaints, view.complaints


@contextlib.contextmanager
def watched(hosts, router):
    with browser(hosts.site, ("ip", "netns", "exec", hosts.names["r0"])) as view:
        view.open(f"http://127.0.0.1:{served(router)}/")
        view.shows("a verdict", "document.querySelector('#verdict').textContent.startsWith('forwarding')")
        yield view


ROWS = "[...document.querySelectorAll('#{} tbody tr')].map((row) => row.cells[{}].textContent)"


def column(view, table, number):
    return view.value(ROWS.format(table, number))


def numbers(name):
    return [int(number) for number in re.findall(r"\d+", name)]


def case_a_browser_shows_a_router_at_work(site):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0")
        start(hosts, "server")
        client = start(hosts, "client", "--to", hosts.nid("server"))
        has_answered(client, 100)
        with watched(hosts, router) as view:
            view.shows("the load", "document.querySelector('#pairs').innerText.includes('tcp -> tcp1')")
            view.shows("the talkers", "document.querySelectorAll('#talkers tbody tr').length >= 2")
            assert not view.value("document.querySelector('header').classList.contains('bad')"), view.text("#verdict")
            assert hosts.nid("r0", 0) in view.text("#nis") and "▲ up" in view.text("#nis"), view.text("#nis")
            picture(site, view, "healthy")
            # A pause keeps the page as it is, and its end brings news.
            view.click("#pause")
            assert view.text("#news").startswith("Paused.") and view.text("#pause") == "Go on"
            # A click on a heading sorts, a second one turns the order.
            view.click("#talkers th:nth-child(1) button")
            names = column(view, "talkers", 0)
            assert names == sorted(names, key=numbers), names
            assert view.value("document.querySelector('#talkers th').getAttribute('aria-sort')") == "ascending"
            view.click("#talkers th:nth-child(1) button")
            assert column(view, "talkers", 0) == names[::-1]
            view.click("#pause")
            view.shows("news again", "document.querySelector('#news').textContent === ''")
            hosts.link("r0", 1, "down")
            view.shows("an NI that is down", "document.querySelector('#verdict').textContent.includes('1 of 2 NIs down')")
            view.shows("the change", "document.querySelector('#lately').innerText.includes('ni down')")
            assert column(view, "nis", 0)[0] == f"{hosts.nid('r0', 1)} (eth1)", "what is down comes first"
            assert view.value("document.querySelector('header').classList.contains('bad')")
            router.stop(signal.SIGKILL)
            view.shows("that nothing comes any more", "document.querySelector('#news').textContent.startsWith('No news for')")
            picture(site, view, "ended")


def case_a_browser_shows_a_router_that_starves(site):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0")
        start(hosts, "server")
        client = start(hosts, "client", "--to", hosts.nid("server"))
        has_answered(client, 10)
        works(router, "set", "large_buffers", "1")
        with watched(hosts, router) as view:
            view.shows("who starves", "[...document.querySelectorAll('summary')].some((e) => e.innerText.includes('large_buffers starve'))")
            assert "messages wait for scarce resources" in view.text("#verdict"), view.text("#verdict")
            first = "#warning-list details:first-child"
            assert "large_buffers starve" in view.text(f"{first} summary") and not view.value(f"document.querySelector('{first}').open")
            view.click(f"{first} summary")
            view.shows("the command that looks closer", f"document.querySelector('{first}').open")
            assert "lnetctl routing show" in view.text(f"{first} code"), view.text(first)
            before = view.text("#figures")
            view.shows("later figures", f"document.querySelector('#figures').innerText !== {json.dumps(before)}")
            assert view.value(f"document.querySelector('{first}').open"), "a warning that is open stays open"
            view.shows("the buffers", "document.querySelector('#buffers').innerText.includes('large')")
            picture(site, view, "starving")
        works(router, "set", "large_buffers", "64")
        last_words(client)


@contextlib.contextmanager
def a_thousand_peers(hosts):
    """Connected to the router from the client's namespace."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4 * PEERS:
        raise Skip(f"a thousand peers need {4 * PEERS} open files, allowed are {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4 * PEERS), hard))
    batch = hosts.site.write("addresses", "".join(f"address add {each}/16 dev eth0\n" for each in addresses(PEERS)))
    ip("-n", hosts.names["client"], "-batch", batch)
    ip("-n", hosts.names["r0"], "route", "add", "10.77.0.0/16", "via", address(0, hosts.CLIENT))
    peers = []
    try:
        with inside(hosts.names["client"]):
            peers.extend(ScriptPeer(address(0, hosts.ROUTERS[0]), each) for each in addresses(PEERS))
        yield peers
    finally:
        for peer in peers:
            peer.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def case_a_browser_shows_a_router_with_a_thousand_peers(site):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0", options="options lnet accept=all\n")
        start(hosts, "server")
        client = start(hosts, "client", "--to", hosts.nid("server"))
        has_answered(client, WINDOW)
        with a_thousand_peers(hosts) as peers, watched(hosts, router) as view:
            for peer in peers:
                peer.introduced()
            for cookie in range(1, 5):
                for peer in peers:
                    peer.ask(cookie)
                assert all(peer.is_answered(cookie) for peer in peers)
            view.shows("them all", "Number([...document.querySelectorAll('#figures div')].find((e) => e.innerText.startsWith('Peers'))"
                                   f".querySelector('dd').textContent.replace(',', '')) >= {PEERS}")
            view.shows("how many talkers are left out", "/[0-9]+ lighter senders? not shown/.test(document.querySelector('#talkers').innerText)")
            assert len(column(view, "talkers", 0)) == 12
            picture(site, view, "thousand")
        assert count(client, "failed") == 0
        last_words(client)
