// SPDX-License-Identifier: BSD-3-Clause
// Shows the events of a node. Each is a document of lnetctl; all texts go in as text, never as markup.
"use strict";

const STALE_MS = 5000;  // without an event for so long, the page says that it is old
const RETRY_MS = 5000;
const HISTORY = 120;  // events in the curve
const $ = (id) => document.getElementById(id);

function make(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = String(text);
  if (className) made.className = className;
  return made;
}

function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (n >= 1000 && unit + 1 < units.length) { n /= 1000; ++unit; }
  return (unit === 0 ? Math.round(n) : n.toFixed(1)) + " " + units[unit];
}

function seconds(n) {
  if (n < 60) return n + " s";
  if (n < 3600) return Math.floor(n / 60) + " min";
  if (n < 86400) return Math.floor(n / 3600) + " h " + Math.floor(n % 3600 / 60) + " min";
  return Math.floor(n / 86400) + " d " + Math.floor(n % 86400 / 3600) + " h";
}

const count = (n) => Number(n || 0).toLocaleString("en");
const usec = (n) => n === undefined ? "–" : n >= 10000 ? (n / 1000).toFixed(1) + " ms" : count(n) + " µs";
const plural = (n, noun) => n + " " + noun + (n === 1 ? "" : "s");

// A state has a sign besides its colour.
function state(up, words) {
  return make("span", (up ? "▲ " : "▼ ") + (words || (up ? "up" : "down")), up ? "up" : "down");
}

function share(part, whole, words) {
  const cell = make("span");
  const bar = make("progress");
  bar.max = whole || 1;
  bar.value = Math.max(0, Math.min(part, whole));
  bar.setAttribute("aria-label", words);
  cell.append(bar, " " + words);
  return cell;
}

// A table that its headings sort. Columns: {name, of: row → value, show: row → text or node, number, className}.
class Table {
  constructor(id, empty, columns) {
    this.table = $(id);
    this.empty = empty;
    this.columns = columns;
    this.sorted = null;
    this.up = true;
    this.rows = [];
    this.caption = this.table.createCaption();
    const line = this.table.createTHead().insertRow();
    this.heads = columns.map((column, index) => {
      const head = make("th", null, column.number ? "number" : "");
      head.scope = "col";
      const button = make("button", column.name);
      button.type = "button";
      button.addEventListener("click", () => this.sort(index));
      head.append(button);
      line.append(head);
      return head;
    });
    this.body = this.table.createTBody();
  }

