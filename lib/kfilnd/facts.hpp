// SPDX-License-Identifier: BSD-3-Clause
// The state of an interface and of its peers, by value: for reports on other threads.
#pragma once

#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/kfilnd/peer.hpp"
#include "lib/kfilnd/tunables.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::kfilnd {

// The "lnd tunables" that `lnetctl net show -v` prints of a kfi network, under those names.
struct InterfaceFacts {
  std::int64_t prov_major_version = 0;
  std::int64_t prov_minor_version = 0;
  std::int64_t auth_key = 0;
  TrafficClass traffic_class = TrafficClass::kBestEffort;
  std::uint32_t traffic_class_num = 0;
  std::int64_t timeout = 0;  // seconds
};

struct PeerFacts {
  lnet::Nid nid;
  PeerState state = PeerState::kNew;
  bool greeting = false;  // a HELLO is under way
  std::uint16_t version = 0;
  std::uint8_t rx_base = 0;
  std::uint32_t local_session_key = 0;
  std::uint32_t remote_session_key = 0;
  std::uint32_t transactions = 0;
  Duration silent{};
};
[[nodiscard]] PeerFacts facts_of(const Peer& peer, Instant now);

}  // namespace plnet::kfilnd
