// SPDX-License-Identifier: BSD-3-Clause
// Further addresses of peers. The kernel's LND of 2.12 to 2.14 may use several interfaces under one
// NID, and lists their addresses in each HELLO (lustre-release lnet/klnds/socklnd/socklnd_proto.c:
// ksocknal_send_hello_v2()). A list counts if it came from the NID's own address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/lnet/names/nid.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::socklnd {

class ListedAddresses {
 public:
  // More such old peers than a site has; beyond that the oldest list is forgotten.
  static constexpr std::size_t kNidsMax = 4096;

  // Replaces the previous list of the NID.
  void learn(const lnet::Nid& nid, std::span<const std::uint32_t> addresses);
  [[nodiscard]] bool lists(const lnet::Nid& nid, std::uint32_t address) const;

 private:
  struct List {
    lnet::Nid nid;
    std::uint32_t count = 0;
    std::array<std::uint32_t, kHelloAddressesMax> addresses{};
  };

  std::vector<List> lists_;  // grows with the first peers of that kind
  std::size_t next_ = 0;     // the list that is replaced next
};

}  // namespace plnet::socklnd
