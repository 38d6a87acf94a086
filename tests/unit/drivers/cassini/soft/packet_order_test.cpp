// SPDX-License-Identifier: BSD-3-Clause
// The order of data and events, which the process may rely on.
#include "tests/unit/drivers/cassini/soft/packet_rig.hpp"

namespace plnet::cassini::soft::packet_order_test {
namespace {

using rigs::End;
using rigs::Host;
using rigs::HostOptions;
using rigs::quick;

// A wire that looks at the event queue of the sender as a packet with data leaves.
class EventsBeforeData final : public Wire {
 public:
  explicit EventsBeforeData(Wire& wire) : wire_(wire) {}
  [[nodiscard]] std::size_t packet_bytes_max() const override { return wire_.packet_bytes_max(); }
  [[nodiscard]] std::size_t packet_bytes_max_to(NicAddress to) const override {
    return wire_.packet_bytes_max_to(to);
  }
  [[nodiscard]] bool keeps_all() const override { return true; }
  [[nodiscard]] bool send(NicAddress to, std::span<const std::byte> header,
                          std::span<const std::byte> payload) override {
    if (!payload.empty() && sender != nullptr) {
      ++packets;
      if (sender->events.next()) ++early;
    }
    return wire_.send(to, header, payload);
  }
  unsigned poll(std::uint64_t now_ns, WireEvents& events) override {
    return wire_.poll(now_ns, events);
  }
  [[nodiscard]] CounterView counters() const override { return wire_.counters(); }

  Host* sender = nullptr;
  unsigned packets = 0, early = 0;

 private:
  Wire& wire_;
};

// The process may reuse the memory after the event.
TEST(SoftPacket, TheDataOfAGetIsReadBeforeTheTargetIsTold) {
  InprocCable cable({});
  End one(cable, 1, quick());
  Nic nic({.address = 2});
  InprocWire plain(cable, 2);
  EventsBeforeData wire(plain);
  PacketPort port(nic, wire, quick());
  const auto step = [&](std::uint64_t now) {
    one.port.step(now);
    port.step(now);
  };
  Host a(one.nic, step, HostOptions{.address = 1});
  Host b(nic, step, HostOptions{.address = 2, .pid = 9});
  wire.sender = &b;
  for (const std::uint32_t length : {8U, 9000U}) {
    b.append(b.arena.data(), 1U << 21, 6, 2);
    a.get(b, a.arena.data(), length, 2);
    a.expect(EventType::kReply);
    b.expect(EventType::kGet);
  }
  EXPECT_GT(wire.packets, 5U);
  EXPECT_EQ(wire.early, 0U);
}

}  // namespace
}  // namespace plnet::cassini::soft::packet_order_test
