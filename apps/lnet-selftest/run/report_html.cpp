// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "apps/lnet-selftest/run/report.hpp"
#include "apps/lnet-selftest/run/svg_plot.hpp"
#include "lib/base/counted.hpp"

namespace plnet::run {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ink: #1b1f24; --pale: #667; --line: #d5d9e0; --paper: #fff;
  --band: #f4f6f9; --bad: #b00020; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --pale: #9aa3ad; --line: #3a4048;
  --paper: #15181c; --band: #1e2227; --bad: #ff8a80; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1180px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; margin-bottom: 0; } h2 { margin-top: 1.8em; font-size: 1.2em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
td.left { overflow-wrap: anywhere; } td.left:first-child { overflow-wrap: normal; }
th, td { padding: .25em .7em; text-align: right; border-bottom: 1px solid var(--line); }
th { color: var(--pale); font-weight: 600; } th.left, td.left { text-align: left; }
tbody tr:nth-child(even) { background: var(--band); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(480px, 1fr)); gap: 1em; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font-size: 12px; }
svg text.title { font-weight: 600; font-size: 14px; } svg .grid { stroke: var(--line); }
.bad { color: var(--bad); font-weight: 600; } .pale { color: var(--pale); }
.wide { overflow-x: auto; } details { margin: .5em 0; }
td.heat { min-width: 2.4em; padding: .25em .4em; }
)";

std::string cell(std::string_view text, bool left = false) {
  return fmt::format("<td{}>{}</td>", left ? " class='left'" : "", html_escaped(text));
}

std::string spread_cells(const Spread& spread, int digits) {
  return cell(fmt::format("{:.{}f}", spread.median, digits)) +
         cell(fmt::format("{:.{}f} – {:.{}f}", spread.low, digits, spread.high, digits)) +
         cell(fmt::format("{:.1f}", spread.percent()));
}

std::string points_table(const std::vector<PointFigures>& points) {
  std::string html =
      "<div class='wide'><table><thead><tr><th "
      "class='left'>test<th>size<th>concurrency<th>asked/s<th>MiB/s"
      "<th>least – most<th>spread %<th>RPC/s<th>least – most<th>spread %<th>p50 µs<th>p99 µs"
      "<th>% of bare TCP"
      "<th>errors</tr></thead><tbody>";
  for (const PointFigures& point : points) {
    html += "<tr>" + cell(text_of(point.point.operation), true) +
            cell(point.point.size > 0 ? text_of_size(point.point.size) : "–") +
            cell(std::to_string(point.point.concurrency)) +
            cell(point.point.rate > 0 ? fmt::format("{:.0f}", point.point.rate) : "–") +
            spread_cells(point.throughput_mibps, 2) + spread_cells(point.rpc_rate, 0);
    for (const auto& latency : {point.p50_us, point.p99_us})
      html += cell(latency ? fmt::format("{:.0f}", latency->median) : "–");
    html +=
        cell(point.percent_of_floor ? fmt::format("{:.1f}", point.percent_of_floor->median) : "–");
    html += fmt::format("<td{}>{}</td></tr>", point.errors > 0 ? " class='bad'" : "", point.errors);
  }
  return html + "</tbody></table></div>\n";
}

using Figure = std::function<std::optional<Spread>(const PointFigures&)>;

// Over concurrency, a line for each size; for an open loop over its rate.
std::string plot_of(const std::vector<PointFigures>& points, Operation operation,
                    std::string_view what, std::string_view unit, const Figure& figure) {
  std::vector<PlotSeries> series;
  const char* x_name = "";
  for (const PointFigures& point : points) {
    const auto spread = figure(point);
    if (point.point.operation != operation || !spread) continue;
    std::string name = point.point.size > 0 ? text_of_size(point.point.size) : "ping";
    const bool open = point.point.rate > 0;
    if (open) name += fmt::format(" ×{}", point.point.concurrency);
    x_name = open ? "requests a second asked for" : "concurrency";
    auto found = std::ranges::find(series, name, &PlotSeries::name);
    if (found == series.end()) {
      series.push_back({.name = name});
      found = series.end() - 1;
    }
    found->points.push_back({open ? point.point.rate : static_cast<double>(point.point.concurrency),
                             spread->median, spread->low, spread->high});
  }
  for (PlotSeries& each : series)
    std::ranges::sort(each.points, {}, &PlotPoint::x);
  return svg_plot(fmt::format("{}: {}", text_of(operation), what), x_name, unit, series);
}

