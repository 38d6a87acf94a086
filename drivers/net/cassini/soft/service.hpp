// SPDX-License-Identifier: BSD-3-Clause
// A service of a NIC, which an administrator makes: the processes that may use it, their VNIs and
// traffic classes, and how many objects of each kind they may have.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace plnet::cassini::soft {

// In the order of cxi_rsrc_type (shs-cxi-driver: cxi-abi.h).
enum class Resource : std::uint8_t {
  kPortals,
  kTransmitQueues,
  kTargetQueues,
  kEventQueues,
  kCounters,
  kListEntries,
  kTriggered,
  kAddressContexts,
};
inline constexpr unsigned kResources = 8;

struct Share {
  unsigned most = ~0U;
  unsigned kept = 0;
};

inline constexpr unsigned kTrafficClasses = 4;
inline constexpr unsigned kTrafficTypeHrp = 1;  // cxi-abi.h: CXI_TC_TYPE_HRP
inline constexpr unsigned kAllTrafficClasses = (1U << kTrafficClasses) - 1;

// Credentials of the process that calls: effective user and group, network namespace.
struct Caller {
  unsigned user = 0;
  unsigned group = 0;
  unsigned network = 0;
};

struct Member {
  enum class Kind : std::uint8_t { kNone, kUser, kGroup };
  Kind kind = Kind::kNone;
  unsigned id = 0;
};
inline constexpr unsigned kServiceMembers = 2;

struct VniRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  [[nodiscard]] bool has(unsigned vni) const { return vni >= first && vni <= last; }
};

struct Service {
  unsigned id = 0;
  bool enabled = true;
  std::vector<std::uint16_t> vnis;                // empty: those of the range
  unsigned traffic_classes = kAllTrafficClasses;  // one bit for each
  std::array<Share, kResources> shares{};

  // A service that was made by a call has no VNI before it is given a list or a range.
  bool any_vni = true;
  std::optional<VniRange> range;
  bool restricts_members = false;
  bool restricts_classes = false;
  bool restricts_resources = false;
  std::array<Member, kServiceMembers> members{};
  std::optional<unsigned> network;  // only processes of this namespace
  bool is_system = false;
  unsigned counter_pool = 0;
  bool exclusive_profiles = false;  // no two users of a profile: its VNI may be changed
  unsigned groups_per_id = 1;       // LNIs per RGID

  [[nodiscard]] bool has_vni(unsigned vni) const;
  [[nodiscard]] bool has_every_vni() const { return vnis.empty() && !range && any_vni; }
  [[nodiscard]] bool admits(const Caller& caller) const;
};
inline constexpr unsigned kDefaultService = 1;

}  // namespace plnet::cassini::soft
