// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/router_options.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/node/router_options.hpp"
#include "lib/lnet/paths/route_aliveness.hpp"
#include "lib/runtime/config/yaml_text.hpp"
#include "node/host/module_option.hpp"

namespace plnet::node {
namespace {

constexpr std::string_view kModule = "lnet";

std::vector<lnet::ModuleOption> live_options_of(const lnet::NodeConfig& config) {
  auto options = config.module_options;
  std::erase_if(options, [](const auto& option) { return !is_live_router_option(option); });
  return options;
}

// Options that are not set any more get their defaults.
LnetStep::Act sets_live_options(const lnet::NodeConfig& config) {
  auto values = std::make_shared<lnet::Parameters>();
  const auto taken = take_router_options(config, *values);
  PLNET_CHECK(taken.has_value(), "both were looked at before");
  return [values](lnet::Node& node) -> Outcome<LnetDesk::Progress> {
    for (const lnet::RouterOption& option : lnet::kRouterOptions) {
      if (option.live) (node.parameters().*option.member).set((*values.*option.member).get());
    }
    node.coordinator().gateway_checks().look_again(lnet::kGatewaySetting);
    return LnetDesk::Progress::kDone;
  };
}

}  // namespace

Outcome<void> take_router_options(const lnet::NodeConfig& config, lnet::Parameters& parameters) {
  for (const lnet::RouterOption& option : lnet::kRouterOptions) {
    const std::string_view text = config.module_option("lnet", option.name);
    if (text.empty()) continue;
    const auto number = runtime::parse_integer(text);
    if (!number || *number < option.least || *number > option.most) {
      return failure(Errc::kInvalid,
                     fmt::format("options lnet {}={}: expected a number from {} to {}", option.name,
                                 text, option.least, option.most));
    }
    (parameters.*option.member).set(static_cast<std::int32_t>(*number));
  }
  return {};
}

bool is_live_router_option(const lnet::ModuleOption& option) {
  return option.module == kModule &&
         std::ranges::any_of(lnet::kRouterOptions, [&option](const lnet::RouterOption& each) {
           return each.live && each.name == option.name;
         });
}

bool differ_live_only(const lnet::NodeConfig& a, const lnet::NodeConfig& b, Families families) {
  const auto is_live = [families](const lnet::ModuleOption& option) {
    return is_live_router_option(option) ||
           std::ranges::any_of(families, [&option](const NetworkFamily* family) {
             return family->is_live(option);
           });
  };
  const auto rest = [is_live](const lnet::NodeConfig& config) {
    auto options = config.module_options;
    std::erase_if(options, is_live);
    return options;
  };
  return rest(a) == rest(b);
}

Outcome<void> set_router_option(lnet::NodeConfig& config, std::string_view name,
                                std::string_view value) {
  const std::string prefix = fmt::format("{}.", kModule);
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  const auto* const known =
      std::ranges::find(lnet::kRouterOptions, name, &lnet::RouterOption::name);
  if (known == lnet::kRouterOptions.end())
    return failure(Errc::kNotFound, fmt::format("{} has no option '{}'", kModule, name));
  lnet::NodeConfig wanted = config;
  put_module_option(wanted, kModule, name, value);
  lnet::Parameters checked;
  if (auto fits = take_router_options(wanted, checked); !fits) return fits;
  if (!known->live) return needs_restart(kModule, name, value);
  config = std::move(wanted);
  return {};
}

Outcome<void> add_router_option_steps(const lnet::NodeConfig& now, const lnet::NodeConfig& wanted,
                                      std::vector<LnetStep>& steps) {
  lnet::Parameters checked;
  if (auto fits = take_router_options(wanted, checked); !fits) return fits;
  if (live_options_of(now) != live_options_of(wanted))
    steps.push_back({.act = sets_live_options(wanted), .undo = sets_live_options(now)});
  return {};
}

}  // namespace plnet::node
