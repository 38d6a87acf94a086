// SPDX-License-Identifier: BSD-3-Clause
// The name of a network interface on LNet, in the extended form for all types.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/base/hash.hpp"

namespace plnet::lnet {

// Network types by their number in a NID (lustre-release lnet/include/uapi/linux/lnet/nidstr.h).
// Other values occur: a router forwards NIDs of types that it does not know.
enum class NetType : std::uint8_t {
  kTcp = 2,
  kO2ib = 5,
  kLoopback = 9,
  kGni = 13,
  kGip = 14,
  kPtlf = 15,
  kKfi = 16,
  kEfa = 18,
  kBxi3f = 19,
};

// A network: type and number in one value, type << 16 | number.
using NetId = std::uint32_t;
inline constexpr NetId kNetAny = 0xffffffff;

[[nodiscard]] constexpr NetId make_net(std::uint8_t type, std::uint16_t number) {
  return static_cast<NetId>(type) << 16 | number;
}
[[nodiscard]] constexpr NetId make_net(NetType type, std::uint16_t number = 0) {
  return make_net(static_cast<std::uint8_t>(type), number);
}
[[nodiscard]] constexpr std::uint8_t type_of_net(NetId net) {
  return static_cast<std::uint8_t>(net >> 16);
}
[[nodiscard]] constexpr std::uint16_t number_of_net(NetId net) {
  return static_cast<std::uint16_t>(net);
}

// Process ids on LNet. Every kernel node has 12345.
inline constexpr std::uint32_t kLustrePid = 12345;
inline constexpr std::uint32_t kPidAny = 0xffffffff;
inline constexpr std::uint32_t kPidUserFlag = 0x80000000;  // set by socklnd for userspace peers

// The bytes of `struct lnet_nid` on the wire (lustre-release lnet-idl.h), never swapped, so that
// comparing and copying are those of bytes.
struct Nid {
  std::uint8_t size = 0;  // address bytes beyond the first four
  std::uint8_t type = 0;  // a NetType, or 0xff: any NID
  std::array<std::uint8_t, 2> number_be{};
  std::array<std::uint8_t, 16> address_be{};  // left-justified, the rest zero

  static constexpr std::uint8_t kAnyType = 0xff;
  static constexpr std::array<std::uint32_t, 5> kAllOnes = {~0U, ~0U, ~0U, ~0U, ~0U};
  static constexpr std::uint8_t kLargeSize = 12;  // `size` of a NID whose address is IPv6

  // All bits one.
  [[nodiscard]] static constexpr Nid any() { return std::bit_cast<Nid>(kAllOnes); }
  // A NID whose address is four bytes: IPv4 or a number.
  [[nodiscard]] static constexpr Nid of(NetType type, std::uint16_t number, std::uint32_t address) {
    return of(static_cast<std::uint8_t>(type), number, address);
  }
  [[nodiscard]] static constexpr Nid of(std::uint8_t type, std::uint16_t number,
                                        std::uint32_t address) {
    Nid nid;
    nid.type = type;
    nid.number_be = {static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)};
    for (std::size_t i = 0; i < 4; ++i) {
      nid.address_be[i] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
    }
    return nid;
  }

  [[nodiscard]] constexpr bool is_any() const { return type == kAnyType; }
  [[nodiscard]] constexpr bool is_of(NetType wanted) const {
    return type == static_cast<std::uint8_t>(wanted);
  }
  // Two NIDs with the same net() are on the same network.
  [[nodiscard]] constexpr NetId net() const {
    return is_any() ? kNetAny : make_net(type, number());
  }
  [[nodiscard]] constexpr std::uint16_t number() const {
    return static_cast<std::uint16_t>(number_be[0] << 8 | number_be[1]);
  }
  // The first four bytes of the address, which are all of it unless the NID is large.
  [[nodiscard]] constexpr std::uint32_t address32() const {
    return static_cast<std::uint32_t>(address_be[0]) << 24 |
           static_cast<std::uint32_t>(address_be[1]) << 16 |
           static_cast<std::uint32_t>(address_be[2]) << 8 | address_be[3];
  }
  // The address is longer than the 64-bit form can carry.
  [[nodiscard]] constexpr bool is_large() const { return !is_any() && size != 0; }
  [[nodiscard]] constexpr bool is_loopback() const {
    return is_of(NetType::kLoopback) && size == 0 && number() == 0 && address32() == 0;
  }
  // The size fits into the structure and the bytes beyond it are zero. Equality compares all 20
  // bytes, so a malformed NID from a stranger would be a different key in every table.
  [[nodiscard]] constexpr bool is_well_formed() const {
    if (size == 0 && !is_any()) {  // nearly all NIDs: three words instead of twelve bytes
      if !consteval {
        std::uint32_t rest[3];
        std::memcpy(rest, &address_be[4], sizeof rest);
        return (rest[0] | rest[1] | rest[2]) == 0;
      }
    }
    if (is_any()) return *this == any();
    if (size > kLargeSize) return false;
    for (std::size_t i = 4U + size; i < address_be.size(); ++i) {
      if (address_be[i] != 0) return false;
    }
    return true;
  }

  friend constexpr bool operator==(const Nid& a, const Nid& b) {
    if consteval {
      return a.size == b.size && a.type == b.type && a.number_be == b.number_be &&
             a.address_be == b.address_be;
    }
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
};
static_assert(sizeof(Nid) == 20 && alignof(Nid) == 1);
static_assert(offsetof(Nid, number_be) == 2 && offsetof(Nid, address_be) == 4);
static_assert(offsetof(Nid, size) == 0 && offsetof(Nid, type) == 1);

// The hash of tables of NIDs. The CPT of a NID comes from cpt_hash.hpp.
using NidHash = KeyHash<Nid>;

struct ProcessId {
  Nid nid;
  std::uint32_t pid = kLustrePid;

  friend constexpr bool operator==(const ProcessId&, const ProcessId&) = default;
};

}  // namespace plnet::lnet