std::string plots(const std::vector<PointFigures>& points) {
  std::string html = "<div class='plots'>";
  for (const auto& [name, operation] : kOperations) {
    if (operation != Operation::kPing)
      html += plot_of(points, operation, "throughput", "MiB/s",
                      [](const PointFigures& point) { return point.throughput_mibps; });
    html += plot_of(points, operation, "rate", "RPC/s",
                    [](const PointFigures& point) { return point.rpc_rate; });
    html += plot_of(points, operation, "latency, 99 %", "µs",
                    [](const PointFigures& point) { return point.p99_us; });
  }
  return html + "</div>\n";
}

std::string node_rows(const GroupFigures& group, std::string_view name) {
  std::string html;
  const auto row = [&html](const NodeFigures& node, std::string_view label) {
    html += "<tr>" + cell(label, true);
    for (const double value : {node.rpc_rate, node.receive_rate, node.send_rate})
      html += cell(fmt::format("{:.0f}", value));
    for (const double value : {node.receive_mibps, node.send_mibps})
      html += cell(fmt::format("{:.2f}", value));
    html += "</tr>";
  };
  row(group.sum(), fmt::format("{} ({})", name, group.nodes.size()));
  for (const NodeFigures& node : group.nodes)
    row(node, "· " + node.node);
  return html;
}

std::string latency_rows(const Measurement& last) {
  if (last.latency_by_node.empty()) return {};
  std::string html =
      "<table><thead><tr><th class='left'>latency, µs<th>RPCs<th>p50<th>p90<th>p99<th>p99.9<th>max"
      "</tr></thead><tbody>";
  for (const auto& [node, figures] : last.latency_by_node) {
    html += "<tr>" + cell(node, true) + cell(std::to_string(figures.count));
    for (const double value :
         {figures.p50_us, figures.p90_us, figures.p99_us, figures.p999_us, figures.max_us})
      html += cell(fmt::format("{:.0f}", value));
    html += "</tr>";
  }
  return html + "</tbody></table>";
}

std::string pace_line(const Measurement& last) {
  if (last.point.rate <= 0) return {};
  return fmt::format(
      "<p>{} {} due and began, {} of them late because all were busy; {} never "
      "began</p>",
      counted(last.pace.begun, "request"), agreeing(last.pace.begun, "was", "were"),
      last.pace.waited, last.pace.dropped);
}

std::string nodes_of(const PointFigures& point) {
  const Measurement& last = *point.repeats.back();
  std::string html = fmt::format(
      "<details><summary>{}</summary><table><thead><tr><th class='left'>last repeat<th>RPC/s<th>"
      "messages in/s<th>messages out/s<th>MiB/s in<th>MiB/s out</tr></thead><tbody>",
      text_of(point.point));
  html += node_rows(last.from, "clients") + node_rows(last.to, "servers") + "</tbody></table>";
  html += latency_rows(last) + pace_line(last);
  for (const auto& [node, count] : last.errors.by_node)
    html += fmt::format("<p class='bad'>{}: {}</p>", html_escaped(node), counted(count, "error"));
  return html + "</details>\n";
}

std::string poller_table(const std::vector<PointFigures>& points) {
  std::string rows;
  for (const PointFigures& point : points) {
    for (const PollerUse& use : point.repeats.back()->pollers) {
      std::string shards;
      for (const ShardUse& shard : use.shards)
        shards += fmt::format("{}CPU {}: {:.0f}", shards.empty() ? "" : ", ", shard.cpu,
                              shard.duty_percent);
      const bool routes = use.role == Role::kRouter;
      rows += "<tr>" + cell(text_of(point.point), true) + cell(use.node, true) +
              cell(text_of(use.role), true) + cell(fmt::format("{:.0f}", use.duty_percent)) +
              cell(shards, true) +
              cell(use.cycles_each ? fmt::format("{:.0f}", *use.cycles_each) : "–") +
              cell(routes ? fmt::format("{:.0f}", use.forward_rate) : "–") + "</tr>";
    }
  }
  if (rows.empty())
    return "<p class='pale'>Unknown: known for nodes of this host, and for nodes and routers whose "
           "control sockets are in the plan.</p>\n";
  return "<div class='wide'><table><thead><tr><th class='left'>point<th class='left'>node"
         "<th class='left'>role<th>duty %<th class='left'>by poller, %"
         "<th>cycles per RPC, of a router per message<th>forwarded/s</tr></thead><tbody>" +
         rows + "</tbody></table></div>\n";
}

