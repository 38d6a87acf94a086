// SPDX-License-Identifier: BSD-3-Clause
// The contract of lib/socklnd/byte_stream.hpp as checks for any stream driver. A driver's test
// supplies a StreamBench: two drivers and a way to let time pass.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::conformance {

using socklnd::SocketAddress;
using socklnd::StreamAddresses;
using socklnd::StreamDriver;
using socklnd::StreamId;

class StreamBench {
 public:
  virtual ~StreamBench() = default;
  // Side 0 connects, side 1 listens; a side 2 is another shard of side 1. Called once for each, in
  // order, before anything else.
  virtual StreamDriver& make(unsigned side, socklnd::StreamEvents& events) = 0;
  // Polls both until `done`; false if that exceeds the limit of the bench.
  virtual bool run(const std::function<bool()>& done) = 0;
  virtual SocketAddress address(unsigned side) = 0;
  // The address that side 0 connects to: side 1, unless something stands between them.
  virtual SocketAddress target() { return address(1); }
};

// The byte at an offset of a side's data: any loss, duplication or swap is visible.
inline std::byte stream_byte(std::uint64_t key, std::uint64_t offset) {
  std::uint64_t mixed = (offset + key) * 0x9e37'79b9'7f4a'7c15ULL;
  mixed ^= mixed >> 29U;
  return static_cast<std::byte>(mixed >> 16U);
}

// Uses one stream as an LND does, and checks every event against the contract: with and without
// direct placement, with pauses, with staged bytes left over, with writes in pieces, with
// back-pressure.
class StreamUser final : public socklnd::StreamEvents {
 public:
  struct Plan {
    std::uint64_t seed = 1;
    std::uint64_t key_out = 1;
    std::uint64_t key_in = 2;
    std::uint64_t bytes_to_send = 0;
    bool pauses = true;
  };

  explicit StreamUser(const Plan& plan) : plan_(plan), random_(plan.seed) {}

  StreamDriver* driver = nullptr;
  std::optional<StreamId> id;
  StreamAddresses addresses;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  unsigned opened = 0;
  unsigned closed = 0;
  Errc cause = Errc::kInvalid;
  std::uint64_t unacknowledged = 0;
  bool paused = false;
  bool in_event = false;

  [[nodiscard]] bool all_sent() const { return sent == plan_.bytes_to_send; }

  void send_more(std::uint64_t bytes) {
    plan_.bytes_to_send += bytes;
    pump();
  }
  // Continues with a stream from another shard.
  void take_over(StreamId stream, const StreamUser& before) {
    id = stream;
    opened = 1;
    received = before.received;
    pump();
  }

  void expect_quiet() const { EXPECT_FALSE(in_event) << "called back from within a call"; }

  // Continues a paused handler; the bench calls this between polls, as another shard would.
  void nudge() {
    if (closed != 0 || !id || !paused) return;
    if (random_.below(3) != 0) return;
    paused = false;
    call([&] { driver->resume_reading(*id); });
  }

