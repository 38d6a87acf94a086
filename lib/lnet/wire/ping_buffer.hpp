// SPDX-License-Identifier: BSD-3-Clause
// The report of a node about itself in the answer to a ping, and in a discovery push: its
// interfaces and their states. The reader accepts either byte order and a truncated buffer. Checked
// against lustre-release lnet/include/uapi/linux/lnet/lnet-idl.h: struct lnet_ping_info and the
// structures after it; lnet/lnet/api-ni.c: lnet_ping_target_install_locked(),
// lnet_ping_info_validate(), lnet_swap_pinginfo(); lnet/lnet/peer.c: ping_iter_next().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

inline constexpr std::uint32_t kPingPortal = 0;
inline constexpr std::uint64_t kPingMatchBits = 0x8000'0000'0000'0000;
inline constexpr std::uint32_t kPingMagic = 0x70696e67;

enum PingFeature : std::uint32_t {
  kPingBase = 0x01,           // historical; no node sets it
  kPingNiStatus = 0x02,       // a buffer without it is refused
  kPingRouteDisabled = 0x04,  // the node does NOT route
  kPingMultiRail = 0x08,
  kPingDiscovery = 0x10,
  kPingLargeAddress = 0x20,  // large NIDs follow, entry 0 holds the total size
  kPingPrimaryLarge = 0x40,  // the first large NID is the primary one
  kPingMetadata = 0x80,      // after the entries; ignored
};

// States of an interface. A node must not write other values: clients of 2.12 refuse the whole
// buffer.
inline constexpr std::uint32_t kNiUp = 0x15aac0de;
inline constexpr std::uint32_t kNiDown = 0xdeadface;

inline constexpr std::uint32_t kInterfacesMax = 200;  // LNet's lnet_interfaces_max by default
inline constexpr std::uint32_t kInterfacesMin = 16;   // every buffer has room for these

// The bytes on the wire, in the byte order of the sender.
struct PingInfoWire {
  std::uint32_t magic = 0;
  std::uint32_t features = 0;
  std::uint32_t pid = 0;
  std::uint32_t entries = 0;  // entries of 16 bytes
};
static_assert(sizeof(PingInfoWire) == 16 && offsetof(PingInfoWire, magic) == 0);
static_assert(offsetof(PingInfoWire, features) == 4 && offsetof(PingInfoWire, pid) == 8);
static_assert(offsetof(PingInfoWire, entries) == 12);

struct NiStatusWire {
  std::uint64_t nid = 0;
  std::uint32_t status = 0;      // entry 0: the sequence number of the buffer
  std::uint32_t total_size = 0;  // entry 0 with kPingLargeAddress; otherwise 0
};
static_assert(sizeof(NiStatusWire) == 16 && offsetof(NiStatusWire, nid) == 0);
static_assert(offsetof(NiStatusWire, status) == 8 && offsetof(NiStatusWire, total_size) == 12);

struct NiLargeStatusWire {
  std::uint32_t status = 0;
  Nid nid;  // its significant bytes; the next entry follows at a multiple of four
};
static_assert(sizeof(NiLargeStatusWire) == 24 && offsetof(NiLargeStatusWire, status) == 0);
static_assert(offsetof(NiLargeStatusWire, nid) == 4);

struct NidMetadataWire {
  std::uint64_t nid = 0;
  std::array<std::byte, 32> opaque{};
};
static_assert(sizeof(NidMetadataWire) == 40 && offsetof(NidMetadataWire, nid) == 0);
static_assert(offsetof(NidMetadataWire, opaque) == 8);

// The least room that a pinger offers.
inline constexpr std::size_t kPingBytesMin =
    sizeof(PingInfoWire) + kInterfacesMin * sizeof(NiStatusWire);
static_assert(kPingBytesMin == 272);
// The most that a buffer of this node can grow to, with large NIDs only.
inline constexpr std::size_t kPingBytesMax =
    sizeof(PingInfoWire) + sizeof(NiStatusWire) + kInterfacesMax * sizeof(NiLargeStatusWire);

