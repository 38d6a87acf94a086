// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/report/drawing.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "apps/lnet-selftest/run/svg_plot.hpp"
#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::pin {

const char* const kPageStyle = R"(
:root { --ink: #1c2024; --pale: #5b6570; --line: #d5dae0; --paper: #fff; --band: #f4f6f8;
  --bad: #b3261e; --bar: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --pale: #9aa4af; --line: #3a4048;
  --paper: #15181c; --band: #1e2227; --bad: #ff8a80; --bar: #56b4e9; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1180px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; margin-bottom: 0; } h2 { margin-top: 1.8em; font-size: 1.2em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: .25em .7em; text-align: right; border-bottom: 1px solid var(--line); }
th { color: var(--pale); font-weight: 600; } th.left, td.left { text-align: left; }
td { white-space: nowrap; } td.left { white-space: normal; min-width: 9em; }
.plain td.left { overflow-wrap: anywhere; }
table.sorts th { cursor: pointer; } table.sorts th::after { content: ' ⇅'; opacity: .4; }
tbody tr:nth-child(even) { background: var(--band); }
.wide { overflow-x: auto; } .pale { color: var(--pale); } .bad { color: var(--bad); }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(440px, 1fr)); gap: 1em; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font-size: 12px; }
svg text.title { font-weight: 600; font-size: 14px; } svg .grid { stroke: var(--line); }
svg .bar { stroke: var(--bar); } svg .dot { fill: var(--bar); }
.placements { display: grid; gap: 1em;
  grid-template-columns: repeat(auto-fill, minmax(260px, 1fr)); }
.box { display: inline-flex; flex-wrap: wrap; gap: 3px; border: 1px solid var(--line);
  border-radius: 4px; padding: 3px; margin: 1px; font-size: 11px; align-items: flex-start; }
.box > b { width: 100%; font-weight: 500; color: var(--pale); }
.cpu { min-width: 1.6em; text-align: center; border-radius: 3px; padding: 0 2px;
  background: var(--band); color: var(--pale); }
.cpu.shard { color: #fff; font-weight: 700; } .cpu.other { outline: 1px dashed var(--pale); }
.mem { border-bottom: 3px solid; } td.heat { min-width: 2.4em; padding: .25em .4em; }
)";

const char* const kPageScript = R"(
for (const head of document.querySelectorAll('table.sorts th')) {
  head.addEventListener('click', () => {
    const table = head.closest('table'), body = table.tBodies[0];
    const column = [...head.parentNode.children].indexOf(head);
    const down = head.dataset.down !== '1';
    head.dataset.down = down ? '1' : '0';
    const key = row => row.children[column].dataset.v ?? row.children[column].textContent;
    const rows = [...body.rows].sort((a, b) => {
      const x = key(a), y = key(b), d = Number(x) - Number(y);
      return (Number.isNaN(d) ? x.localeCompare(y) : d) * (down ? -1 : 1);
    });
    body.append(...rows);
  });
}
)";

namespace {

using runtime::HardwareThread;

// Distinguishable with impaired colour vision.
constexpr std::array<const char*, 8> kCptColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#a06a00", "#2a7fae", "#7f5539", "#606060"};

const char* colour_of(std::size_t cpt) {
  return kCptColours[cpt % kCptColours.size()];
}

std::string cpu_box(const HardwareThread& thread, const Placement& placement,
                    const std::vector<unsigned>& others) {
  std::string classes = "cpu";
  std::string style;
  std::string title = fmt::format("CPU {}, core {}", thread.cpu, thread.core);
  std::size_t shards = 0;
  for (std::size_t i = 0; i < placement.cpts.size(); ++i) {
    const auto count = std::ranges::count(placement.cpts[i].cpus, thread.cpu);
    if (count == 0) continue;
    shards += static_cast<std::size_t>(count);
    style = fmt::format(" style='background:{}'", colour_of(i));
    title += fmt::format("; CPT {}: {} shards", i, count);
  }
  if (shards > 0) classes += " shard";
  if (std::ranges::find(others, thread.cpu) != others.end()) {
    classes += " other";
    title += "; the other nodes";
  }
  const bool interrupts =
      placement.interrupt_cpus &&
      std::ranges::find(*placement.interrupt_cpus, thread.cpu) != placement.interrupt_cpus->end();
  if (interrupts) title += "; interrupts";
  const bool neighbour =
      placement.busy_neighbour && placement.cpts.front().cpus.front() == thread.cpu;
  if (neighbour) title += "; a busy loop";
  return fmt::format("<span class='{}'{} title='{}'>{}{}{}{}</span>", classes, style, title,
                     thread.cpu, shards > 1 ? fmt::format("×{}", shards) : "",
                     interrupts ? "⚡" : "", neighbour ? "∞" : "");
}

std::string node_title(const Machine& machine, const Placement& placement, int node) {
  std::string text = node < 0 ? "no memory" : fmt::format("node {}", node);
  for (std::size_t i = 0; i < placement.cpts.size(); ++i) {
    if (static_cast<int>(placement.cpts[i].memory_node) == node)
      text += fmt::format(" <span class='mem' style='color:{}'>memory of CPT {}</span>",
                          colour_of(i), i);
  }
  for (const Nic& nic : machine.nics) {
    const bool here = nic.numa_node == node || (nic.numa_node < 0 && node <= 0);
    if (here) text += " " + run::html_escaped(nic.name);
  }
  return text;
}

struct Scale {
  double low = 0;
  double high = 1;
};

Scale scale_of(const std::vector<Bar>& bars) {
  Scale scale{0, 0};
  for (const Bar& bar : bars) {
    scale.low = std::min(scale.low, bar.interval.low);
    scale.high = std::max(scale.high, bar.interval.high);
  }
  if (scale.high <= scale.low) scale.high = scale.low + 1;
  return scale;
}

}  // namespace

