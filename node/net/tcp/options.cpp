// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/runtime/config/yaml_text.hpp"
#include "node/host/module_option.hpp"

namespace plnet::node {
namespace {

constexpr std::string_view kTcpModule = "ksocklnd";

bool is_of_acceptor(std::string_view name) {
  return name.starts_with("accept");
}

Outcome<void> take(TcpOptions& options, const lnet::ModuleOption& option) {
  const auto table = socklnd::tunable_table();
  const auto found = std::ranges::find(table, option.name, &socklnd::TunableInfo::name);
  if (found == table.end()) return {};  // not a tunable of socklnd
  const auto number = runtime::parse_integer(option.value);
  if (number && socklnd::set_tunable(options.tunables, option.name, *number)) return {};
  return failure(Errc::kInvalid,
                 fmt::format("options {} {}={}: expected a number from {} to {}", option.module,
                             option.name, option.value, found->least, found->most));
}

}  // namespace

bool operator==(const TcpOptions& a, const TcpOptions& b) {
  return a.accept == b.accept &&
         std::ranges::all_of(socklnd::tunable_table(), [&](const socklnd::TunableInfo& info) {
           return a.tunables.*info.field == b.tunables.*info.field;
         });
}

Outcome<TcpOptions> tcp_options_of(const lnet::NodeConfig& config) {
  TcpOptions options;
  for (const lnet::ModuleOption& option : config.module_options) {
    const bool of_acceptor = option.module == "lnet" && is_of_acceptor(option.name);
    if (!of_acceptor && option.module != kTcpModule) continue;
    if (of_acceptor && option.name == "accept") {
      const auto policy = socklnd::parse_accept_policy(option.value);
      if (!policy) {
        return failure(
            Errc::kInvalid,
            fmt::format("options lnet accept={}: expected secure, all or none", option.value));
      }
      options.accept = *policy;
    } else if (auto taken = take(options, option); !taken) {
      return std::unexpected(taken.error());
    }
  }
  return options;
}

bool is_live_tcp_option(const lnet::ModuleOption& option) {
  return option.module == kTcpModule && socklnd::changes_live(option.name);
}

Outcome<void> set_tcp_option(lnet::NodeConfig& config, std::string_view name,
                             std::string_view value) {
  const std::string prefix = fmt::format("{}.", kTcpModule);
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  const auto known = std::ranges::find(socklnd::tunable_table(), name, &socklnd::TunableInfo::name);
  if (known == socklnd::tunable_table().end() || is_of_acceptor(name)) {
    return failure(Errc::kNotFound, fmt::format("{} has no option '{}'", kTcpModule, name));
  }
  lnet::NodeConfig wanted = config;
  put_module_option(wanted, kTcpModule, name, value);
  if (auto fits = tcp_options_of(wanted); !fits) return std::unexpected(fits.error());
  if (!socklnd::changes_live(name)) return needs_restart(kTcpModule, name, value);
  config = std::move(wanted);
  return {};
}

std::vector<lnet::LndTunable> parameters_of(const socklnd::Tunables& tunables) {
  std::vector<lnet::LndTunable> parameters;
  for (const socklnd::TunableInfo& info : socklnd::tunable_table()) {
    if (!is_of_acceptor(info.name))
      parameters.push_back({std::string(info.name), tunables.*info.field});
  }
  return parameters;
}

socklnd::Tunables tunables_of_ni(const socklnd::Tunables& of_all,
                                 std::span<const lnet::LndTunable> own) {
  socklnd::Tunables tunables = of_all;
  for (const lnet::LndTunable& tunable : own) {
    const auto* const number = std::get_if<std::int64_t>(&tunable.value);
    if (number == nullptr || *number == -1) continue;
    if (tunable.name == "conns_per_peer") tunables.conns_per_peer = *number;
    if (tunable.name == "timeout") tunables.sock_timeout = *number;
    if (tunable.name == "tos") tunables.tos = *number;
  }
  return tunables;
}

}  // namespace plnet::node