struct PingEntry {
  Nid nid;
  std::uint32_t status = kNiUp;  // as received: values other than up and down occur

  friend bool operator==(const PingEntry&, const PingEntry&) = default;
};

// A received buffer. Refers to the bytes and does not change them.
class PingView {
 public:
  // Fails as in the kernel: kProtocol (too short for a first entry, magic, no status, entry 0 not
  // 0@lo), kOutOfRange (number of entries). A truncated buffer is no failure.
  [[nodiscard]] static Result<PingView> parse(std::span<const std::byte> bytes,
                                              std::uint32_t interfaces_max = kInterfacesMax);

  [[nodiscard]] std::uint32_t features() const { return info_.features; }
  [[nodiscard]] bool has(PingFeature feature) const { return (info_.features & feature) != 0; }
  [[nodiscard]] bool routes() const { return !has(kPingRouteDisabled); }
  [[nodiscard]] std::uint32_t pid() const { return info_.pid; }
  [[nodiscard]] std::uint32_t sequence() const { return first_.status; }
  [[nodiscard]] bool byte_swapped() const { return swapped_; }

  // The bytes that the sender has, and whether fewer arrived.
  [[nodiscard]] std::size_t total_bytes() const { return total_bytes_; }
  [[nodiscard]] bool truncated() const { return bytes_.size() < total_bytes_; }

  // Walks the interfaces after 0@lo: the 16-byte entries, then the large ones. Incomplete entries
  // end the walk; entries with malformed NIDs are skipped.
  class Walk {
   public:
    [[nodiscard]] std::optional<PingEntry> next();

   private:
    friend class PingView;
    explicit Walk(const PingView& view) : view_(view) {}
    [[nodiscard]] std::optional<PingEntry> next_large();

    const PingView& view_;
    std::size_t at_ = sizeof(PingInfoWire) + sizeof(NiStatusWire);
  };
  [[nodiscard]] Walk walk() const { return Walk(*this); }

  // The first large NID with kPingPrimaryLarge (if there is one), else entry 1. Nothing if the
  // buffer ends before it.
  [[nodiscard]] std::optional<Nid> primary() const;

 private:
  PingView(std::span<const std::byte> bytes, bool swapped) : bytes_(bytes), swapped_(swapped) {}

  [[nodiscard]] std::uint32_t in_our_order(std::uint32_t word) const;
  [[nodiscard]] std::uint64_t in_our_order(std::uint64_t word) const;
  [[nodiscard]] NiStatusWire status_at(std::size_t offset) const;
  [[nodiscard]] std::size_t end_of_small() const;

  std::span<const std::byte> bytes_;
  bool swapped_;
  PingInfoWire info_{};
  NiStatusWire first_{};
  std::size_t total_bytes_ = 0;
};

// The report of this node about itself.
struct PingSource {
  bool routing = false;
  bool discovery = true;
  std::uint32_t pid = kLustrePid;
  std::uint32_t sequence = 1;  // grows by one with each buffer that is built
  // In the order of configuration, without 0@lo. The first is the primary one.
  std::span<const PingEntry> interfaces;
};

[[nodiscard]] std::size_t ping_bytes(std::span<const PingEntry> interfaces);

// Returns the length. kTooBig: more than kInterfacesMax interfaces; kNoSpace: more than `out`
// holds; kInvalid: a NID that is loopback, a wildcard or not well-formed, or a status that is
// neither up nor down.
[[nodiscard]] Result<std::size_t> build_ping(const PingSource& source, std::span<std::byte> out);

// Changes a status in place in a buffer of this node: the sequence number stays. False if there is
// no such interface.
bool set_ping_status(std::span<std::byte> built, const Nid& nid, std::uint32_t status);

}  // namespace plnet::lnet
