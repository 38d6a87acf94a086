# SPDX-License-Identifier: BSD-3-Clause
"""The dashboard and the rules on a real Prometheus that scrapes a router and its client under traffic."""
import contextlib
import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import urllib.parse

import grafana_model
import metric_names
from routed_hosts import routed_hosts, start
from site_under_test import Skip, eventually
from tcp_nodes import works
from traffic_nodes import has_answered
from two_hosts import inside

PLACE = pathlib.Path(__file__).resolve().parents[3] / "config" / "prometheus"
METRICS_PORT = 9988
CHECKS = "options lnet alive_router_check_interval=1 router_ping_timeout=2\n"
# Series that only another fault brings: (panel, legend).
ABSENT = {("Alerts", "firing"), ("Nodes", "silent"), ("Nodes", "LNet stopped"), ("NIs", "down")}
VARIABLES = {"$instance": ".*", "$__rate_interval": "10s"}


class Prometheus:
    """Debian's server in the network namespace of a host."""

    def __init__(self, hosts, name, targets):
        self.site, self.space = hosts.site, hosts.names[name]
        with inside(self.space), socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = self.site.path("prometheus.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(["ip", "netns", "exec", self.space, "prometheus", f"--config.file={self.config(targets)}", "--log.level=warn",
                                             f"--web.listen-address=127.0.0.1:{self.port}", f"--storage.tsdb.path={self.site.path('tsdb')}"],
                                            stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)

    def config(self, targets):
        """The one that is installed, for these targets and a short interval."""
        text = (PLACE / "prometheus.yaml").read_text()
        for old, new in (("15s", "1s"), ("[plnet.rules.yaml]", json.dumps([str(PLACE / "plnet.rules.yaml")])),
                         ('["router1:9988", "router2:9988"]', json.dumps(targets))):
            assert old in text, f"{old} is not in prometheus.yaml"
            text = text.replace(old, new)
        return self.site.write("prometheus.yaml", text)

    def get(self, path):
        """The status and the text of a page."""
        assert self.process.poll() is None, self.log.read_text()
        with inside(self.space):
            client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            client.request("GET", path)
            answer = client.getresponse()
            text = answer.read()
            client.close()
        return answer.status, text

    def ask(self, path, **parameters):
        """The data of an answer."""
        status, text = self.get(f"/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
        assert status == 200, f"{parameters}: {text}"
        return json.loads(text)["data"]

    def query(self, expression):
        """Samples as (labels, value)."""
        return [(each["metric"], float(each["value"][1])) for each in self.ask("query", query=expression)["result"]]

    def is_ready(self):
        try:
            return self.get("/-/ready")[0] == 200
        except ConnectionRefusedError:
            return False

    def close(self):
        self.process.send_signal(signal.SIGKILL)  # nothing of it is kept
        self.process.wait()


@contextlib.contextmanager
def prometheus(hosts, name, targets):
    server = Prometheus(hosts, name, targets)
    try:
        eventually("Prometheus answers", server.is_ready)
        yield server
    finally:
        server.close()


def serves_metrics(hosts, name, address, *arguments, **how):
    return start(hosts, name, *arguments, settings=f'    metrics:\n        listen: "{address}:{METRICS_PORT}"\n', **how)


def panels():
    dashboard = json.loads((PLACE / "plnet.dashboard.json").read_text())
    return dashboard, [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def expression_of(target):
    expression = target["expr"]
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression.replace("$1", ""), f"an unknown variable: {expression}"
    return expression


def queries():
    """Each query of the dashboard as (panel, legend, expression). Without its fallback, a query has samples only if a node serves the series."""
    for panel in panels()[1]:
        for target in panel["targets"]:
            expression = expression_of(target)
            yield panel["title"], target["legendFormat"], expression
            if (panel["title"], target["legendFormat"]) not in ABSENT:
                yield panel["title"], target["legendFormat"], re.split(r" or (?:on\(\) |vector\(0\))", expression)[0]


def case_each_query_of_the_dashboard_has_an_answer_under_traffic(site):
    if shutil.which("prometheus") is None:
        raise Skip("prometheus is missing: apt-get install prometheus")
    with routed_hosts(site) as hosts:
        router = serves_metrics(hosts, "r0", "127.0.0.1")
        start(hosts, "server")
        address = hosts.nid("client").partition("@")[0]
        client = serves_metrics(hosts, "client", address, "--to", hosts.nid("server"), options=CHECKS)
        with prometheus(hosts, "r0", [f"127.0.0.1:{METRICS_PORT}", f"{address}:{METRICS_PORT}"]) as server:
            has_answered(client, 100)
            eventually("Prometheus has rates of both, which the trouble will change",
                       lambda: len(server.query('instance_cause:plnet_lost_messages:rate5m{cause="dropped_access"}')) == 2, 60)
            make_trouble(hosts, router, client)
            left = list(queries())

            def all_answered():
                left[:] = [each for each in left if not server.query(each[2])]
                return not left

            eventually(left, all_answered, 60)  # a failure prints the queries that are still without samples
            rules_work(server)
            figures_fit(server, hosts)
            names = {target["expr"] for panel in panels()[1] for target in panel["targets"]}
            known = metric_names.served(works(router, "metrics", "show"), works(client, "metrics", "show"))
            records = metric_names.recorded((PLACE / "plnet.rules.yaml").read_text())
            assert not (odd := metric_names.unknown("\n".join(names), known, records)), odd


def make_trouble(hosts, router, client):
    """Series of faults, which leave the traffic alone: a drop, messages that wait, and a route that is down."""
    nobody = hosts.nid("server").replace(".2@", ".99@")
    works(router, "access", "add", "--action", "deny", "--for", "forward", "--dest", nobody)
    works(router, "fault", "delay", "add", "-s", hosts.nid("client"), "-d", hosts.nid("server"), "-r", "20", "-l", "1")
    works(client, "route", "add", "--net", "tcp9", "--gateway", hosts.nid("client").replace(".1@", ".98@"))
    client.lnetctl("ping", "--timeout", "1", nobody)


def rules_work(server):
    def rules():
        return [rule for group in server.ask("rules")["groups"] for rule in group["rules"]]

    eventually("each rule was evaluated", lambda: rules() and all(rule["health"] != "unknown" for rule in rules()))
    assert not (bad := [(rule["name"], rule["lastError"]) for rule in rules() if rule["health"] != "ok"]), bad


def figures_fit(server, hosts):
    dashboard, _ = panels()
    variable = next(each for each in dashboard["templating"]["list"] if each["name"] == "instance")
    series, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"]).groups()
    assert len(server.ask(f"label/{label}/values", **{"match[]": series})) == 2
    by_title = {panel["title"]: panel for panel in panels()[1]}

    def samples(title, number=0):
        return server.query(expression_of(by_title[title]["targets"][number]))

    def verdicts():
        return [[value for _, value in samples(*which)] for which in (("Nodes",), ("NIs",), ("Routes",), ("Routes", 1))]

    # On a busy machine a scrape may be late, and its node silent until the next one.
    eventually("2 nodes, 3 NIs, a route up and one down", lambda: verdicts() == [[2], [3], [1], [1]])
    eventually("the router routes and the client does not", lambda: sorted(value for _, value in samples("Routing")) == [0, 1])
    eventually("both directions have traffic",
               lambda: {"tcp -> tcp1", "tcp1 -> tcp"} <= {labels["net"] for labels, _ in samples("Bytes by network and direction")})
    assert "dropped_access" in {labels["cause"] for labels, _ in samples("Lost messages of 5 minutes by cause")}
    assert "arrival_rule" in {labels["state"] for labels, _ in samples("Mean wait by state")}
    assert "PlnetRouteDown" in {labels["alertname"] for labels, _ in samples("Alerts by node")}
    assert all(0 <= value <= 1 for title in ("Least free router buffers", "Duty of the pollers") for _, value in samples(title))


def case_each_panel_names_a_command_that_looks_closer(site):
    dashboard, shown = panels()
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    found = {panel["title"]: re.search(r"Look closer: `lnetctl ([^`]+)`\.$", panel["description"]) for panel in shown}
    assert all(found.values()), found
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0")
        for words in {match[1] for match in found.values()}:
            works(router, *words.split())


def case_the_dashboard_keeps_the_model_of_grafana(site):
    dashboard, shown = panels()
    assert not (faults := grafana_model.faults(dashboard)), faults
    # The check finds what it is for.
    shown[0]["gridPos"]["w"] = grafana_model.COLUMNS
    shown[1]["fieldConfig"]["defaults"]["unit"] = "messages"
    shown[2]["id"] = shown[3]["id"]
    faults = grafana_model.faults(dashboard)
    assert all(any(word in fault for fault in faults) for word in ("overlap", "unit messages", "not unique")), faults