std::string cpu_table(const std::vector<PointFigures>& points) {
  std::string html = "<div class='wide'><table><thead><tr><th class='left'>busy % of CPU";
  if (points.empty()) return {};
  for (const CpuUse& cpu : points.front().repeats.back()->cpus)
    html += fmt::format("<th>{}", cpu.cpu);
  html += "<th>steal %</tr></thead><tbody>";
  for (const PointFigures& point : points) {
    html += "<tr>" + cell(text_of(point.point), true);
    double steal = 0;
    const auto& cpus = point.repeats.back()->cpus;
    for (const CpuUse& cpu : cpus) {
      steal += cpu.steal_percent / static_cast<double>(cpus.size());
      html += fmt::format(
          "<td class='heat' style='background:rgb(213 94 0 / {:.2f})' title='user {:.0f} %, steal "
          "{:.0f} %'>{:.0f}</td>",
          cpu.busy_percent / 100 * 0.6, cpu.user_percent, cpu.steal_percent, cpu.busy_percent);
    }
    html += cell(fmt::format("{:.1f}", steal)) + "</tr>";
  }
  return html + "</tbody></table></div>\n";
}

// Any JSON as a table of names and values.
std::string json_table(const Json& json) {
  if (json.is_string()) return html_escaped(json.get<std::string>());
  if (!json.is_structured()) return html_escaped(dump_of(json));
  if (json.is_array()) {
    std::string html;
    for (const Json& each : json)
      html += (html.empty() ? "" : "<br>") +
              html_escaped(each.is_string() ? each.get<std::string>() : dump_of(each));
    return html.empty() ? "–" : html;
  }
  std::string html = "<table><tbody>";
  for (const auto& [name, value] : json.items()) {
    // The colon also parts name and value where a browser copies the table as text.
    html += fmt::format("<tr><td class='left pale'>{}: </td><td class='left'>{}</td></tr>\n",
                        html_escaped(label_of(name)), json_table(value));
  }
  return html + "</tbody></table>";
}

}  // namespace

std::string html_of(const Report& report) {
  const auto points = figures_of(report.measurements);
  const Json json = json_of(report);
  const bool well = report.failure.empty() && report.complete && report.left_behind.empty();
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width'><title>{0}</title><style>{1}</style></head><body>\n"
      "<h1>LNet selftest: {0}</h1><p class='{2}'>{3}</p>\n",
      html_escaped(report.plan.name), kStyle, well ? "pale" : "bad",
      html_escaped(outcome_of(report)));
  if (!report.simulated.empty())
    html += fmt::format("<p class='bad'>Simulated: {}. All times are simulated.</p>\n",
                        html_escaped(report.simulated));
  for (const std::string& each : report.missed)
    html += fmt::format("<p class='bad'>threshold missed: {}</p>\n", html_escaped(each));
  html += plots(points);
  html += fmt::format("<h2>Points</h2><p class='pale'>Medians of {}.</p>",
                      counted(report.plan.repeats, "repeat"));
  html += points_table(points);
  if (!report.floor_note.empty())
    html += fmt::format("<p class='pale'>Bare TCP: {}</p>\n", html_escaped(report.floor_note));
  if (const auto& goal = report.plan.highest_rate) {
    for (const HighestRate& each : report.highest_rates)
      html += fmt::format("<p>Highest rate: {}</p>\n",
                          html_escaped(text_of(each, *goal, report.plan.from.size())));
  }
  html += fmt::format("<p class='pale'>Latency: {}</p>\n", html_escaped(report.latency_note));
  html += "<h2>Groups and nodes</h2>\n";
  for (const PointFigures& point : points)
    html += nodes_of(point);
  html += "<h2>Pollers</h2>\n" + poller_table(points);
  html +=
      "<details><summary>CPUs of this machine as its kernel counts them: a poller that spins "
      "counts as busy</summary>" +
      cpu_table(points) + "</details>\n";
  html += "<h2>Plan</h2>\n" + json_table(json["plan"]);
  html += report.simulated.empty() ? "<h2>This machine</h2>\n" : "<h2>The simulation</h2>\n";
  html += json_table(report.environment);
  return html + "</body></html>\n";
}

}  // namespace plnet::run
