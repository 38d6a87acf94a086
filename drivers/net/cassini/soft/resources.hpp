// SPDX-License-Identifier: BSD-3-Clause
// The shares of services in a NIC. An administrator defines a service: its VNIs and traffic
// classes, and for each kind of object a reserved number and a maximum. Processes notice the pool
// of list entries: an append without one fails.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "drivers/net/cassini/soft/codes.hpp"

namespace plnet::cassini::soft {

// In the order of cxi_rsrc_type (shs-cxi-driver: cxi-abi.h).
enum class Resource : std::uint8_t {
  kPortals,
  kTransmitQueues,
  kTargetQueues,
  kEventQueues,
  kCounters,
  kListEntries,
  kTriggered,  // unused: there are no triggered operations here
  kAddressContexts,
};
inline constexpr unsigned kResources = 8;

struct Share {
  unsigned most = ~0U;
  unsigned kept = 0;
};

inline constexpr unsigned kTrafficClasses = 4;
inline constexpr unsigned kAllTrafficClasses = (1U << kTrafficClasses) - 1;

struct Service {
  unsigned id = 0;
  bool enabled = true;
  std::vector<std::uint16_t> vnis;                // empty: any
  unsigned traffic_classes = kAllTrafficClasses;  // one bit for each
  std::array<Share, kResources> shares{};
};
inline constexpr unsigned kDefaultService = 1;

class Resources {
 public:
  // At most the existing number is reserved; a service lists at most as many VNIs as the NIC can
  // hold.
  Resources(const Limits& limits, std::span<const Service> services);

  // Services by their row in the given order.
  [[nodiscard]] bool take(unsigned row, Resource what);
  void give(unsigned row, Resource what);
  [[nodiscard]] unsigned used(unsigned row, Resource what) const {
    return rows_[row][index(what)].used;
  }
  [[nodiscard]] unsigned used(Resource what) const;
  [[nodiscard]] unsigned total(Resource what) const { return total_[index(what)]; }
  [[nodiscard]] Share share(unsigned row, Resource what) const {
    return rows_[row][index(what)].share;
  }

 private:
  struct Account {
    Share share;
    unsigned used = 0;
  };
  static constexpr unsigned index(Resource what) { return static_cast<unsigned>(what); }

  std::array<unsigned, kResources> total_{};
  std::array<unsigned, kResources> claimed_{};  // sum over services of the larger of used and
                                                // reserved
  std::vector<std::array<Account, kResources>> rows_;
};

}  // namespace plnet::cassini::soft
