// SPDX-License-Identifier: BSD-3-Clause
// After its constructor the link layer allocates nothing: neither for packets, nor for losses, nor
// for peers that come and go.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include <gtest/gtest.h>

#include "drivers/net/cassini/soft/link/link_layer.hpp"
#include "lib/base/random.hpp"
#include "tests/unit/drivers/counting_new.hpp"

namespace plnet::cassini::soft::link::link_no_allocation_test {
namespace {

// A cable of fixed size that loses frames, including those that do not fit.
class FlatEnd final : public FramePort, public WireEvents {
 public:
  explicit FlatEnd(std::uint64_t seed) : random_(seed) {}

  std::span<std::byte> begin_frame(std::size_t bytes) override {
    bytes_ = bytes;
    return frames_[count_ % kFrames];
  }
  void end_frame() override {
    if (count_ < kFrames && !random_.chance(0.05)) sizes_[count_++] = bytes_;
  }
  void hand_to(LinkLayer& layer, WireEvents& events, std::uint64_t now_ns) {
    for (std::size_t i = 0; i < count_; ++i)
      layer.receive(std::span(frames_[i]).first(sizes_[i]), now_ns, events);
    count_ = 0;
  }
  void on_packet(NicAddress, std::span<const std::byte>) override { ++packets; }
  void on_link(bool, NicAddress) override {}

  std::uint64_t packets = 0;

 private:
  static constexpr std::size_t kFrames = 256;
  Random random_;
  std::array<std::array<std::byte, 1600>, kFrames> frames_{};
  std::array<std::size_t, kFrames> sizes_{};
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

TEST(LinkNoAllocation, PacketsLossesAndPeersCostTheHeapNothing) {
  const LinkOptions options{.peers = 4};
  LinkLayer left(options, 1, {{2, 0, 0, 0, 0, 1}});
  LinkLayer right(options, 2, {{2, 0, 0, 0, 0, 2}});
  const auto left_end = std::make_unique<FlatEnd>(1);
  const auto right_end = std::make_unique<FlatEnd>(2);
  const std::array<std::byte, 64> header{};
  const std::array<std::byte, 600> payload{};
  std::uint64_t now_ns = 0;
  left.set_link(true, now_ns);
  right.set_link(true, now_ns);
  const testrig::HeapCalls calls = testrig::heap_calls_of([&] {
    for (int turn = 0; turn < 20'000; ++turn, now_ns += 10'000) {
      while (left.send(2, header, payload) && left.find_peer(2)->send.end() % 8 != 0) {
      }
      if (turn % 500 == 0) (void)left.send(static_cast<NicAddress>(50 + turn), header, payload);
      (void)left.transmit(now_ns, *left_end);
      left_end->hand_to(right, *right_end, now_ns);
      (void)right.transmit(now_ns, *right_end);
      right_end->hand_to(left, *left_end, now_ns);
    }
  });
  EXPECT_EQ(calls, testrig::HeapCalls{});
  EXPECT_GT(right_end->packets, 10'000U);
  EXPECT_GT(left.stats().get(LinkCount::kResent), 100U);
}

}  // namespace
}  // namespace plnet::cassini::soft::link::link_no_allocation_test
