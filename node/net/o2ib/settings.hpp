// SPDX-License-Identifier: BSD-3-Clause
// `plnet: o2ib` of a configuration document. The kernel module's options are in options.hpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace plnet::runtime {
struct SettingsSection;
}

namespace plnet::node {

inline constexpr std::uint32_t kO2ibNisMax = 16;

struct O2ibSettings {
  static constexpr std::string_view kSection = "o2ib";

  std::uint32_t connections = 1024;  // of an NI on a shard
  std::uint32_t nis = 0;             // number of NIs with room; 0: those at start, at least 2

  bool operator==(const O2ibSettings&) const = default;
};

extern const runtime::SettingsSection kO2ibSection;

}  // namespace plnet::node
