// SPDX-License-Identifier: BSD-3-Clause
// A link layer between a stranger who may know everything and a clock that jumps: never a crash, no
// record or packet beyond the limits. The first byte of each step says what happens.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "drivers/net/cassini/soft/link/crc32c.hpp"
#include "drivers/net/cassini/soft/link/link_layer.hpp"
#include "lib/base/check.hpp"

using namespace plnet::cassini::soft;
using namespace plnet::cassini::soft::link;

namespace {

constexpr LinkOptions kOptions{
    .packet_bytes = 256, .peers = 4, .window = 16, .send_packets = 24, .store_packets = 8};
constexpr NicAddress kOwn = 1;

class World final : public FramePort, public WireEvents {
 public:
  World() { layer_.set_link(true, 0); }

  void step(std::uint8_t what, std::span<const std::uint8_t> bytes) {
    const std::uint8_t first = bytes.empty() ? 0 : bytes[0];
    switch (what % 6) {
      case 0: return hear(bytes, false);
      case 1:
      case 2: return hear(bytes, true);
      case 3:
        now_ns_ += std::uint64_t{1} << (first % 31);
        (void)layer_.transmit(now_ns_, *this);
        return;
      case 4: (void)layer_.send(first % 8, std::as_bytes(bytes), {}); return;
      default:
        if (first == 0) layer_.set_address(kOwn + first % 2);
        layer_.set_link(first % 2 == 0, now_ns_);
    }
  }

  std::span<std::byte> begin_frame(std::size_t bytes) override {
    PLNET_CHECK(bytes <= frame_.size(), "no frame is longer");
    size_ = bytes;
    return frame_;
  }
  void end_frame() override {
    PLNET_CHECK(decode_frame(std::span(frame_).first(size_)).has_value(), "what we say is whole");
  }
  void on_packet(NicAddress from, std::span<const std::byte> packet) override {
    (void)layer_.send(from, packet.first(std::min<std::size_t>(packet.size(), 8)), {});
  }
  void on_link(bool, NicAddress) override {}

  void check() const {
    PLNET_CHECK(layer_.stats().get(LinkCount::kPeers) <= kOptions.peers, "the table is bounded");
  }

 private:
  // `whole`: as a stranger would who knows the format and our sessions.
  void hear(std::span<const std::uint8_t> bytes, bool whole) {
    std::vector<std::byte> copy(bytes.size());
    std::ranges::copy(std::as_bytes(bytes), copy.begin());
    if (whole) mend(copy);
    layer_.receive(copy, now_ns_, *this);
  }
  void mend(std::vector<std::byte>& bytes) {
    bytes.resize(std::max(bytes.size(), kFrameHeaderBytes));
    FrameWire wire;
    std::memcpy(&wire, bytes.data() + kEthernetBytes, sizeof wire);
    wire.magic = kFrameMagic;
    wire.version = kFrameVersion;
    wire.type = static_cast<std::uint8_t>(1 + wire.type % 8);
    wire.flags &= kKnownFlags;
    wire.reserved = 0;
    wire.source %= 8;
    wire.destination = wire.type == 1 ? kEverybody : kOwn;
    wire.length = static_cast<std::uint16_t>(
        std::min<std::size_t>(wire.length, bytes.size() - kFrameHeaderBytes));
    if (const Peer* peer = layer_.find_peer(wire.source); peer != nullptr) {
      // Half of them believable; the numbers near what would be right.
      if (wire.destination_epoch % 2 == 0) wire.destination_epoch = peer->own_epoch;
      if (wire.source_epoch % 2 == 0) wire.source_epoch = peer->peer_epoch;
      wire.sequence = peer->receive.next() + (wire.sequence % 24) - 2;
      wire.ack = peer->send.first() + (wire.ack % 24) - 2;
    }
    bytes[12] = std::byte{kEtherType >> 8};
    bytes[13] = std::byte{kEtherType & 0xff};
    std::memcpy(bytes.data() + kEthernetBytes, &wire, sizeof wire);
    const std::span<const std::byte> all(bytes);
    std::uint32_t crc = crc32c(kCrcStart, all.subspan(kFrameHeaderBytes, wire.length));
    crc = crc32c(crc, all.first(offsetof(EthernetWire, type)));
    crc = ~crc32c(crc, all.subspan(kEthernetBytes, offsetof(FrameWire, checksum)));
    std::memcpy(bytes.data() + kEthernetBytes + offsetof(FrameWire, checksum), &crc, sizeof crc);
  }

  LinkLayer layer_{kOptions, kOwn, {{2, 0, 0, 0, 0, 1}}};
  std::uint64_t now_ns_ = 1;
  std::array<std::byte, 2048> frame_{};
  std::size_t size_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  World world;
  std::span<const std::uint8_t> left(data, size);
  while (left.size() >= 2) {
    const std::uint8_t what = left[0];
    const std::size_t bytes = std::min<std::size_t>(left[1], left.size() - 2);
    world.step(what, left.subspan(2, bytes));
    world.check();
    left = left.subspan(2 + bytes);
  }
  return 0;
}
