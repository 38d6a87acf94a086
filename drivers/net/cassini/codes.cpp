// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/codes.hpp"

#include <array>
#include <cstddef>

namespace plnet::cassini {

namespace {

// Indexed by the device's number; a gap has no name.
struct Known {
  std::string_view name = "unknown";
  Errc errc = Errc::kIo;
};
constexpr std::array<Known, 32> kEventTypes = [] {
  std::array<Known, 32> table{};
#define PLNET_X(name, value, text) table[value] = {text, Errc::kIo};
  PLNET_CASSINI_EVENT_TYPES(PLNET_X)
#undef PLNET_X
  return table;
}();
constexpr std::array<Known, 64> kReturnCodes = [] {
  std::array<Known, 64> table{};
#define PLNET_X(id, value, text, errc) table[value] = {text, Errc::errc};
  PLNET_CASSINI_RETURN_CODES(PLNET_X)
#undef PLNET_X
  return table;
}();

template <std::size_t Size, class Code>
const Known& look_up(const std::array<Known, Size>& table, Code code) {
  static constexpr Known kUnknown;
  const auto index = static_cast<std::size_t>(code);
  return index < Size ? table[index] : kUnknown;
}

}  // namespace

std::string_view name_of(EventType type) {
  return look_up(kEventTypes, type).name;
}
std::string_view name_of(ReturnCode code) {
  return look_up(kReturnCodes, code).name;
}
Errc errc_of(ReturnCode code) {
  return look_up(kReturnCodes, code).errc;
}

std::string_view name_of(PortalState state) {
  switch (state) {
    case PortalState::kReset: return "RESET";
    case PortalState::kDisabled: return "DISABLED";
    case PortalState::kEnabled: return "ENABLED";
    case PortalState::kSoftwareManaged: return "SOFTWARE_MANAGED";
    case PortalState::kEthernet: return "ETHERNET";
  }
  return "unknown";
}

}  // namespace plnet::cassini
