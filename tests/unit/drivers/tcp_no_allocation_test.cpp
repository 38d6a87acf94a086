// SPDX-License-Identifier: BSD-3-Clause
// Messages over TCP, connections that are opened and closed, and readers that pause allocate
// nothing.
#include <array>
#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include "tests/unit/drivers/counting_new.hpp"
#include "tests/unit/drivers/tcp_rig.hpp"

namespace plnet::drivers {
namespace {

using socklnd::StreamId;
using testrig::heap_calls_of;
using testrig::HeapCalls;

// Sends as much as fits, pauses at every third read with bytes left over, continues at the next
// turn.
struct Talker final : socklnd::StreamEvents {
  std::span<std::byte> destination(StreamId /*stream*/) override {
    return std::span(target).first(reads % 2 == 0 ? target.size() : 0);
  }
  std::size_t on_bytes(StreamId stream, std::size_t direct,
                       std::span<const std::byte> staged) override {
    received += direct;
    if (++reads % 3 == 0) {
      device->pause_reading(stream);
      paused = true;
      received += staged.size() / 2;
      return staged.size() / 2;
    }
    received += staged.size();
    return staged.size();
  }
  void on_writable(StreamId /*stream*/) override { ++writable; }
  void on_connected(StreamId stream, const socklnd::StreamAddresses& /*at*/) override {
    id = stream;
    ++opened;
  }
  void on_accepted(StreamId stream, const socklnd::StreamAddresses& /*at*/) override {
    id = stream;
    ++opened;
  }
  void on_closed(StreamId /*stream*/, Errc /*cause*/, std::uint64_t /*lost*/) override { ++closed; }

  void turn() {
    static constexpr std::array<std::byte, 60'000> kBytes{};
    const std::array<std::span<const std::byte>, 2> pieces{std::span(kBytes).first(24), kBytes};
    if (opened > closed) (void)device->write(id, pieces);
    if (paused && opened > closed) device->resume_reading(id);
    paused = false;
  }
  std::array<std::byte, 2000> target{};
  TcpDevice* device = nullptr;
  StreamId id;
  std::uint64_t received = 0;
  unsigned reads = 0;
  unsigned writable = 0;
  unsigned opened = 0;
  unsigned closed = 0;
  bool paused = false;
};

TEST(TcpNoAllocation, MessagesAndConnections) {
  TcpBench bench({.connections_max = 8});
  std::array<Talker, 2> talkers;
  for (unsigned side = 0; side < 2; ++side) {
    (void)bench.make(side, talkers[side]);
    talkers[side].device = bench.devices[side].get();
  }
  const socklnd::StreamOptions small{.send_buffer_bytes = 16'384, .receive_buffer_bytes = 16'384};
  ASSERT_TRUE(bench.devices[1]->listen(bench.address(1), 8, small).has_value());
  socklnd::ConnectRequest request;
  request.addresses.remote = bench.address(1);
  request.privileged_port = false;
  request.options = small;
  const HeapCalls calls = heap_calls_of([&] {
    for (unsigned round = 1; round <= 5; ++round) {
      EXPECT_TRUE(bench.devices[0]->connect(request).has_value());
      for (unsigned turn = 0; turn < 1000; ++turn) {
        bench.turn_once();
        for (Talker& talker : talkers)
          talker.turn();
      }
      bench.devices[0]->close(talkers[0].id, Errc::kShutdown);
      for (unsigned turn = 0; turn < 200; ++turn)
        bench.turn_once();
    }
  });
  EXPECT_EQ(calls, HeapCalls{});
  EXPECT_EQ(talkers[0].opened, 5U);
  EXPECT_EQ(talkers[1].closed, 5U);
  EXPECT_GT(talkers[1].received, 1'000'000U);
  EXPECT_GT(talkers[0].writable, 0U);
  EXPECT_GT(count_of(*bench.devices[1], TcpTable::Id::kRemainders), 100U);
}

}  // namespace
}  // namespace plnet::drivers
