// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/settings_check.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/runtime/cpt/plan_checks.hpp"

namespace plnet::runtime {
namespace {

using Issues = std::vector<SettingsIssue>;

// Two shards on one CPU are allowed: the planner warns, and the pollers then take turns.
void check_shard(const ShardRequest& shard, const std::string& path, Issues& issues) {
  const auto add = [&](std::string what) { issues.push_back({path, path, std::move(what)}); };
  if (shard.cpu >= 0 && shard.core >= 0) {
    return add("both cpu and core are given, expected one of them");
  }
  if (shard.cpu < 0 && shard.core < 0) return add("neither cpu nor core, expected one of them");
  if (shard.cpu >= 0 && shard.smt >= 0) add("smt goes with core, expected cpu alone");
}

void check_cpt_list(const std::vector<CptRequest>& list, Issues& issues) {
  const std::string base = "plnet.cpts.list";
  const std::size_t before = issues.size();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", base, i);
    if (list[i].shards.empty()) issues.push_back({path, path, "no shards, expected at least one"});
    for (std::size_t k = 0; k < list[i].shards.size(); ++k) {
      check_shard(list[i].shards[k], fmt::format("{}.shards[{}]", path, k), issues);
    }
  }
  if (list.empty() || issues.size() > before) return;
  if (const auto sound = check_list(list); !sound)
    issues.push_back({base, base, sound.error().what});
}

std::string wrong_with_ofi(const KfiInterface& interface) {
  if (!interface.port.empty() || interface.mtu != 0) return "port and mtu go with `backend: soft`";
  if (interface.provider.empty()) return "backend ofi without a provider, expected shm or net";
  const bool by_name = interface.provider == "shm";
  if (by_name != (interface.address >= 0) || by_name != interface.ip.empty()) {
    return by_name ? "provider shm needs an address, another one for each node of the host, and "
                     "has no ip"
                   : "a provider over IPv4 needs an ip, and has no address";
  }
  return "";
}

std::string wrong_with(const KfiInterface& interface) {
  if (interface.name.empty()) return "no name, expected one such as cxi0";
  if (interface.backend != KfiBackend::kOfi &&
      (!interface.provider.empty() || !interface.ip.empty()))
    return "provider and ip go with `backend: ofi`";
  if (interface.backend == KfiBackend::kSoft) {
    return interface.port.empty() ? "backend soft without a port, expected one such as "
                                    "\"net_memif0,role=server,id=0,socket=/run/x.sock\""
                                  : "";
  }
  if (interface.backend == KfiBackend::kOfi) return wrong_with_ofi(interface);
  const bool has_soft = !interface.port.empty() || interface.address >= 0 || interface.mtu != 0;
  return has_soft ? "port, address and mtu go with `backend: soft`" : "";
}

void check_kfi(const std::vector<KfiInterface>& interfaces, Issues& issues) {
  const auto port_name = [](const KfiInterface& each) {
    return each.port.substr(0, each.port.find(','));
  };
  for (std::size_t i = 0; i < interfaces.size(); ++i) {
    const std::string path = fmt::format("plnet.kfi.interfaces[{}]", i);
    const KfiInterface& interface = interfaces[i];
    std::string what = wrong_with(interface);
    for (std::size_t k = 0; k < i && what.empty(); ++k) {
      if (interfaces[k].name == interface.name)
        what = fmt::format("interface {} is there twice", interface.name);
      else if (!interface.port.empty() && port_name(interfaces[k]) == port_name(interface))
        what = fmt::format("port {} is that of another interface", port_name(interface));
    }
    if (!what.empty()) issues.push_back({path, path, std::move(what)});
  }
}

}  // namespace

std::vector<SettingsIssue> check_settings(const Settings& settings) {
  Issues issues;
  const CptPlanRequest& cpts = settings.cpts;
  if (cpts.by == CptPlanRequest::By::kList && cpts.list.empty()) {
    issues.push_back({"plnet.cpts.by", "plnet.cpts.list",
                      "`by: list` without CPTs in plnet.cpts.list, expected at "
                      "least one"});
  }
  check_cpt_list(cpts.list, issues);
  check_kfi(settings.kfi.interfaces, issues);
  return issues;
}

}  // namespace plnet::runtime
