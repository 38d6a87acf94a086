# SPDX-License-Identifier: BSD-3-Clause
"""Rules of Grafana's dashboard model that plnet.dashboard.json must keep, since no test loads it in Grafana. The names are those of Grafana's public sources:
kinds/dashboard/dashboard_kind.cue (keys, grid, variables), packages/grafana-data/src/valueFormats/categories.ts (units) and
packages/grafana-data/src/transformations (reducers, matchers, transformers)."""
import itertools
import re

COLUMNS = 24
PANELS = {"row", "stat", "table", "timeseries"}  # visualisations that Grafana comes with
UNITS = {"none", "short", "percent", "percentunit", "string", "bytes", "decbytes", "bps", "Bps", "pps", "cps", "ops", "s", "ms", "µs", "ns", "hertz"}
COLORS = {"thresholds", "palette-classic", "palette-saturated", "continuous-GrYlRd", "fixed"}
REDUCERS = {"last", "lastNotNull", "min", "max", "mean", "sum", "count"}
TRANSFORMERS = {"organize", "merge", "reduce", "sortBy", "filterByName"}
DEFAULTS = {"color", "custom", "decimals", "mappings", "max", "min", "thresholds", "unit"}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def faults(dashboard):
    """What Grafana would refuse or ignore, in words."""
    found = list(of_dashboard(dashboard))
    for panel in dashboard["panels"]:
        found += [f"panel {panel.get('id')} '{panel.get('title')}': {fault}" for fault in of_panel(panel)]
    return found + list(of_grid(dashboard["panels"]))


def of_dashboard(dashboard):
    if not 8 <= len(dashboard["uid"]) <= 40 or not re.fullmatch(r"[\w-]+", dashboard["uid"]):
        yield f"uid {dashboard['uid']}: expected 8 to 40 letters"
    if "id" in dashboard:
        yield "id: it belongs to one installation of Grafana"
    if not isinstance(dashboard["schemaVersion"], int) or dashboard["graphTooltip"] not in (0, 1, 2):
        yield "schemaVersion or graphTooltip"
    if not re.fullmatch(r"\d+[smhd]", dashboard["refresh"]) or not {"from", "to"} <= dashboard["time"].keys():
        yield "refresh or time"
    variables = {each["name"]: each for each in dashboard["templating"]["list"]}
    if variables["datasource"]["type"] != "datasource" or variables["datasource"]["query"] != "prometheus":
        yield "the variable datasource chooses no Prometheus"
    for name, each in variables.items():
        if each["hide"] not in (0, 1, 2) or each["type"] not in ("query", "datasource") or (each["type"] == "query" and each["datasource"] != SOURCE):
            yield f"variable {name}"
    ids = [panel["id"] for panel in dashboard["panels"]]
    if len(set(ids)) != len(ids) or not all(isinstance(number, int) and number > 0 for number in ids):
        yield "ids of panels are not unique"


def of_panel(panel):
    if panel["type"] not in PANELS:
        yield f"type {panel['type']}"
    if panel["type"] == "row":
        if panel["panels"] or panel["collapsed"]:
            yield "a row that is open has no panels of its own"
        return
    if panel["datasource"] != SOURCE:
        yield "its data source is not the variable"
    references = [target["refId"] for target in panel["targets"]]
    if references != [chr(ord("A") + number) for number in range(len(references))]:
        yield f"refIds {references}"
    if any(target.get("instant", False) == target.get("range", True) for target in panel["targets"]):
        yield "a query is either instant or of a range"
    yield from of_fields(panel["fieldConfig"], {target["legendFormat"] for target in panel["targets"]})
    legend = panel["options"].get("legend", {}).get("calcs", []) + panel["options"].get("reduceOptions", {}).get("calcs", [])
    if not set(legend) <= REDUCERS:
        yield f"reducers {legend}"
    if not {each["id"] for each in panel.get("transformations", [])} <= TRANSFORMERS:
        yield "transformations"


def of_fields(config, legends):
    defaults = config["defaults"]
    if unknown := defaults.keys() - DEFAULTS:
        yield f"defaults {unknown}"
    if "unit" in defaults and defaults["unit"] not in UNITS:
        yield f"unit {defaults['unit']}"
    if defaults["color"]["mode"] not in COLORS:
        yield f"colour {defaults['color']}"
    thresholds = [defaults["thresholds"]] if "thresholds" in defaults else []
    for override in config["overrides"]:
        if override["matcher"]["id"] != "byName" or override["matcher"]["options"] not in legends | {"down", "up", "unknown"}:
            yield f"an override of {override['matcher']}"
        thresholds += [each["value"] for each in override["properties"] if each["id"] == "thresholds"]
    for each in thresholds:
        values = [step["value"] for step in each["steps"]]
        if each["mode"] not in ("absolute", "percentage") or values[0] is not None or values[1:] != sorted(values[1:]):
            yield f"thresholds {values}"


def of_grid(panels):
    for panel in panels:
        place = panel["gridPos"]
        if not (0 <= place["x"] < COLUMNS and 0 < place["w"] <= COLUMNS - place["x"] and place["y"] >= 0 and place["h"] > 0):
            yield f"panel {panel['id']} is outside of the grid: {place}"
    for one, other in itertools.combinations(panels, 2):
        a, b = one["gridPos"], other["gridPos"]
        if a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]:
            yield f"panels {one['id']} and {other['id']} overlap"
