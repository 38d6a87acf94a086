// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/settings_check.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings_section.hpp"
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

void check_sections(const Schema& schema, const SectionValues& values, Issues& issues) {
  for (const SettingsSection* section : schema.sections()) {
    if (section->check == nullptr) continue;
    section->check(values, [&](const std::string& below, std::string what) {
      const std::string path = fmt::format("plnet.{}.{}", section->name, below);
      issues.push_back({path, path, std::move(what)});
    });
  }
}

}  // namespace

std::vector<SettingsIssue> check_settings(const Schema& schema, const Settings& settings) {
  Issues issues;
  const CptPlanRequest& cpts = settings.cpts;
  if (cpts.by == CptPlanRequest::By::kList && cpts.list.empty()) {
    issues.push_back({"plnet.cpts.by", "plnet.cpts.list",
                      "`by: list` without CPTs in plnet.cpts.list, expected at "
                      "least one"});
  }
  check_cpt_list(cpts.list, issues);
  check_sections(schema, settings.sections, issues);
  return issues;
}

}  // namespace plnet::runtime
