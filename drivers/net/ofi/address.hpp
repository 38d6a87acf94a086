// SPDX-License-Identifier: BSD-3-Clause
// The address of an endpoint, in the form that its provider needs: the one place with the rule,
// which all nodes of a site share. {NIC address, service, context} becomes
//   - by name (providers whose addresses are strings, such as shm, on one host):
//     fi_shm://plnet-<NIC address in hex>-<service>-<context>-<life in hex>, where the life is the
//     number of one endpoint's time at that place, from its making to its end (claim.hpp)
//   - over IP (providers whose addresses are IPv4 sockets, such as net): the NIC address is the
//     IPv4 address as a number, the port is port_base + service * contexts_max + context.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "lib/base/result.hpp"

namespace plnet::ofi {

struct Process {
  std::uint64_t nic = 0;
  std::uint32_t service = 0;
  std::uint8_t context = 0;

  friend bool operator==(const Process&, const Process&) = default;
  [[nodiscard]] bool is_same_but_for_context(const Process& other) const {
    return nic == other.nic && service == other.service;
  }
};

enum class Family : std::uint8_t { kName, kInet };

using Life = std::uint64_t;
inline constexpr Life kNoLife = 0;

inline constexpr unsigned kContextsMax = 16;  // receive contexts, and so shards, of one process

struct AddressRule {
  Family family = Family::kName;
  std::uint32_t port_base = 20480;
};

struct ProviderAddress {
  std::array<char, 64> bytes{};
  std::size_t length = 0;
};

// The name without a life: the name of the place, which is the address of no endpoint.
[[nodiscard]] inline Result<ProviderAddress> address_of(const AddressRule& rule,
                                                        const Process& process,
                                                        Life life = kNoLife) {
  ProviderAddress made;
  if (process.context >= kContextsMax) return std::unexpected(Errc::kOutOfRange);
  if (rule.family == Family::kName) {
    using Hex = unsigned long long;
    char* const at = made.bytes.data();
    int length = std::snprintf(at, made.bytes.size(), "fi_shm://plnet-%llx-%u-%u", Hex{process.nic},
                               process.service, unsigned{process.context});
    if (life != kNoLife)
      length += std::snprintf(at + length, made.bytes.size() - static_cast<std::size_t>(length),
                              "-%llx", Hex{life});
    made.length = static_cast<std::size_t>(length) + 1;  // with its terminating zero
    static_assert(
        std::string_view("fi_shm://plnet-0123456789abcdef-4294967295-15-0123456789abcdef").size() <
        sizeof made.bytes);
    return made;
  }
  const std::uint64_t port =
      rule.port_base + std::uint64_t{process.service} * kContextsMax + process.context;
  if (process.nic > UINT32_MAX || port > UINT16_MAX) return std::unexpected(Errc::kOutOfRange);
  sockaddr_in inet{};
  inet.sin_family = AF_INET;
  inet.sin_addr.s_addr = htonl(static_cast<std::uint32_t>(process.nic));
  inet.sin_port = htons(static_cast<std::uint16_t>(port));
  static_assert(sizeof inet <= sizeof made.bytes);
  std::memcpy(made.bytes.data(), &inet, sizeof inet);
  made.length = sizeof inet;
  return made;
}

}  // namespace plnet::ofi
