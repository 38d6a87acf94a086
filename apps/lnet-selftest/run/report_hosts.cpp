// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/report_hosts.hpp"

#include <functional>
#include <utility>

namespace plnet::run {
namespace {

using Visit = std::function<void(std::string& node)>;

void for_each_node(Measurement& measurement, const Visit& visit) {
  for (GroupFigures* const group : {&measurement.from, &measurement.to}) {
    for (NodeFigures& node : group->nodes)
      visit(node.node);
  }
  for (NodeLatency& node : measurement.latency_by_node)
    visit(node.node);
  std::map<std::string, std::uint64_t> errors;
  for (const auto& [node, count] : measurement.errors.by_node) {
    std::string name = node;
    visit(name);
    errors.emplace(std::move(name), count);
  }
  measurement.errors.by_node = std::move(errors);
}

void for_each_node(Report& report, const Visit& visit) {
  for (Measurement& measurement : report.measurements)
    for_each_node(measurement, visit);
  for (NodeCpt& cpt : report.cpts)
    visit(cpt.node);
}

}  // namespace

void learn_hosts(Report& report, const runtime::NicNames& names) {
  for_each_node(report, [&](const std::string& node) {
    if (std::string host = names.names_in(node); !host.empty())
      report.hosts.emplace(node, std::move(host));
  });
}

Report with_hosts(Report report) {
  for_each_node(report, [&hosts = report.hosts](std::string& node) {
    if (const auto host = hosts.find(node); host != hosts.end()) node += " (" + host->second + ")";
  });
  return report;
}

}  // namespace plnet::run
