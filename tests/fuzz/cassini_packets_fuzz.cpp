// SPDX-License-Identifier: BSD-3-Clause
// A software NIC with operations of its own under way, and strangers on the wire who know the
// format and read along: never a crash, each command ends once, and its event queue stays readable.
// The first byte of each step says what happens.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "drivers/net/cassini/soft/atomic.hpp"
#include "drivers/net/cassini/soft/packet_port.hpp"
#include "lib/base/check.hpp"
#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft::packets_fuzz {
namespace {

constexpr NicAddress kOwn = 1, kPeers = 6;  // 1 … 6, ourselves among them: anybody may claim it
constexpr unsigned kPid = 7, kMessageMax = 2000;
constexpr unsigned kStepsMax = 20'000;  // more than all that may be under way needs to end
using Bytes = std::span<const std::uint8_t>;
using Wired = layout::WirePacket;

// Takes what is sent and keeps the latest for strangers to answer; hands up what they say.
class OpenWire final : public Wire {
 public:
  struct Sent {
    NicAddress to = 0;
    PacketHeader header{};
  };
  [[nodiscard]] std::size_t packet_bytes_max() const override { return 600; }
  [[nodiscard]] std::size_t packet_bytes_max_to(NicAddress to) const override {
    return to % 2 == 0 ? 300 : 600;
  }
  [[nodiscard]] bool send(NicAddress to, std::span<const std::byte> header,
                          std::span<const std::byte> payload) override {
    if (full) return false;
    PLNET_CHECK(decode(header).has_value(), "what we say is understood");
    PLNET_CHECK(header.size() + payload.size() <= packet_bytes_max(), "no packet is longer");
    Sent& place = latest[count++ % latest.size()];
    place.to = to;
    std::ranges::copy(header, place.header.begin());
    return true;
  }
  unsigned poll(std::uint64_t /*now_ns*/, WireEvents& events) override {
    if (std::exchange(changed, false)) events.on_link(true, own);
    if (coming.empty()) return 0;
    const auto now = std::exchange(coming, {});
    for (const auto& [from, bytes] : now)
      events.on_packet(from, bytes);
    return static_cast<unsigned>(now.size());
  }
  [[nodiscard]] CounterView counters() const override { return {}; }

