// SPDX-License-Identifier: BSD-3-Clause
// The message path of the Cassini driver allocates nothing.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "bench/drivers/cassini_stub.hpp"
#include "drivers/net/cassini/endpoint.hpp"
#include "tests/unit/drivers/counting_new.hpp"

namespace plnet::cassini::no_allocation_test {
namespace {

using testrig::heap_calls_of;
using testrig::HeapCalls;

class Count final : public kfilnd::EndpointEvents {
 public:
  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override {
    ended += burst.size();
  }
  void on_link(bool, std::uint64_t) override {}
  std::size_t ended = 0;
};

TEST(CassiniNoAllocation, SendsTaggedBuffersMessagesAndCancels) {
  static std::array<std::byte, 1U << 16U> memory{};
  ArenaTable arenas;
  (void)arenas.add({.base = memory.data(), .size = memory.size()}).value();
  bench::CassiniStub stub;
  Count count;
  auto device = Device::open(stub, {.pid = 1}, arenas).value();
  EndpointConfig config;
  config.link_period = std::chrono::hours(1);  // reading the link state may allocate
  auto endpoint = Endpoint::create(*device, config, count).value();
  Instant now{};
  const auto turn = [&] {
    (void)endpoint->poll(now += std::chrono::microseconds(1));
    stub.send.set_read(std::max(stub.send.rung(), 4U));
    stub.target.set_read(std::max(stub.target.rung(), 4U));
  };
  turn();
  stub.receive.put(StateChangeEvent{.ptlte_state = 2}, EventType::kStateChange);
  turn();
  const kfilnd::Target peer{endpoint->resolve(2, 1).value(), 0};
  const Fragment fragment{{0, 0}, 4096};
  const lnet::Payload payload{{&fragment, 1}, 0, 4096};
  const std::array<std::byte, 64> header{};
  std::uint32_t round = 0;
  const auto work = [&] {
    EXPECT_TRUE(endpoint->send(peer, header, payload, 0).error() == Errc::kTooBig);
    EXPECT_TRUE(endpoint->send(peer, header, {}, 1));
    EXPECT_TRUE(endpoint->read_tagged(peer, 9, payload, 2));
    EXPECT_TRUE(endpoint->post_tagged(peer, round, true, payload, 3));
    EXPECT_TRUE(endpoint->post_tagged(peer, round + 1'000'000, true, payload, 4));
    turn();
    EXPECT_TRUE(endpoint->cancel_tagged(round + 1'000'000));
    turn();
    const unsigned first = 2 * round % 1088 + 1;
    stub.receive.put(TargetLongEvent{.match_bits = match_bits::tagged_rma(round),
                                     .buffer_id = static_cast<std::uint16_t>(first),
                                     .mlength = 4096,
                                     .rlength = 4096},
                     EventType::kGet);
    stub.receive.put(TargetLongEvent{.buffer_id = static_cast<std::uint16_t>(first + 1)},
                     EventType::kUnlink);
    // Operation ids: the last two, released in turn.
    for (const unsigned index : {0U, 1U}) {
      const std::uint64_t generation = round;
      stub.transmit.put(InitiatorEvent{.user_ptr = generation << 32U | index, .mlength = 4096},
                        EventType::kAck);
    }
    turn();
    turn();
    ++round;
  };
  for (unsigned i = 0; i < 10; ++i)
    work();
  const std::size_t before = count.ended;
  EXPECT_EQ(heap_calls_of([&] {
              for (unsigned i = 0; i < 1000; ++i)
                work();
            }),
            HeapCalls{});
  EXPECT_EQ(count.ended - before, 4000U) << "everything has ended";
}

}  // namespace
}  // namespace plnet::cassini::no_allocation_test