  void pump() {
    while (closed == 0 && !blocked_ && sent < plan_.bytes_to_send) {
      const std::uint64_t left = plan_.bytes_to_send - sent;
      std::array<std::vector<std::byte>, 3> pieces;
      std::array<std::span<const std::byte>, 3> views;
      std::uint64_t offered = 0;
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        const std::uint64_t size = std::min<std::uint64_t>(random_.below(3000), left - offered);
        for (std::uint64_t j = 0; j < size; ++j)
          pieces[i].push_back(stream_byte(plan_.key_out, sent + offered + j));
        offered += size;
        views[i] = pieces[i];
      }
      if (offered == 0) continue;
      std::size_t taken = 0;
      call([&] { taken = driver->write(*id, views); });
      for (auto& piece : pieces)  // the contract: it may change at once
        std::ranges::fill(piece, std::byte{0xee});
      ASSERT_LE(taken, offered);
      sent += taken;
      blocked_ = taken < offered;
    }
  }

  std::span<std::byte> destination(StreamId stream) override {
    const Inside inside(*this);
    check_live(stream);
    EXPECT_FALSE(paused) << "read while reading was paused";
    buffer_.assign(random_.below(2) == 0 ? 0 : random_.below(5000), std::byte{0});
    asked_ = true;
    return buffer_;
  }

  std::size_t on_bytes(StreamId stream, std::size_t direct,
                       std::span<const std::byte> staged) override {
    const Inside inside(*this);
    check_live(stream);
    EXPECT_FALSE(paused) << "bytes while reading was paused";
    if (expected_remainder_ > 0) {
      EXPECT_EQ(direct, 0U) << "the remainder comes first, by itself";
      EXPECT_EQ(staged.size(), expected_remainder_);
      expected_remainder_ = 0;
    } else {
      EXPECT_TRUE(asked_) << "destination() is asked right before each read";
      EXPECT_LE(direct, buffer_.size());
      EXPECT_GT(direct + staged.size(), 0U);
      if (!staged.empty()) {
        EXPECT_EQ(direct, buffer_.size()) << "the destination is filled first";
      }
    }
    asked_ = false;
    take({buffer_.data(), direct});
    std::size_t use = staged.size();
    if (plan_.pauses && random_.below(6) == 0) {
      paused = true;
      driver->pause_reading(*id);
      if (!staged.empty()) use = random_.below(staged.size() + 1);
    }
    expected_remainder_ = staged.size() - use;
    take(staged.first(use));
    return use;
  }

  void on_writable(StreamId stream) override {
    const Inside inside(*this);
    check_live(stream);
    EXPECT_TRUE(blocked_) << "on_writable() answers a short write, nothing else";
    blocked_ = false;
    wants_pump_ = true;
  }
  void on_connected(StreamId stream, const StreamAddresses& at) override { open(stream, at); }
  void on_accepted(StreamId stream, const StreamAddresses& at) override {
    id = stream;
    open(stream, at);
  }
  void on_closed(StreamId stream, Errc why, std::uint64_t lost) override {
    const Inside inside(*this);
    EXPECT_EQ(closed, 0U) << "closed twice";
    EXPECT_TRUE(id.has_value() && *id == stream);
    ++closed;
    cause = why;
    unacknowledged = lost;
    EXPECT_LE(lost, sent);
  }

  // Called after each round of polls: the work of an LND at the end of its turn.
  void end_turn() {
    if (!wants_pump_) return;
    wants_pump_ = false;
    pump();
  }

 private:
  // Marks a running event handler.
  class Inside {
   public:
    explicit Inside(StreamUser& user) : user_(user) {
      EXPECT_FALSE(user.in_call_) << "a call has called back before it returned";
      user.in_event = true;
    }
    ~Inside() { user_.in_event = false; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    StreamUser& user_;
  };

  template <class Call>
  void call(Call&& what) {
    in_call_ = true;
    what();
    in_call_ = false;
  }

  void check_live(StreamId stream) const {
    EXPECT_EQ(opened, 1U) << "an event before on_connected() or on_accepted()";
    EXPECT_EQ(closed, 0U) << "an event after on_closed()";
    EXPECT_TRUE(id.has_value() && *id == stream);
  }

  void open(StreamId stream, const StreamAddresses& at) {
    const Inside inside(*this);
    EXPECT_EQ(opened, 0U);
    EXPECT_EQ(closed, 0U);
    EXPECT_TRUE(id.has_value() && *id == stream);
    ++opened;
    addresses = at;
    wants_pump_ = true;
  }

  void take(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      if (byte != stream_byte(plan_.key_in, received)) ++wrong_;
      ++received;
    }
    EXPECT_EQ(wrong_, 0U) << "bytes differ from what was written, at or before " << received;
  }

  Plan plan_;
  Random random_;
  std::vector<std::byte> buffer_;
  std::size_t expected_remainder_ = 0;
  std::uint64_t wrong_ = 0;
  bool asked_ = false;
  bool blocked_ = false;
  bool wants_pump_ = false;
  bool in_call_ = false;
};

// A connected pair, ready for data.
struct StreamPair {
  StreamPair(StreamBench& the_bench, std::uint64_t seed, std::uint64_t bytes_0,
             std::uint64_t bytes_1)
      : bench(the_bench),
        users{StreamUser({seed * 2, 11, 22, bytes_0}),
              StreamUser({seed * 2 + 1, 22, 11, bytes_1})} {
    for (unsigned side = 0; side < 2; ++side)
      users[side].driver = &bench.make(side, users[side]);
  }

  [[nodiscard]] bool run(const std::function<bool()>& done) {
    return bench.run([&] {
      for (StreamUser& user : users) {
        user.nudge();
        user.end_turn();
      }
      return done();
    });
  }
  void listen() { ASSERT_TRUE(users[1].driver->listen(bench.address(1), 8, {}).has_value()); }
  void connect() {
    socklnd::ConnectRequest request;
    request.addresses.remote = bench.target();
    request.privileged_port = false;
    const auto id = users[0].driver->connect(request);
    ASSERT_TRUE(id.has_value());
    users[0].id = *id;
    EXPECT_EQ(users[0].opened, 0U) << "connect() has called back";
  }

  StreamBench& bench;
  std::array<StreamUser, 2> users;
};