  std::array<Sent, 16> latest;
  std::size_t count = 0;
  std::vector<std::pair<NicAddress, std::vector<std::byte>>> coming;
  bool full = false, changed = false;
  NicAddress own = kOwn;
};

PortOptions few() {
  PortOptions options{.payload_max = 512,
                      .messages_max = 16,
                      .source_connections = 6,
                      .target_connections = 4,
                      .message_states = 2,
                      .remembered_responses = 8};
  options.retry.down_nid_ns = 1'000'000'000;
  return options;
}

class World {
 public:
  World() {
    for (const unsigned bits : {1U, 2U}) {
      host_.append(host_.arena.data() + bits * 4096, 4096, bits, bits, [&](std::byte* at) {
        layout::Target::UseOnce::set(at, 0);
        layout::Target::ManageLocal::set(at, bits - 1);
      });
    }
    for (const ListKind list : {ListKind::kOverflow, ListKind::kRequest}) {
      const auto number = static_cast<unsigned>(list);
      host_.append(host_.arena.data() + 8192 + number * 2048UL, 2048, 3 + number, 3 - number,
                   [number](std::byte* at) {
                     layout::Target::PtlList::set(at, number);
                     layout::Target::UseOnce::set(at, 0);
                     layout::Target::ManageLocal::set(at, 1);
                     layout::Target::MinFree::set(at, 256);
                   });
    }
  }
  void step(std::uint8_t what, Bytes bytes) {
    const std::uint8_t first = bytes.empty() ? 0 : bytes[0];
    switch (what % 8) {
      case 0: hear(first % kPeers, std::as_bytes(bytes)); break;
      case 1:
      case 2: ask(bytes); break;
      case 3:
      case 4: answer(bytes); break;
      case 5: command(bytes); break;
      case 6:
        if (first % 4 == 0) change_address(kOwn + first / 4 % 2);
        if (first % 4 == 1) (void)nic_.invalidate(host_.portal, 1 + first / 4 % 2, 0);
        wire_.full = first % 4 == 2;
        if (first % 4 == 3) nic_.tables().strict = first / 4 % 2 != 0;
        if (first % 16 == 15) claim();
        break;
      default: now_ns_ += std::uint64_t{1} << (first % 37);
    }
    run(now_ns_ + 1);
  }
  void check() {
    wire_.full = false;
    // No answer comes any more: all commands under way end by themselves.
    for (unsigned i = 0; under_way_ > 0 && i < kStepsMax; ++i)
      run(std::max(now_ns_ + 1, std::min(port_.next_due(), now_ns_ + 4'000'000'000)));
    PLNET_CHECK(under_way_ == 0, "every command ends");
    const unsigned before = state_changes_;
    host_.set_state(PortalState::kDisabled);
    for (unsigned i = 0; i < kStepsMax && state_changes_ == before; ++i)
      run(now_ns_ + 1);
    PLNET_CHECK(state_changes_ > before, "the event queue can be read to its end");
  }

 private:
  void run(std::uint64_t now_ns) {
    now_ns_ = now_ns;
    port_.step(now_ns_);
    while (const auto event = host_.events.next()) {
      if (event->type == EventType::kStateChange) ++state_changes_;
      if (event->type != EventType::kAck && event->type != EventType::kReply) continue;
      PLNET_CHECK(under_way_ > 0, "no command ends twice");
      --under_way_;
    }
  }
  void hear(NicAddress from, std::span<const std::byte> bytes) {
    wire_.coming.emplace_back(from, std::vector(bytes.begin(), bytes.end()));
  }
  // The rest of a packet that is as good as any, if not quite likely.
  static void spoil(PacketHeader& header, Bytes bytes, unsigned often) {
    for (const FieldAccess& field : Wired::fields()) {
      if (bytes.size() < 2) return;
      if (bytes[0] % often == 0) field.set(header.data(), bytes[1]);
      bytes = bytes.subspan(2);
    }
  }
  void mend(PacketHeader& header, NicAddress source, NicAddress destination) {
    std::byte* const at = header.data();
    Wired::Magic::set(at, kWireMagic);
    Wired::Version::set(at, kWireVersion);
    Wired::SourceNid::set(at, source);
    Wired::Nid::set(at, destination);
  }
  void ask(Bytes bytes) {
    if (bytes.size() < 8) return;
    const NicAddress from = bytes[0] % kPeers + 1;
    const std::uint32_t length = bytes[6] * 8U;
    const bool get = bytes[1] % 4 == 0;
    Packet packet{.type = bytes[1] % 8 < 6 ? PacketType::kFirst : PacketType::kContinuation,
                  .syn = bytes[2] % 4 != 0,
                  .eom = bytes[2] % 2 == 0,
                  .connection = static_cast<std::uint16_t>(bytes[3] % 4),
                  .sequence = static_cast<std::uint16_t>(1 + bytes[4] % 8),
                  .cleared = static_cast<std::uint16_t>(bytes[4] / 32),
                  .epoch = bytes[5] % 4U,
                  .message_id = bytes[5] / 128U,
                  .length = std::min(length, 512U),
                  .offset = bytes[2] / 64U * 512U,
                  .message = {.operation = get ? Operation::kGet : Operation::kPut,
                              .index = static_cast<std::uint8_t>(get ? 128 : 0),
                              .vni = rigs::kVni,
                              .pid = kPid,
                              .length = length,
                              .match_bits = 1 + bytes[7] % 2U}};
    packet.message.rendezvous = !get && bytes[7] % 16 >= 12;
    if (packet.message.rendezvous) {
      packet.message.eager_length = packet.length;
      packet.message.length += bytes[3] * 16U;
      packet.message.rendezvous_id = bytes[3];
    }
    packet.message.match_bits += bytes[7] / 64U;
    const bool is_atomic = bytes[7] % 16 >= 14;
    packet.message.rendezvous = packet.message.rendezvous && !is_atomic;
    if (is_atomic) {
      packet.message.operation =
          bytes[7] % 16 == 14 ? Operation::kAtomic : Operation::kFetchingAtomic;
      packet.message.length = packet.length = 1U << bytes[6] % 5U;
    }
    if (bytes[1] % 8 == 7)
      packet.type = bytes[1] % 16 == 7 ? PacketType::kClear : PacketType::kClose;
    PacketHeader header = encode(packet);
    spoil(header, bytes.subspan(8), 16);
    mend(header, from, nic_.address());
    std::vector<std::byte> whole(header.begin(), header.end());
    if (is_atomic) {
      const AtomicRequest request{.operation = static_cast<AtomicOperation>(bytes[3] % 16),
                                  .compare = static_cast<AtomicCompare>(bytes[4] % 8),
                                  .type = static_cast<AtomicType>(bytes[6] % 16)};
      const auto payload = std::as_bytes(std::span(&request, 1));
      whole.insert(whole.end(), payload.begin(), payload.end() - bytes[0] / 248);
    } else {
      whole.resize(header.size() + (get ? 0 : packet.length));
    }
    hear(from, whole);
  }
  void answer(Bytes bytes) {
    if (bytes.size() < 4 || wire_.count == 0) return;
    const std::size_t known = std::min(wire_.count, wire_.latest.size());
    const OpenWire::Sent& sent = wire_.latest[bytes[0] % known];
    PacketHeader header = sent.header;
    constexpr std::array kTypes{PacketType::kAck, PacketType::kNack, PacketType::kCleared,
                                PacketType::kClosed};
    Wired::Type::set(header.data(), static_cast<std::uint64_t>(kTypes[bytes[1] % kTypes.size()]));
    Wired::Code::set(header.data(), bytes[2] % 4 == 0 ? bytes[2] / 4 : 1);
    Wired::MLength::set(header.data(), Wired::RequestLength::get(header.data()));
    spoil(header, bytes.subspan(4), 8);
    const NicAddress from = bytes[3] % 8 == 0 ? bytes[3] / 8 % kPeers : sent.to;
    mend(header, nic_.address(), from);
    std::vector<std::byte> whole(header.begin(), header.end());
    whole.resize(header.size() + bytes[3] * 4U);
    hear(from, whole);
  }
  void command(Bytes bytes) {
    if (bytes.size() < 3 || under_way_ >= 64) return;  // fewer than there are slots
    const std::uint32_t length = bytes[1] * 8U % kMessageMax;
    const NicAddress to = 2U + bytes[0] % (kPeers - 1);
    ++under_way_;
    // A strict NIC refuses these, which ends its queue.
    if (bytes[2] % 8 >= 6 && !nic_.tables().strict) return atomic(to, bytes);
    const bool is_rendezvous = bytes[2] % 8 == 5 && !nic_.tables().strict;
    const auto put = bytes[2] % 2 == 0 ? DmaOpcode::kPut : DmaOpcode::kGet;
    host_.dma(is_rendezvous ? DmaOpcode::kRendezvousPut : put, host_, host_.arena.data(), length, 1,
              1, [&](std::byte* at) {
                layout::FullDma::Nid::set(at, to);
                layout::FullDma::Restricted::set(at, bytes[2] % 16 == 15 ? 1 : 0);
                if (!is_rendezvous) return;
                layout::FullDma::UseOffsetForGet::set(at, 1);
                layout::FullDma::EagerLength::set(at, bytes[1] * 4U);
              });
  }
  void atomic(NicAddress to, Bytes bytes) {
    using Dma = layout::DmaAtomic;
    rigs::Slots slot;
    std::byte* const at = slot.data();
    const unsigned type = bytes[1] % kAtomicTypes;
    rigs::head(at, CommandType::kDma, 2,
               bytes[2] % 2 == 0 ? DmaOpcode::kAtomic : DmaOpcode::kFetchingAtomic);
    Dma::EndpointDefined::set(at, endpoint_defined(kPid, 0));
    Dma::Nid::set(at, to);
    Dma::Lac::set(at, host_.lac());
    Dma::WriteLac::set(at, host_.lac());
    Dma::EventSendDisable::set(at, 1);
    Dma::ReadAddr::set(at, host_.iova(host_.arena.data()));
    Dma::WriteAddr::set(at, host_.iova(host_.arena.data() + 64));
    Dma::RequestLen::set(at, atomic_bytes(static_cast<AtomicType>(type)));
    Dma::Eq::set(at, host_.eq);
    Dma::AtomicKind::set(at, type);
    Dma::AtomicOp::set(at, bytes[1] / 16U);
    Dma::MatchBits::set(at, 1);
    host_.tx.push(at, 2);
    host_.tx.ring();
  }
  // An entry for what came before it, and one for what nothing will match.
  void claim() {
    for (const unsigned bits : {2U, 3U, 4U})
      host_.append(host_.arena.data() + 4096, 4096, 8, bits);
  }
  void change_address(NicAddress own) {
    wire_.own = own;
    wire_.changed = true;
  }

  Nic nic_{{.address = kOwn,
            .limits = {.transmit_queues = 4,
                       .target_queues = 4,
                       .event_queues = 4,
                       .portals = 4,
                       .counters = 4,
                       .address_contexts = 8,
                       .resource_groups = 4,
                       .list_entries = 32,
                       .triggered = 4,
                       .mappings = 8}}};
  OpenWire wire_;
  PacketPort port_{nic_, wire_, few()};
  std::uint64_t now_ns_ = 0;
  unsigned under_way_ = 0, state_changes_ = 0;
  rigs::Host host_{nic_,
                   [this](std::uint64_t) { port_.step(++now_ns_); },
                   {.address = kOwn, .pid = kPid, .arena = 16384, .eq_bytes = 16384}};
};

}  // namespace
}  // namespace plnet::cassini::soft::packets_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plnet::cassini::soft::packets_fuzz;
  World world;
  Bytes left(data, size);
  while (left.size() >= 2) {
    const std::uint8_t what = left[0];
    const std::size_t bytes = std::min<std::size_t>(left[1], left.size() - 2);
    world.step(what, left.subspan(2, bytes));
    left = left.subspan(2 + bytes);
  }
  world.check();
  return 0;
}