std::string draw_machine(const Machine& machine, const Placement& placement,
                         const std::vector<unsigned>& others) {
  std::map<unsigned, std::map<int, std::map<int, std::map<unsigned, std::string>>>> packages;
  for (const HardwareThread& thread : machine.topology.threads) {
    packages[thread.package][thread.numa_node][thread.l3][thread.core] +=
        cpu_box(thread, placement, others);
  }
  std::string html = "<div class='machine'>";
  for (const auto& [package, nodes] : packages) {
    html += fmt::format("<div class='box'><b>package {}</b>", package);
    for (const auto& [node, caches] : nodes) {
      html += fmt::format("<div class='box'><b>{}</b>", node_title(machine, placement, node));
      for (const auto& [l3, cores] : caches) {
        html += l3 < 0 ? "<div class='box'>" : fmt::format("<div class='box'><b>L3 {}</b>", l3);
        for (const auto& [core, threads] : cores)
          html += fmt::format("<div class='box' title='core {}'>{}</div>", core, threads);
        html += "</div>";
      }
      html += "</div>";
    }
    html += "</div>";
  }
  return html + "</div>\n";
}

std::string draw_intervals(std::string_view title, std::string_view unit,
                           const std::vector<Bar>& bars) {
  if (bars.empty()) return {};
  constexpr double kWidth = 560;
  constexpr double kLeft = 150;
  constexpr double kRight = 90;
  constexpr double kRow = 20;
  constexpr double kTop = 30;
  const double height = kTop + kRow * static_cast<double>(bars.size()) + 16;
  const Scale scale = scale_of(bars);
  const auto x = [&scale](double value) {
    return kLeft + (value - scale.low) / (scale.high - scale.low) * (kWidth - kLeft - kRight);
  };
  std::string svg = fmt::format(
      "<svg viewBox='0 0 {0} {1}' role='img' aria-label='{2}'><text class='title' x='{3}' y='14' "
      "text-anchor='middle'>{2}, {4}</text><line class='grid' x1='{5:.1f}' x2='{5:.1f}' y1='{6}' "
      "y2='{7}'/>",
      kWidth, height, run::html_escaped(title), kWidth / 2, run::html_escaped(unit), x(0), kTop - 6,
      height - 12);
  double y = kTop + 6;
  for (const Bar& bar : bars) {
    svg += fmt::format(
        "<text x='{0}' y='{1}' text-anchor='end'>{2}</text><line class='bar' stroke-width='2' "
        "x1='{3:.1f}' x2='{4:.1f}' y1='{5}' y2='{5}'/><circle class='dot' cx='{6:.1f}' cy='{5}' "
        "r='4'><title>{7}</title></circle><text x='{8:.1f}' y='{1}'>{9}</text>",
        kLeft - 8, y + 4, run::html_escaped(bar.name), x(bar.interval.low), x(bar.interval.high), y,
        x(bar.interval.estimate), run::html_escaped(bar.text), x(bar.interval.high) + 8,
        bar.interval.estimate < 1000 ? fmt::format("{:.1f}", bar.interval.estimate)
                                     : run::short_number(bar.interval.estimate));
    y += kRow;
  }
  return svg + "</svg>\n";
}

std::string draw_heat(std::string_view title, const std::vector<std::string>& rows,
                      const std::vector<std::string>& columns,
                      const std::vector<std::vector<double>>& values) {
  double low = 0;
  double high = 0;
  bool any = false;
  for (const auto& row : values) {
    for (const double value : row) {
      if (value <= 0) continue;
      low = any ? std::min(low, value) : value;
      high = any ? std::max(high, value) : value;
      any = true;
    }
  }
  if (!any) return {};
  std::string html = fmt::format("<div class='wide'><table><thead><tr><th class='left'>{}",
                                 run::html_escaped(title));
  for (const std::string& column : columns)
    html += "<th>" + run::html_escaped(column);
  html += "</tr></thead><tbody>";
  for (std::size_t i = 0; i < rows.size() && i < values.size(); ++i) {
    html += "<tr><td class='left'>" + run::html_escaped(rows[i]) + "</td>";
    for (const double value : values[i]) {
      const double share = high > low ? (value - low) / (high - low) : 0;
      html += value <= 0 ? "<td class='heat'>–</td>"
                         : fmt::format(
                               "<td class='heat' style='background:rgb(213 94 0 / "
                               "{:.2f})'>{:.1f}</td>",
                               share * 0.6, value);
    }
    html += "</tr>";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace plnet::pin
