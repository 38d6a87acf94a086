// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/codes.hpp"

namespace plnet::cassini {

std::string_view name_of(EventType type) {
  switch (type) {
#define PLNET_X(name, value, text) \
  case EventType::name: return text;
    PLNET_CASSINI_EVENT_TYPES(PLNET_X)
#undef PLNET_X
  }
  return "unknown";
}

std::string_view name_of(ReturnCode code) {
  switch (code) {
#define PLNET_X(name, value, text, errc) \
  case ReturnCode::name: return text;
    PLNET_CASSINI_RETURN_CODES(PLNET_X)
#undef PLNET_X
  }
  return "unknown";
}

Errc errc_of(ReturnCode code) {
  switch (code) {
#define PLNET_X(name, value, text, errc) \
  case ReturnCode::name: return Errc::errc;
    PLNET_CASSINI_RETURN_CODES(PLNET_X)
#undef PLNET_X
  }
  return Errc::kIo;
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