// Bytes in are bytes out, in order, both ways at once; an orderly end comes after the last byte, is
// reported once to each side, and is the last event.
inline void check_transfer(StreamBench& bench, std::uint64_t seed, std::uint64_t bytes_0,
                           std::uint64_t bytes_1) {
  StreamPair pair(bench, seed, bytes_0, bytes_1);
  auto& [near, far] = pair.users;
  pair.listen();
  pair.connect();
  ASSERT_TRUE(pair.run([&] {
    return near.opened == 1 && far.opened == 1 && near.received == bytes_1 &&
           far.received == bytes_0;
  })) << "received "
      << near.received << " of " << bytes_1 << " and " << far.received << " of " << bytes_0;
  EXPECT_EQ(near.addresses.remote, far.addresses.local);
  EXPECT_EQ(near.addresses.local, far.addresses.remote);
  near.driver->close(*near.id, Errc::kShutdown);
  EXPECT_EQ(near.closed, 0U) << "close() has called back";
  ASSERT_TRUE(pair.run([&] { return near.closed == 1 && far.closed == 1; }));
  EXPECT_EQ(near.cause, Errc::kShutdown);
  EXPECT_EQ(far.cause, Errc::kClosed);
  EXPECT_EQ(far.unacknowledged, 0U);
}

// The connection breaks at a time of the network's choice: received bytes are a prefix of the
// written ones (StreamUser checks each), and both ends are notified exactly once.
inline void check_broken_transfer(StreamBench& bench, std::uint64_t seed, std::uint64_t bytes) {
  StreamPair pair(bench, seed, bytes, bytes);
  auto& [near, far] = pair.users;
  pair.listen();
  pair.connect();
  ASSERT_TRUE(pair.run([&] {
    return (near.closed == 1 && far.closed == 1) ||
           (near.received == bytes && far.received == bytes);
  }));
  EXPECT_LE(near.received, far.sent);
  EXPECT_LE(far.received, near.sent);
  for (StreamUser& user : pair.users) {
    if (user.closed == 1) {
      EXPECT_EQ(user.cause, Errc::kReset);
    }
  }
}

// Without a listener: on_closed() is the only event.
inline void check_refused(StreamBench& bench, std::uint64_t seed) {
  StreamPair pair(bench, seed, 0, 0);
  auto& near = pair.users[0];
  pair.connect();
  ASSERT_TRUE(pair.run([&] { return near.closed == 1; }));
  EXPECT_EQ(near.opened, 0U);
  EXPECT_EQ(near.cause, Errc::kRefused);
}

// The listening side closes what it has just accepted while the other side sends.
inline void check_close_by_listener(StreamBench& bench, std::uint64_t seed) {
  StreamPair pair(bench, seed, 100'000, 0);
  auto& [near, far] = pair.users;
  pair.listen();
  pair.connect();
  ASSERT_TRUE(pair.run([&] { return far.received > 0; }));
  far.driver->close(*far.id, Errc::kProtocol);
  far.driver->close(*far.id, Errc::kIo);  // the first one counts
  ASSERT_TRUE(pair.run([&] { return near.closed == 1 && far.closed == 1; }));
  EXPECT_EQ(far.cause, Errc::kProtocol);
  EXPECT_TRUE(near.cause == Errc::kReset || near.cause == Errc::kClosed) << name_of(near.cause);
}

// To another shard and on: bytes that arrive in between are not lost, and neither the old id nor a
// second adopt() reaches the stream.
inline void check_move(StreamBench& bench, std::uint64_t seed) {
  constexpr std::uint64_t kBytes = 20'000;
  StreamPair pair(bench, seed, kBytes, 0);
  auto& [near, far] = pair.users;
  StreamUser other({seed + 1, 22, 11, kBytes, false});
  other.driver = &bench.make(2, other);
  pair.listen();
  pair.connect();
  ASSERT_TRUE(pair.run([&] { return near.opened == 1 && far.received == kBytes && !far.paused; }));
  const StreamId old = *far.id;
  const auto detached = far.driver->detach(old);
  ASSERT_TRUE(detached.has_value());
  EXPECT_EQ(detached->addresses.remote, near.addresses.local);
  EXPECT_EQ(detached->addresses.local, near.addresses.remote);
  near.send_more(kBytes);
  unsigned turns = 0;
  ASSERT_TRUE(pair.run([&] { return ++turns == 100; }));  // arrives meanwhile
  EXPECT_EQ(far.received, kBytes);
  const auto adopted = other.driver->adopt(*detached, {});
  ASSERT_TRUE(adopted.has_value());
  other.take_over(*adopted, far);
  ASSERT_TRUE(pair.run([&] {
    other.end_turn();
    return near.received == kBytes && other.received == 2 * kBytes;
  }));
  EXPECT_EQ(far.closed, 0U) << "the old id just ends";
  EXPECT_FALSE(far.driver->detach(old).has_value());
  near.driver->close(*near.id, Errc::kShutdown);
  ASSERT_TRUE(pair.run([&] { return near.closed == 1 && other.closed == 1; }));
  EXPECT_EQ(other.cause, Errc::kClosed);
}

}  // namespace plnet::conformance
