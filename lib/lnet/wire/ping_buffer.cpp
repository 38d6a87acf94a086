// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/wire/ping_buffer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::lnet {

namespace {

constexpr std::size_t kFirstEntry = sizeof(PingInfoWire);
constexpr std::size_t kNidOffset = offsetof(NiLargeStatusWire, nid);
constexpr std::size_t kNidHead = 8;  // the first bytes of a NID with its size, always present

// The distance to the next large entry (lustre-release lnet/include/lnet/lib-types.h:
// lnet_ping_sts_size()). A four-byte NID must not occur among large ones, but the kernel would step
// over it by the size of a small entry.
std::size_t large_entry_bytes(std::uint8_t size, std::uint8_t type) {
  if (type == Nid::kAnyType) return sizeof(NiLargeStatusWire);
  if (size == 0) return sizeof(NiStatusWire);
  return (kNidOffset + kNidHead + size + 3) & ~std::size_t{3};
}

std::size_t entry_bytes(const Nid& nid) {
  return nid.is_large() ? large_entry_bytes(nid.size, nid.type) : sizeof(NiStatusWire);
}

// Reads a NID of which only the significant bytes are there, at most 20.
Nid read_nid(const std::byte* from, std::size_t length) {
  std::array<std::byte, sizeof(Nid)> bytes{};
  std::copy_n(from, length, bytes.begin());
  return std::bit_cast<Nid>(bytes);
}

template <class Wire>
Wire read_at(std::span<const std::byte> bytes, std::size_t offset) {
  PLNET_CHECK(offset + sizeof(Wire) <= bytes.size(), "read within the buffer");
  Wire wire{};
  std::memcpy(&wire, bytes.data() + offset, sizeof wire);
  return wire;
}

template <class Wire>
void write_at(std::span<std::byte> bytes, std::size_t offset, const Wire& wire) {
  PLNET_CHECK(offset + sizeof(Wire) <= bytes.size(), "written within the buffer");
  std::memcpy(bytes.data() + offset, &wire, sizeof wire);
}

bool may_be_told(const PingEntry& entry) {
  return entry.nid.is_well_formed() && !entry.nid.is_any() && !entry.nid.is_loopback() &&
         (entry.status == kNiUp || entry.status == kNiDown);
}

}  // namespace

std::uint32_t PingView::in_our_order(std::uint32_t word) const {
  return swapped_ ? __builtin_bswap32(word) : word;
}

std::uint64_t PingView::in_our_order(std::uint64_t word) const {
  return swapped_ ? __builtin_bswap64(word) : word;
}

NiStatusWire PingView::status_at(std::size_t offset) const {
  const auto wire = read_at<NiStatusWire>(bytes_, offset);
  return {.nid = in_our_order(wire.nid),
          .status = in_our_order(wire.status),
          .total_size = in_our_order(wire.total_size)};
}

std::size_t PingView::end_of_small() const {
  return kFirstEntry + std::size_t{info_.entries} * sizeof(NiStatusWire);
}

Result<PingView> PingView::parse(std::span<const std::byte> bytes, std::uint32_t interfaces_max) {
  if (bytes.size() < kFirstEntry + sizeof(NiStatusWire)) return std::unexpected(Errc::kProtocol);
  const auto wire = read_at<PingInfoWire>(bytes, 0);
  PingView view(bytes, wire.magic == __builtin_bswap32(kPingMagic));
  view.info_ = {.magic = view.in_our_order(wire.magic),
                .features = view.in_our_order(wire.features),
                .pid = view.in_our_order(wire.pid),
                .entries = view.in_our_order(wire.entries)};
  if (view.info_.magic != kPingMagic) return std::unexpected(Errc::kProtocol);
  if (!view.has(kPingNiStatus)) return std::unexpected(Errc::kProtocol);
  if (view.info_.entries < 1 || view.info_.entries > interfaces_max) {
    return std::unexpected(Errc::kOutOfRange);
  }
  view.first_ = view.status_at(kFirstEntry);
  if (view.first_.nid != kNid64Loopback) return std::unexpected(Errc::kProtocol);
  view.total_bytes_ =
      view.has(kPingLargeAddress) ? view.first_.total_size & ~3U : view.end_of_small();
  return view;
}

std::optional<PingEntry> PingView::Walk::next() {
  const std::size_t end = std::min(view_.bytes_.size(), view_.total_bytes_);
  if (at_ >= view_.end_of_small())
    return view_.has(kPingLargeAddress) ? next_large() : std::nullopt;
  if (at_ + sizeof(NiStatusWire) > end) return std::nullopt;
  const NiStatusWire wire = view_.status_at(at_);
  at_ += sizeof wire;
  return PingEntry{.nid = from_nid64(wire.nid), .status = wire.status};
}

