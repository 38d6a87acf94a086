// SPDX-License-Identifier: BSD-3-Clause
// The number of bytes read beyond a payload.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/drivers/stream_counter.hpp"
#include "tests/unit/drivers/tcp_rig.hpp"

namespace plnet::drivers {
namespace {

using socklnd::StreamAddresses;
using socklnd::StreamId;

// Messages of a head and a payload; payload that does not arrive with the head goes to its own
// memory.
class PayloadTaker final : public socklnd::StreamEvents {
 public:
  static constexpr std::size_t kHead = 100;

  explicit PayloadTaker(std::size_t payload) : memory_(payload) {}

  std::span<std::byte> destination(StreamId) override { return std::span(memory_).first(rest_); }
  std::size_t on_bytes(StreamId, std::size_t direct, std::span<const std::byte> staged) override {
    rest_ -= direct;
    staged_most = std::max(staged_most, staged.size());
    for (std::size_t left = staged.size(); left > 0;)
      left -= take(left);
    total += direct + staged.size();
    return staged.size();
  }
  void on_writable(StreamId) override {}
  void on_connected(StreamId, const StreamAddresses&) override {}
  void on_accepted(StreamId id, const StreamAddresses&) override { stream = id; }
  void on_closed(StreamId, Errc, std::uint64_t) override {}

  StreamId stream;
  std::size_t staged_most = 0;
  std::size_t total = 0;

 private:
  std::size_t take(std::size_t bytes) {
    if (rest_ > 0) {
      const std::size_t of_payload = std::min(bytes, rest_);
      rest_ -= of_payload;
      return of_payload;
    }
    const std::size_t of_head = std::min(bytes, to_come_);
    to_come_ -= of_head;
    if (to_come_ == 0) {
      to_come_ = kHead;
      rest_ = memory_.size();
    }
    return of_head;
  }

  std::vector<std::byte> memory_;
  std::size_t to_come_ = kHead;
  std::size_t rest_ = 0;
};

// Leaves a half of the first bytes, and wants them again at once.
class HalfTaker final : public socklnd::StreamEvents {
 public:
  std::span<std::byte> destination(StreamId) override { return {}; }
  std::size_t on_bytes(StreamId id, std::size_t, std::span<const std::byte> staged) override {
    const std::size_t used = bytes.empty() ? staged.size() / 2 : staged.size();
    if (bytes.empty()) {
      driver->pause_reading(id);
      driver->resume_reading(id);
    }
    bytes.insert(bytes.end(), staged.begin(), staged.begin() + static_cast<std::ptrdiff_t>(used));
    return used;
  }
  void on_writable(StreamId) override {}
  void on_connected(StreamId, const StreamAddresses&) override {}
  void on_accepted(StreamId id, const StreamAddresses&) override { stream = id; }
  void on_closed(StreamId, Errc, std::uint64_t) override {}

  socklnd::StreamDriver* driver = nullptr;
  StreamId stream;
  std::vector<std::byte> bytes;
};

// Bytes staged for complete messages that are all in the socket when it is read.
std::size_t staged_of(std::size_t payload, std::size_t messages) {
  PayloadTaker taker(payload);
  testrig::StreamCounter sender;
  TcpBench bench;
  auto& near = bench.make(0, sender);
  auto& far = bench.make(1, taker);
  const socklnd::StreamOptions roomy{.send_buffer_bytes = 1U << 20U,
                                     .receive_buffer_bytes = 1U << 20U};
  EXPECT_TRUE(far.listen(bench.address(1), 16, roomy).has_value());
  socklnd::ConnectRequest request;
  request.addresses.remote = bench.address(1);
  request.privileged_port = false;
  request.options = roomy;
  const auto stream = near.connect(request);
  EXPECT_TRUE(stream.has_value());
  EXPECT_TRUE(bench.run([&] { return sender.connected == 1 && taker.stream != StreamId{}; }));
  const std::size_t size = PayloadTaker::kHead + payload;
  std::size_t sent = 0;
  const auto send = [&](std::size_t bytes) {
    far.pause_reading(taker.stream);
    EXPECT_EQ(testrig::write_some(near, *stream, bytes), bytes);
    sent += bytes;
    bench.run_for(100);
    far.resume_reading(taker.stream);
    EXPECT_TRUE(bench.run([&] { return taker.total == sent; }));
    bench.run_for(10);  // some reads that find nothing
  };
  send(size);  // the first one adapts the read size
  taker.staged_most = 0;
  send(messages * size);
  return taker.staged_most;
}

TEST(TcpRx, SmallPayloadsAreStagedByTheDozen) {
  EXPECT_EQ(staged_of(4096, 20), std::size_t{64} * 1024);
}

TEST(TcpRx, BytesThatAHandlerLeavesComeBeforeTheNextRead) {
  HalfTaker taker;
  testrig::StreamCounter sender;
  TcpBench bench({.connections_max = 4, .staging_bytes = 1024});
  auto& near = bench.make(0, sender);
  auto& far = bench.make(1, taker);
  taker.driver = &far;
  ASSERT_TRUE(far.listen(bench.address(1), 16, {}).has_value());
  socklnd::ConnectRequest request;
  request.addresses.remote = bench.address(1);
  request.privileged_port = false;
  const auto stream = near.connect(request);
  ASSERT_TRUE(stream.has_value());
  ASSERT_TRUE(bench.run([&] { return sender.connected == 1 && taker.stream != StreamId{}; }));
  std::vector<std::byte> sent(8192);
  for (std::size_t i = 0; i < sent.size(); ++i)
    sent[i] = static_cast<std::byte>(i * 7 % 251);
  const std::array<std::span<const std::byte>, 1> pieces{sent};
  ASSERT_EQ(near.write(*stream, pieces), sent.size());
  ASSERT_TRUE(bench.run([&] { return taker.bytes.size() == sent.size(); }));
  EXPECT_EQ(taker.bytes, sent);
}

TEST(TcpRx, LittleOfLargePayloadsIsStaged) {
  EXPECT_EQ(staged_of(150'000, 2), TcpRx::kStagedOfBulk);
}

}  // namespace
}  // namespace plnet::drivers
