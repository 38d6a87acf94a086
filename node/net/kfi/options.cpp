// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/runtime/config/yaml_text.hpp"

namespace plnet::node {
namespace {

using kfilnd::TunableInfo;

constexpr std::string_view kKfiModule = "kkfilnd";
constexpr std::uint64_t kReceiveBytesMax = std::uint64_t{1} << 31U;

Outcome<void> take_class(KfiOptions& options, const std::string& name) {
  const auto known = kfilnd::parse_traffic_class(name);
  if (!known) {
    return failure(Errc::kInvalid,
                   fmt::format("traffic_class '{}': expected best_effort, low_latency, "
                               "dedicated_access, bulk_data, scavenger or network_ctrl",
                               name));
  }
  options.traffic_class = *known;
  return {};
}

Outcome<void> take_number(KfiOptions& options, std::string_view name, std::int64_t value) {
  if (kfilnd::set_tunable(options.tunables, name, value)) return {};
  const auto table = kfilnd::tunable_table();
  const auto found = std::ranges::find(table, name, &TunableInfo::name);
  PLNET_CHECK(found != table.end(), "names of options are checked when they are read");
  return failure(Errc::kInvalid, fmt::format("{}={}: expected a number from {} to {}", name, value,
                                             found->least, found->most));
}

bool is_shown_only(std::string_view name) {
  return name == "traffic_class_num" || name == "timeout";
}

}  // namespace

Outcome<KfiOptions> kfi_options_of(const lnet::NodeConfig& config) {
  KfiOptions options;
  const auto table = kfilnd::tunable_table();
  for (const lnet::ModuleOption& option : config.module_options) {
    if (option.module != kKfiModule) continue;
    Outcome<void> taken;
    if (option.name == "traffic_class") {
      taken = take_class(options, option.value);
    } else if (std::ranges::find(table, option.name, &TunableInfo::name) == table.end()) {
      continue;  // not a tunable of kfilnd
    } else if (const auto number = runtime::parse_integer(option.value)) {
      taken = take_number(options, option.name, *number);
    } else {
      taken = failure(Errc::kInvalid,
                      fmt::format("{}={}: expected a number", option.name, option.value));
    }
    if (!taken)
      return failure(taken.error().code,
                     fmt::format("options {} {}", kKfiModule, taken.error().what));
  }
  if (!kfilnd::check(options.tunables)) {
    return failure(
        Errc::kInvalid,
        fmt::format("options {}: peer_credits={}, expected at most credits, {}", kKfiModule,
                    options.tunables.peer_credits, options.tunables.credits));
  }
  if (auto fits = receive_bytes(options); !fits) return std::unexpected(fits.error());
  return options;
}

Outcome<KfiOptions> options_of_ni(const KfiOptions& of_all, std::span<const lnet::LndTunable> own) {
  KfiOptions options = of_all;
  for (const lnet::LndTunable& tunable : own) {
    if (tunable.name == lnet::kDriverTunable || is_shown_only(tunable.name)) continue;
    if (tunable.name == "traffic_class") {
      const auto* const word = std::get_if<std::string>(&tunable.value);
      if (auto taken = take_class(options, word == nullptr ? "" : *word); !taken)
        return std::unexpected(taken.error());
      continue;
    }
    const auto* const number = std::get_if<std::int64_t>(&tunable.value);
    if (number == nullptr || *number == -1) continue;
    if (auto taken = take_number(options, tunable.name, *number); !taken)
      return std::unexpected(taken.error());
  }
  return options;
}

std::vector<lnet::LndTunable> lnd_tunables_of(const KfiOptions& options, Duration lnet_timeout) {
  const Duration timeout = lnd_timeout(options.tunables, lnet_timeout);
  return {{"prov_major_version", options.tunables.prov_major_version},
          {"prov_minor_version", options.tunables.prov_minor_version},
          {"auth_key", options.tunables.auth_key},
          {"traffic_class", std::string(name_of(options.traffic_class))},
          {"traffic_class_num", static_cast<std::int64_t>(options.traffic_class)},
          {"timeout", std::chrono::duration_cast<std::chrono::seconds>(timeout).count()}};
}

std::vector<lnet::LndTunable> parameters_of(const KfiOptions& options) {
  std::vector<lnet::LndTunable> parameters;
  for (const TunableInfo& info : kfilnd::tunable_table())
    parameters.push_back({std::string(info.name), options.tunables.*info.field});
  parameters.push_back({"traffic_class", std::string(name_of(options.traffic_class))});
  return parameters;
}

Outcome<std::uint32_t> receive_bytes(const KfiOptions& options) {
  const std::uint64_t bytes = std::uint64_t{kfilnd::receive_buffer_bytes(options.tunables)} *
                              static_cast<std::uint64_t>(options.tunables.immediate_rx_buf_count);
  if (bytes <= kReceiveBytesMax) return static_cast<std::uint32_t>(bytes);
  return failure(Errc::kTooBig,
                 fmt::format("options {}: credits and immediate_rx_buf_count come to {} MiB of "
                             "receive buffers, expected at most {}",
                             kKfiModule, bytes >> 20U, kReceiveBytesMax >> 20U));
}

}  // namespace plnet::node
