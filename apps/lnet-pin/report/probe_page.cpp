// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/report/probe_page.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "apps/lnet-pin/report/drawing.hpp"
#include "apps/lnet-selftest/run/report.hpp"
#include "apps/lnet-selftest/run/svg_plot.hpp"
#include "lib/base/joined.hpp"
#include "lib/runtime/files/text_file.hpp"

namespace plnet::pin {
namespace {

std::vector<std::string> cpu_names(const Probe& probe) {
  std::vector<std::string> names;
  names.reserve(probe.cpus.size());
  for (const unsigned cpu : probe.cpus)
    names.push_back(fmt::format("CPU {}", cpu));
  return names;
}

// A heat map of CPUs and nodes, with one kind of pages.
std::string memory_map(const Probe& probe, Pages pages, bool latency) {
  std::vector<std::string> nodes;
  nodes.reserve(probe.machine.topology.nodes.size());
  for (const runtime::NumaNode& node : probe.machine.topology.nodes)
    nodes.push_back(fmt::format("node {}", node.node));
  std::vector<std::vector<double>> values(probe.cpus.size(), std::vector<double>(nodes.size(), 0));
  for (const MemoryRow& row : probe.memory) {
    if (row.pages != pages) continue;
    for (std::size_t i = 0; i < probe.cpus.size(); ++i) {
      for (std::size_t j = 0; j < nodes.size(); ++j) {
        if (probe.cpus[i] == row.cpu && probe.machine.topology.nodes[j].node == row.node)
          values[i][j] = latency ? row.speed.latency_ns : row.speed.read_mibps;
      }
    }
  }
  return draw_heat(fmt::format("memory, {} pages: {}", pages == Pages::kHuge ? "huge" : "small",
                               latency ? "latency in ns" : "read MiB/s"),
                   cpu_names(probe), nodes, values);
}

std::string cpu_table(const Probe& probe) {
  std::string html =
      "<div class='wide'><table class='sorts'><thead><tr><th>CPU<th>GHz<th>GHz, all busy<th>system "
      "call ns<th>wake-up ns<th>lost %<th>longest µs<th>steal %<th class='left'>governor<th "
      "class='left'>others</tr></thead><tbody>";
  for (const CpuRow& row : probe.rows) {
    std::string others;
    for (const CpuUsers& users : probe.users) {
      if (users.cpu != row.cpu) continue;
      others = fmt::format("{}{}", users.isolated ? "isolated; " : "", joined(users.names(), ", "));
    }
    html += fmt::format(
        "<tr><td>{}<td>{:.2f}<td>{:.2f}<td>{:.0f}<td>{:.0f}<td>{:.2f}<td>{:.0f}<td>{:.1f}<td "
        "class='left'>{}<td class='left'>{}</tr>",
        row.cpu, row.ghz, row.busy_ghz, row.system_call_ns, row.wake_up_ns, row.noise.lost_percent,
        row.noise.longest_us, row.steal_percent, run::html_escaped(row.governor),
        run::html_escaped(others));
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string html_of(const Probe& probe) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width'><title>lnet-pin probe: {0}</title><style>{1}</style></head>"
      "<body>\n<h1>lnet-pin probe: {0}</h1><p class='pale'>turbo: {2}</p>\n",
      run::html_escaped(probe.machine.topology.name), kPageStyle, probe.turbo);
  for (const std::string& each : probe.disturbances)
    html += fmt::format("<p class='bad'>{}</p>\n", run::html_escaped(each));
  html += draw_machine(probe.machine, Placement{}, {});
  html += "<h2>CPUs</h2>\n" + cpu_table(probe) + "<h2>Between cores</h2>\n";
  html += draw_heat("cache line, ns", cpu_names(probe), cpu_names(probe), probe.line_ns);
  html += "<h2>Memory</h2>\n";
  for (const Pages pages : {Pages::kSmall, Pages::kHuge})
    html += memory_map(probe, pages, true) + memory_map(probe, pages, false);
  return html + fmt::format("<script>{}</script></body></html>\n", kPageScript);
}

Outcome<void> write_probe(const Probe& probe, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return failure(errc_of_errno(error.value()),
                   fmt::format("cannot make '{}': {}", folder, error.message()));
  }
  const std::vector<std::pair<const char*, std::string>> files{
      {"probe.txt", text_of(probe)},
      {"probe.json", run::dump_of(json_of(probe), 1) + "\n"},
      {"probe.html", html_of(probe)}};
  for (const auto& [name, text] : files) {
    if (auto done = runtime::write_file(fmt::format("{}/{}", folder, name), text); !done)
      return done;
  }
  return {};
}

}  // namespace plnet::pin