  sort(index) {
    this.up = this.sorted === index ? !this.up : !this.columns[index].number;
    this.sorted = index;
    this.heads.forEach((head, i) => {
      if (i === index) head.setAttribute("aria-sort", this.up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
      head.firstChild.textContent = this.columns[i].name + (i === index ? (this.up ? " ↑" : " ↓") : "");
    });
    this.draw();
  }

  show(rows, caption) {
    this.rows = rows || [];
    const text = this.rows.length ? caption || "" : this.empty;
    if (this.caption.textContent !== text) this.caption.textContent = text;
    this.draw();
  }

  draw() {
    let rows = this.rows;
    if (this.sorted !== null) {
      const of = this.columns[this.sorted].of;
      const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
      rows = [...rows].sort((a, b) => (this.up ? 1 : -1) * compare(of(a), of(b)));
    }
    this.table.tHead.hidden = rows.length === 0;
    this.body.replaceChildren(...rows.map((row) => {
      const line = make("tr");
      for (const column of this.columns) {
        const cell = make("td", null, (column.number ? "number " : "") + (column.className || ""));
        cell.dataset.name = column.name;
        const value = column.show ? column.show(row) : column.of(row);
        cell.append(value === undefined || value === null ? "" : value instanceof Node ? value : String(value));
        line.append(cell);
      }
      return line;
    }));
  }
}

const more = (event, key, noun) => event.more && event.more[key] ? " " + plural(event.more[key], "more " + noun) + " not shown." : "";

const load = (name, key) => [
  { name, of: (r) => r[key], className: "nid" },
  { name: "Bytes/s", of: (r) => r["bytes per sec"], show: (r) => bytes(r["bytes per sec"]), number: true },
  { name: "Messages/s", of: (r) => r["messages per sec"], show: (r) => count(r["messages per sec"]), number: true },
];

let tables;
function build() {
  tables = {
    pairs: new Table("pairs", "No messages lately.", load("From and to", "net")),
    talkers: new Table("talkers", "No messages lately.", load("Sender", "nid")),
    hops: new Table("hops", "No messages sent lately.", [
      ...load("Next hop", "hop"),
      { name: "p50", of: (r) => r["p50 usec"] || 0, show: (r) => usec(r["p50 usec"]), number: true },
      { name: "p99", of: (r) => r["p99 usec"] || 0, show: (r) => usec(r["p99 usec"]), number: true },
    ]),
    nis: new Table("nis", "No networks besides lo.", [
      { name: "NI", of: (r) => r.nid, show: (r) => r.nid + (r.interface ? " (" + r.interface + ")" : ""), className: "nid" },
      { name: "State", className: "words", of: (r) => r.up ? 1 : 0, show: (r) => r.up ? state(true) : state(false, "down: " + (r.cause || "cause not known")) },
      { name: "Health", of: (r) => r.health, number: true },
      { name: "Free credits", of: (r) => r.credits.now, show: (r) => r.credits.now + " of " + r.credits.max + " (least " + r.credits.min + ")", number: true },
      { name: "Sent", of: (r) => r.sent, show: (r) => count(r.sent), number: true },
      { name: "Received", of: (r) => r.received, show: (r) => count(r.received), number: true },
      { name: "Dropped", of: (r) => r.dropped, show: (r) => count(r.dropped), number: true },
    ]),
    routes: new Table("routes", "No routes: this node reaches its own networks only.", [
      { name: "Network", of: (r) => r.net, className: "nid" },
      { name: "Gateway", of: (r) => r.gateway, className: "nid" },
      { name: "State", className: "words", of: (r) => r.state, show: (r) => state(r.state === "up", r.state === "up" ? "up" : "down: " + (r["state cause"] || "cause not known")) },
      { name: "Last change", className: "words", of: (r) => lastChange(r) ? lastChange(r)["seconds ago"] : Infinity,
        show: (r) => lastChange(r) ? seconds(lastChange(r)["seconds ago"]) + " ago: " + lastChange(r).state + (lastChange(r).cause ? ", " + lastChange(r).cause : "") : "none" },
    ]),
    buffers: new Table("buffers", "This node does not route.", [
      { name: "CPT", of: (r) => r.cpt, number: true },
      { name: "Class", of: (r) => r.name },
      { name: "Free", of: (r) => r.credits / (r.nbuffers || 1), show: (r) => share(Math.max(r.credits, 0), r.nbuffers, Math.max(r.credits, 0) + " of " + r.nbuffers), className: "state" },
      { name: "Least", of: (r) => r.mincredits, show: (r) => r.mincredits <= 0 ? make("span", "0", "warn") : r.mincredits, number: true },
      { name: "Waited", of: (r) => r.waited, show: (r) => r.waited > 0 ? make("span", count(r.waited), "warn") : "0", number: true },
    ]),
    pollers: new Table("pollers", "No pollers.", [
      { name: "Shard", of: (r) => r.shard, number: true },
      { name: "CPU", of: (r) => r.cpu, number: true },
      { name: "At work", of: (r) => r["duty cycle percent"], show: (r) => share(r["duty cycle percent"], 100, r["duty cycle percent"].toFixed(1) + " %"), className: "state" },
      { name: "Longest turn", of: (r) => r["longest turn nsec"], show: (r) => usec(Math.round(r["longest turn nsec"] / 1000)), number: true },
      { name: "Turns too long", of: (r) => r["turns over limit"], show: (r) => count(r["turns over limit"]), number: true },
    ]),
    drops: new Table("drops", "None.", [
      { name: "Messages", of: (r) => r["in the last minute"], show: (r) => count(r["in the last minute"]), number: true },
      { name: "In all", of: (r) => r["since the start"], show: (r) => count(r["since the start"]), number: true },
      { name: "Meaning", className: "words", of: (r) => r.meaning },
      { name: "Counter", of: (r) => r.cause, show: (r) => make("code", r.cause) },
    ]),
    lately: new Table("lately", "Nothing since the start.", [
      { name: "Time", of: (r) => r.time, show: (r) => clock(r.time), className: "state" },
      { name: "Event", className: "state", of: (r) => r.event, show: (r) => make("span", (r.level === "info" ? "" : r.level + ": ") + r.event.replaceAll("_", " "), r.level === "info" ? "" : "warn") },
      { name: "Details", of: (r) => r.text, show: (r) => make("code", r.text) },
    ]),
  };
}

const lastChange = (route) => route.changes && route.changes.last && route.changes.last[0];

// The time by the watcher's clock and zone; days ago with the date.
function clock(text) {
  const then = new Date(text);
  if (isNaN(then)) return text;
  const time = then.toLocaleTimeString("en-GB");
  return then.toDateString() === new Date().toDateString() ? time : then.toLocaleDateString("en-CA") + " " + time;
}

// Warnings that are open stay open. The key is the sentence without its numbers, which grow.
const opened = new Set();
const keyOf = (warning) => warning.severity + warning.what.replace(/\d+/g, "#");
let drawnWarnings = "";
function showWarnings(status, event) {
  const all = status.warnings || [];
  const text = JSON.stringify(all);
  if (text === drawnWarnings) return;  // keeps the focus and the selection
  drawnWarnings = text;
  const focused = document.activeElement && document.activeElement.dataset.key;
  $("warning-list").replaceChildren(...all.map((warning) => {
    const box = make("details");
    const key = keyOf(warning);
    box.open = opened.has(key);
    box.addEventListener("toggle", () => box.open ? opened.add(key) : opened.delete(key));
    const head = make("summary");
    head.dataset.key = key;
    head.append(make("b", warning.severity, warning.severity === "note" ? "soft" : warning.severity === "error" ? "down" : "warn"), " " + warning.what);
    box.append(head);
    if (warning.why) box.append(make("p", warning.why));
    if (warning.fix) {
      const fix = make("p", "→ ");
      fix.append(make("code", warning.fix));
      box.append(fix);
    }
    return box;
  }));
  if (!all.length) $("warning-list").append(make("p", "None."));
  if (more(event, "warnings", "warning")) $("warning-list").append(make("p", more(event, "warnings", "warning")));
  const again = focused && [...document.querySelectorAll("summary")].find((head) => head.dataset.key === focused);
  if (again) again.focus();
}

const history = [];
function showNow(status) {
  const rates = status.rates || {};
  const peers = status.peers || {};
  const routing = status.routing || {};
  const routes = status.routes || {};
  const figures = [
    ["Routing", routing.state || "not known"],
    ["Throughput", bytes(rates.bytes || 0) + "/s"],
    ["Forwarded", count(rates.forwarded) + "/s"],
    ["Sent", count(rates.sent) + "/s"],
    ["Received", count(rates.received) + "/s"],
    ["Dropped", count(rates.dropped) + "/s"],
    ["Peers", count(peers.peers)],
    ["Peer NIs", count(peers.up) + " up, " + count(peers.down) + " down"],
    ["Routes", (routes.up || 0) + " up, " + (routes.down || 0) + " down"],
  ];
  if (status.drain) figures.push(["Drain", status.drain.phase + ", " + status.drain["seconds left"] + " s left"]);
  $("figures").replaceChildren(...figures.map(([name, value]) => {
    const pair = make("div");
    pair.append(make("dt", name), make("dd", value));
    return pair;
  }));
  history.push(rates.bytes || 0);
  if (history.length > HISTORY) history.shift();
  const top = Math.max(...history, 1);
  const step = 300 / (HISTORY - 1);
  const points = history.map((value, i) => ((HISTORY - history.length + i) * step).toFixed(1) + "," + (58 - 56 * value / top).toFixed(1));
  document.querySelector("#curve polyline").setAttribute("points", points.join(" "));
  $("curve-text").textContent = "Throughput of the last two minutes, " + bytes(Math.max(...history)) + "/s at most.";
}

function buffersOf(routing) {
  const rows = [];
  for (const row of routing || []) {
    for (const [name, pools] of Object.entries(row)) {
      const cpt = /^cpt\[(\d+)\]$/.exec(name);
      if (!cpt) continue;
      for (const [pool, values] of Object.entries(pools)) rows.push({ cpt: Number(cpt[1]), name: pool, ...values });
    }
  }
  return rows;
}

function show(event) {
  const status = event.status;
  document.title = status.instance + ": " + status.verdict;
  $("verdict").textContent = status.verdict;
  $("node").textContent = status.instance + " on " + location.host + ": plnet " + status.version + ", up " + seconds(status["uptime sec"]) + ", idle policy " + status.idle;
  document.querySelector("header").classList.toggle("bad", !status.healthy);
  showWarnings(status, event);
  showNow(status);
  const heaviest = (top) => top ? top.load || [] : [];
  const period = (top) => top ? "Of the last " + top["of the last sec"] + " s, estimated from samples." : "";
  const of = event.load || {};
  tables.pairs.show(heaviest(of.pairs), period(of.pairs));
  tables.talkers.show(heaviest(of.talkers), period(of.talkers) + (of["more talkers"] ? " " + plural(of["more talkers"], "lighter sender") + " not shown." : ""));
  tables.hops.show(heaviest(of.hops), "Time from the handing to the driver until the message has left. " + period(of.hops));
  tables.nis.show(event.nis, "NIs of this node, with the messages since their start." + more(event, "nis", "NI"));
  tables.routes.show(event.routes, "Routes of this node, those that are down first." + more(event, "routes", "route"));
  const routed = status.routing && status.routing.state !== "disabled";
  tables.buffers.show(routed ? buffersOf(event.routing) : [], "Least: the fewest that were free. Waited: messages that found none free." + more(event, "cpts", "CPT"));
  tables.pollers.show(status.shards, "Share of their time of the last seconds." + more(event, "shards", "shard"));
  tables.drops.show(status.drops, "");
  tables.lately.show(event.lately, "The last lines of the log, newest first.");
}

let source = null;
let paused = false;
let lastAt = Date.now();
let lost = "";

function listen() {
  source = new EventSource("/events");
  source.onmessage = (message) => {
    lastAt = Date.now();
    lost = "";
    try {
      show(JSON.parse(message.data));
    } catch (error) {
      lost = "The page does not understand this node: " + error.message + ". Load it again.";
    }
    sayNews();
  };
  source.onerror = () => {
    // After a refusal the browser does not try again by itself.
    if (source.readyState !== EventSource.CLOSED) return;
    lost = "The node refused to send news, perhaps since others watch it already; the page asks again.";
    sayNews();
    setTimeout(() => { if (!paused) listen(); }, RETRY_MS);
  };
}

function sayNews() {
  const age = Date.now() - lastAt;
  const old = age > STALE_MS;
  let text = lost;
  if (paused) text = "Paused. The page shows the state of " + new Date(lastAt).toLocaleTimeString("en-GB") + ".";
  else if (!text && old) text = "No news for " + seconds(Math.floor(age / 1000)) + ": the node has ended, or cannot be reached.";
  if ($("news").textContent !== text) $("news").textContent = text;
  document.querySelector("header").classList.toggle("old", text !== "");
}

function setPaused(wanted) {
  paused = wanted;
  $("pause").textContent = paused ? "Go on" : "Pause";
  $("pause").setAttribute("aria-pressed", String(paused));
  if (paused) source.close();
  else listen();
  sayNews();
}

build();
$("pause").addEventListener("click", () => setPaused(!paused));
setInterval(sayNews, 1000);
listen();
