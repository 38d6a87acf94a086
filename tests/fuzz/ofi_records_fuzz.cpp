// SPDX-License-Identifier: BSD-3-Clause
// Packets between endpoints of libfabric's families: their records name operations and buffers of
// ours, correctly or not. The packets and reads of our own operations end in any order or find no
// room. Each cookie comes back once, and at the end all are back.
#include <array>
#include <set>
#include <vector>

#include "drivers/net/ofi/emulation.hpp"
#include "tests/fuzz/ofi_wire.hpp"
#include "tests/fuzz/script.hpp"

namespace plnet::ofi::records_fuzz {
namespace {

using kfilnd::FabricEvent;
using std::chrono::milliseconds, std::chrono::seconds;

constexpr unsigned kStepsMax = 200;
constexpr std::uint32_t kPeers = 3;  // peers that we have resolved
constexpr std::uint32_t kMessageMax = 512;
constexpr std::uint64_t kArenaBytes = 1U << 16U;

EndpointConfig few() {
  return {.limits = {.operations_max = 8, .message_bytes_max = kMessageMax},
          .tagged_max = 4,
          .buffers_max = 4,
          .receive_slots = 4,
          .record_packets = 6,
          .links_max = 12,
          .strangers_max = 3,
          .bulk_blocks = 2,
          .bulk_bytes_max = 4096};
}

class Run {
 public:
  explicit Run(fuzz::Script& script)
      : script_(script), bytes_(kArenaBytes), arenas_(table()), memory_(arenas_, 2, 4096) {
    context_.own = {.nic = 1};
    context_.now = Instant(std::chrono::hours(1));
    Transmitter& tx = emulation_.transmitter();
    PLNET_CHECK(memory_.add(wire_.port.domain, *wire_.port.info), "registered");
    const Region* const out = memory_.add(wire_.port.domain, *wire_.port.info, tx.memory());
    const Region* const in =
        memory_.add(wire_.port.domain, *wire_.port.info, emulation_.receiver().memory());
    emulation_.links().attach(wire_.port.addresses);
    tx.attach(wire_.port, *out);
    emulation_.receiver().attach(wire_.port, *in);
    emulation_.begin();
    for (std::size_t i = 0; i < peers_.size(); ++i)
      peers_[i].address = emulation_.links().resolve({.nic = 2 + i}).value();
  }

  void run() {
    for (unsigned i = 0; i < kStepsMax && !script_.empty(); ++i) {
      step();
      turn(milliseconds(1));
    }
    wire_.is_full = false;
    context_.shut_down = true;
    emulation_.shut_down();
    for (unsigned i = 0; i < 200 && !emulation_.quiet(); ++i) {
      while (!wire_.under_way.empty())
        wire_.end(0, true);
      turn(seconds(1));
    }
    PLNET_CHECK(emulation_.quiet() && open_.empty(), "all ends");
  }

 private:
  const ArenaTable& table() {
    (void)table_.add({.base = bytes_.data(), .size = bytes_.size()}).value();
    return table_;
  }
  void turn(Duration time) {
    context_.now += time;
    emulation_.flush();
    (void)emulation_.transmitter().poll(32);
    while (context_.completions.size() > 0) {
      const kfilnd::FabricCompletion one = context_.completions.pop();
      if (one.event == FabricEvent::kMessage && !one.buffer_unlinked) continue;
      PLNET_CHECK(open_.erase(one.cookie) == 1, "a cookie comes back once");
    }
  }