std::optional<PingEntry> PingView::Walk::next_large() {
  const std::size_t end = std::min(view_.bytes_.size(), view_.total_bytes_);
  while (at_ + kNidOffset + kNidHead <= end) {
    const std::byte* nid_bytes = view_.bytes_.data() + at_ + kNidOffset;
    const Nid head = read_nid(nid_bytes, kNidHead);
    const std::size_t length = large_entry_bytes(head.size, head.type);
    if (at_ + length > end) return std::nullopt;
    const std::uint32_t status = view_.in_our_order(read_at<std::uint32_t>(view_.bytes_, at_));
    at_ += length;
    if (head.is_any() || head.size > Nid::kLargeSize) continue;
    return PingEntry{.nid = read_nid(nid_bytes, kNidHead + head.size), .status = status};
  }
  return std::nullopt;
}

std::optional<Nid> PingView::primary() const {
  if (has(kPingLargeAddress) && has(kPingPrimaryLarge)) {
    Walk entries = walk();
    while (const auto entry = entries.next()) {
      if (entry->nid.is_large()) return entry->nid;
    }
  }
  if (info_.entries < 2) return std::nullopt;
  Walk entries = walk();
  const auto second = entries.next();
  return second ? std::optional(second->nid) : std::nullopt;
}

std::size_t ping_bytes(std::span<const PingEntry> interfaces) {
  std::size_t bytes = kFirstEntry + sizeof(NiStatusWire);
  for (const PingEntry& entry : interfaces)
    bytes += entry_bytes(entry.nid);
  return bytes;
}

Result<std::size_t> build_ping(const PingSource& source, std::span<std::byte> out) {
  if (source.interfaces.size() >= kInterfacesMax) return std::unexpected(Errc::kTooBig);
  if (!std::ranges::all_of(source.interfaces, may_be_told)) return std::unexpected(Errc::kInvalid);
  const std::size_t bytes = ping_bytes(source.interfaces);
  if (bytes > out.size()) return std::unexpected(Errc::kNoSpace);
  std::ranges::fill(out.first(bytes), std::byte{0});

  PingInfoWire info{.magic = kPingMagic,
                    .features = kPingNiStatus | kPingMultiRail,
                    .pid = source.pid,
                    .entries = 1};
  if (!source.routing) info.features |= kPingRouteDisabled;
  if (source.discovery) info.features |= kPingDiscovery;
  std::size_t at = kFirstEntry + sizeof(NiStatusWire);
  for (const PingEntry& entry : source.interfaces) {
    if (entry.nid.is_large()) continue;
    write_at(
        out, at,
        NiStatusWire{.nid = to_nid64(entry.nid).value, .status = entry.status, .total_size = 0});
    at += sizeof(NiStatusWire);
    ++info.entries;
  }
  const bool any_large = at < bytes;
  for (const PingEntry& entry : source.interfaces) {
    if (!entry.nid.is_large()) continue;
    write_at(out, at, entry.status);
    std::memcpy(out.data() + at + kNidOffset, &entry.nid, kNidHead + entry.nid.size);
    at += entry_bytes(entry.nid);
  }
  if (any_large) {
    info.features |= kPingLargeAddress;
    if (source.interfaces.front().nid.is_large()) info.features |= kPingPrimaryLarge;
  }
  write_at(out, 0, info);
  write_at(out, kFirstEntry,
           NiStatusWire{.nid = kNid64Loopback,
                        .status = source.sequence,
                        .total_size = any_large ? static_cast<std::uint32_t>(bytes) : 0});
  PLNET_CHECK(at == bytes, "every interface has been written");
  return bytes;
}

bool set_ping_status(std::span<std::byte> built, const Nid& nid, std::uint32_t status) {
  PLNET_CHECK(status == kNiUp || status == kNiDown, "an interface is up or down");
  PLNET_CHECK(PingView::parse(built).has_value(), "a buffer that build_ping() has made");
  const auto info = read_at<PingInfoWire>(built, 0);
  std::size_t at = kFirstEntry + sizeof(NiStatusWire);
  const std::size_t large_at = kFirstEntry + info.entries * sizeof(NiStatusWire);
  for (; at < large_at; at += sizeof(NiStatusWire)) {
    if (nid.is_large() || read_at<NiStatusWire>(built, at).nid != to_nid64(nid).value) continue;
    write_at(built, at + offsetof(NiStatusWire, status), status);
    return true;
  }
  while (nid.is_large() && at + kNidOffset + kNidHead + nid.size <= built.size()) {
    const Nid there = read_nid(built.data() + at + kNidOffset, kNidHead);
    if (there.size == nid.size &&
        std::memcmp(built.data() + at + kNidOffset, &nid, kNidHead + nid.size) == 0) {
      write_at(built, at, status);
      return true;
    }
    at += large_entry_bytes(there.size, there.type);
  }
  return false;
}

}  // namespace plnet::lnet
