// SPDX-License-Identifier: BSD-3-Clause
// `plnet: kfi` of a configuration document.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/cpt/cpt_request.hpp"

namespace plnet::runtime {
struct SettingsSection;
}

namespace plnet::node {

enum class KfiBackend : std::uint8_t {
  kLibcxi,  // a Slingshot NIC, by the vendor's library
  kSoft,    // the NIC in software, on a port of DPDK
  kOfi,     // a provider of libfabric
};
inline constexpr std::array<std::string_view, 3> kKfiBackendNames{"libcxi", "soft", "ofi"};
[[nodiscard]] constexpr std::string_view name_of(KfiBackend backend) {
  const auto number = static_cast<std::size_t>(backend);
  return number < kKfiBackendNames.size() ? kKfiBackendNames[number] : std::string_view{};
}

inline constexpr std::size_t kKfiInterfacesMax = 8;  // NICs of the largest Slingshot nodes
inline constexpr unsigned kKfiNisMax = 16;           // on one of them

// A NIC that kfi networks can use.
struct KfiInterface {
  std::string name;  // as `net add --if` says it
  KfiBackend backend = KfiBackend::kLibcxi;
  std::uint32_t service = 1;  // kLibcxi: the service whose resources it takes
  std::string port;           // kSoft: as DPDK's --vdev has it, or a PCI address
  std::int32_t address = -1;  // kSoft: of the NIC; -1: the lowest 20 bits of the port's MAC. kOfi
  std::uint32_t mtu = 0;      // kSoft: 0 is the port's own
  std::string provider;       // kOfi: shm, which has addresses of its own, or one over IPv4
  std::string ip;             // kOfi: of this node, for a provider over IPv4
  std::uint32_t nis = 0;      // that it has room for; 0: for those that are configured at start
  runtime::Origin origin{};

  bool operator==(const KfiInterface&) const = default;
};

struct KfiSettings {
  static constexpr std::string_view kSection = "kfi";

  std::string library = "libcxi.so.1";
  std::vector<KfiInterface> interfaces;

  bool operator==(const KfiSettings&) const = default;
};

extern const runtime::SettingsSection kKfiSection;

}  // namespace plnet::node
