// SPDX-License-Identifier: BSD-3-Clause
// A complete node allocates nothing after start: neither for messages and bulk, nor for losses, nor
// for connections that are opened and closed.
#include <array>
#include <memory>

#include <gtest/gtest.h>

#include "drivers/net/cassini/endpoint.hpp"
#include "drivers/net/cassini/soft/node.hpp"
#include "lib/base/random.hpp"
#include "tests/unit/drivers/cassini/joint/link_wire.hpp"
#include "tests/unit/drivers/counting_new.hpp"

namespace plnet::cassini::node_no_allocation_test {
namespace {

class Sum final : public kfilnd::EndpointEvents {
 public:
  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override {
    for (const auto& one : burst) {
      (one.event == kfilnd::FabricEvent::kMessage ? messages : ended) += 1;
      failed += one.status.has_value() ? 0U : 1U;
      if (one.buffer_unlinked || one.event == kfilnd::FabricEvent::kBufferUnlinked) again = true;
    }
  }
  void on_link(bool, std::uint64_t) override {}
  std::uint64_t messages = 0, ended = 0, failed = 0;
  bool again = false;
};

struct Half {
  std::unique_ptr<soft::LinkWire> wire;
  std::unique_ptr<soft::Node> node;
  std::vector<std::byte> memory;
  ArenaTable arenas;
  std::unique_ptr<Device> device;
  Sum sum;
  std::unique_ptr<Endpoint> endpoint;
};

TEST(CassiniNodeNoAllocation, MessagesBulkLossesAndConnections) {
  std::array<Half, 2> halves;
  Random random(3);
  for (unsigned i = 0; i < 2; ++i) {
    Half& half = halves[i];
    Half& other = halves[1 - i];
    half.wire = std::make_unique<soft::LinkWire>(
        soft::link::LinkOptions{.peers = 4, .seed = i + 1}, i + 1,
        soft::link::Mac{{2, 0, 0, 0, 0, static_cast<std::uint8_t>(i + 1)}},
        [&other, &random](std::span<const std::byte> frame) {
          if (!random.chance(0.02)) other.wire->hear(frame);
        });
    soft::NodeOptions options{.nic = {.address = i + 1}, .port = {}};
    options.port.source_connections = options.port.target_connections = 32;
    options.port.retry.time_divisor = 50;
    half.node = std::make_unique<soft::Node>(*half.wire, options);
    half.memory.resize(1U << 20U);
    (void)half.arenas.add({.base = half.memory.data(), .size = half.memory.size()}).value();
    half.device = Device::open(half.node->backend(), {.pid = 1}, half.arenas).value();
    EndpointConfig config;
    config.link_period = std::chrono::hours(1);  // reading the link state may allocate
    half.endpoint = Endpoint::create(*half.device, config, half.sum).value();
  }
  Instant now{std::chrono::seconds(1)};
  Half& near = halves[0];
  Half& far = halves[1];
  const auto turn = [&] {
    now += std::chrono::microseconds(5);
    for (Half& half : halves) {
      (void)half.node->poll(now);
      (void)half.endpoint->poll(now);
    }
  };
  const kfilnd::Target peer{near.endpoint->resolve(2, 1).value(), 0};
  const kfilnd::Target back{far.endpoint->resolve(1, 1).value(), 0};
  const Fragment large{{0, 0}, 100'000};
  const Fragment buffer{{0, 500'000}, 100'000};
  const lnet::Payload payload{{&large, 1}, 0, large.length};
  const std::array<std::byte, 64> header{};
  kfilnd::Tag tag = 0;
  const auto work = [&] {
    if (std::exchange(far.sum.again, false)) {
      EXPECT_TRUE(far.endpoint->post_multi_receive(buffer, 1));
    }
    for (unsigned i = 0; i < 8; ++i)
      EXPECT_TRUE(near.endpoint->send(peer, header, {}, 2));
    ++tag;
    EXPECT_TRUE(near.endpoint->post_tagged(peer, tag, tag % 2 == 0, payload, 3));
    EXPECT_TRUE(tag % 2 == 0 ? far.endpoint->read_tagged(back, tag, payload, 4)
                             : far.endpoint->write_tagged(back, tag, payload, 4));
    const std::uint64_t wanted = near.sum.ended + 9;
    const std::uint64_t wanted_far = far.sum.ended + 1;
    for (unsigned i = 0; i < 20'000 && (near.sum.ended < wanted || far.sum.ended < wanted_far); ++i)
      turn();
    if (tag % 4 == 0) now += std::chrono::milliseconds(1);  // connections close
    for (unsigned i = 0; i < 50; ++i)
      turn();
  };
  far.sum.again = true;
  for (unsigned i = 0; i < 200; ++i)
    turn();
  work();
  const testrig::HeapCalls calls = testrig::heap_calls_of([&] {
    for (unsigned round = 0; round < 100; ++round)
      work();
  });
  EXPECT_EQ(calls, testrig::HeapCalls{});
  EXPECT_EQ(near.sum.failed + far.sum.failed, 0U);
  EXPECT_EQ(far.sum.messages, 101U * 8U);
  EXPECT_GT(near.wire->layer().stats().get(soft::link::LinkCount::kResent), 20U);
  EXPECT_GT(near.node->port().count(soft::PortCounters::Id::kClosed), 10U);
}

}  // namespace
}  // namespace plnet::cassini::node_no_allocation_test