  void step() {
    switch (script_.below(14)) {
      case 0:
      case 1:
      case 2:
      case 3: return records();
      case 4: return message();
      case 5: return emulation_.on_packet(script_.bytes(script_.byte()));
      case 6:
        return begin([&](auto cookie) {
          return emulation_.send(peer(), std::span(bytes_).first(16), payload(), cookie);
        });
      case 7:
        return begin([&](auto cookie) {
          return emulation_.post_tagged(peer(), tag(), script_.below(2) != 0, payload(), cookie);
        });
      case 8:
        return begin(
            [&](auto cookie) { return emulation_.read(peer(), tag(), payload(), cookie); });
      case 9:
        return begin(
            [&](auto cookie) { return emulation_.write(peer(), tag(), payload(), cookie); });
      case 10:
        return begin([&](auto cookie) {
          return emulation_.answer(peer(), tag(), script_.number<std::uint64_t>(), cookie);
        });
      case 11: return wire_.end(script_.byte(), script_.below(4) != 0);
      case 12:
        wire_.is_full = script_.below(2) != 0;
        return turn(script_.below(2) == 0 ? milliseconds(30) : seconds(script_.byte() % 30));
      default:
        if (script_.below(2) == 0) return (void)emulation_.cancel_tagged(tag());
        return begin([&](auto cookie) {
          return emulation_.receiver().post_multi_receive({{0, 0}, 2 * kMessageMax}, cookie);
        });
    }
  }
  template <class Post>
  void begin(Post&& post) {
    const std::uint64_t cookie = ++last_;
    open_.insert(cookie);
    if (!post(cookie)) open_.erase(cookie);
  }
  kfilnd::Target peer() {
    kfilnd::Target to = peers_[script_.below(kPeers)];
    to.receive_context = static_cast<std::uint8_t>(script_.below(2));
    return to;
  }
  kfilnd::Tag tag() { return script_.below(6); }
  // A payload in one piece of the arena, or in two, which takes a block.
  lnet::Payload payload() {
    const std::uint32_t length = script_.number<std::uint16_t>() % 5000;
    static constexpr std::array<Fragment, 2> kWhole{Fragment{{0, 1024}, 8192}, {{0, 0}, 0}};
    static constexpr std::array<Fragment, 2> kTorn{Fragment{{0, 1024}, 100}, {{0, 20'000}, 8192}};
    return {.fragments = script_.below(2) == 0 ? std::span(kWhole).first(1) : std::span(kTorn),
            .length = length};
  }
  // The name of an operation or buffer that we sent lately, or any name.
  std::uint64_t name() {
    const std::uint8_t which = script_.byte();
    if (which < wire_.names.size()) return wire_.names[which];
    return which == 255 ? script_.number<std::uint64_t>() : 0;
  }
  PacketHeader header(PacketKind kind) {
    PacketHeader header{.kind = kind, .incarnation = 1 + script_.below(2)};
    header.from = {.nic = 2 + script_.below(6)};
    header.from.context = static_cast<std::uint8_t>(script_.below(2));
    return header;
  }
  void records() {
    PacketHeader head = header(PacketKind::kRecords);
    head.records = static_cast<std::uint16_t>(1 + script_.below(3));
    std::vector<std::byte> packet(PacketHeader::kBytes + head.records * Record::kBytes);
    encode(head, std::span(packet).first<PacketHeader::kBytes>());
    for (std::size_t i = 0; i < head.records; ++i) {
      const Record record{.kind = static_cast<RecordKind>(1 + script_.below(10)),
                          .status = static_cast<std::uint16_t>(script_.below(3) == 0 ? 11 : 0),
                          .tag = tag(),
                          .operation = name(),
                          .other = name(),
                          .address = script_.number<std::uint64_t>(),
                          .key = script_.byte(),
                          .length = script_.number<std::uint32_t>(),
                          .lease_us = script_.number<std::uint32_t>()};
      encode(record, packet.data() + PacketHeader::kBytes + i * Record::kBytes);
    }
    emulation_.on_packet(packet);
  }
  void message() {
    const auto body = script_.bytes(script_.number<std::uint16_t>() % (kMessageMax + 50));
    std::vector<std::byte> packet(PacketHeader::kMessageBytes);
    encode(header(PacketKind::kMessage), std::span(packet).first<PacketHeader::kBytes>());
    packet.insert(packet.end(), body.begin(), body.end());
    emulation_.on_packet(packet);
  }

  fuzz::Script& script_;
  std::vector<std::byte> bytes_;
  ArenaTable table_;
  const ArenaTable& arenas_;
  KeptWire wire_;
  Context context_{few()};
  Memory memory_;
  Emulation emulation_{context_, memory_, {.family = Family::kInet}};
  std::array<kfilnd::Target, kPeers> peers_{};
  std::set<std::uint64_t> open_;
  std::uint64_t last_ = 0;
};

}  // namespace
}  // namespace plnet::ofi::records_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plnet::fuzz::Script script(data, size);
  plnet::ofi::records_fuzz::Run(script).run();
  return 0;
}
