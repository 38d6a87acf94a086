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
  kLibcxi,  // a Slingshot NIC, through the vendor's library
  kSoft,    // a NIC in software, on a port of DPDK
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
  std::string name;  // as in `net add --if`
  KfiBackend backend = KfiBackend::kLibcxi;
  std::uint32_t service = 1;  // kLibcxi: the service that provides its queues
  std::string port;           // kSoft: as in DPDK's --vdev, or a PCI address
  std::int32_t address = -1;  // kSoft: of the NIC; -1: from the port's MAC. kOfi: in the NID
  std::uint32_t mtu = 0;      // kSoft: 0 is the port's own
  std::string provider;       // kOfi: shm, which has addresses of its own, or one over IPv4
  std::string ip;             // kOfi: this node's address, for a provider over IPv4
  std::uint32_t nis = 0;      // room for so many; 0: the number at the start
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
