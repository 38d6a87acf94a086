// SPDX-License-Identifier: BSD-3-Clause
// The contract of await(), relay() and fetch() in lib/socklnd/byte_stream.hpp, for any driver that
// has them: messages arrive by one stream, are awaited or read, and leave by another, complete and
// in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/conformance/stream_conformance.hpp"

namespace plnet::conformance {

constexpr std::uint64_t kRelayKey = 7;
constexpr std::byte kRelayMark{0x5a};  // precedes each outgoing message, like a header

// Side 0: sends the messages by its first stream, and checks those that arrive by its second.
class RelayEnds final : public socklnd::StreamEvents {
 public:
  explicit RelayEnds(const std::vector<std::size_t>& sizes) {
    said_.resize(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
    std::byte* const at = said_.data();
    for (std::size_t i = 0, count = said_.size(); i < count; ++i)
      at[i] = stream_byte(kRelayKey, i);
    const std::byte* from = said_.data();
    for (const std::size_t size : sizes) {
      expected_.push_back(kRelayMark);
      expected_.insert(expected_.end(), from, from + size);
      from += size;
    }
  }

  StreamDriver* driver = nullptr;
  std::vector<StreamId> streams;
  unsigned opened = 0;

  [[nodiscard]] bool has_all() const { return heard_ == expected_.size(); }
  void pump() {
    if (opened < 2 || blocked_ || sent_ == said_.size()) return;
    const auto piece = std::span<const std::byte>(said_).subspan(sent_);
    const std::size_t taken = driver->write(streams[0], {&piece, 1});
    sent_ += taken;
    blocked_ = taken < piece.size();
  }

  std::span<std::byte> destination(StreamId) override { return {}; }
  std::size_t on_bytes(StreamId, std::size_t, std::span<const std::byte> staged) override {
    // In one call: with sanitizers a check of each byte takes longer than all else.
    const bool right = heard_ + staged.size() <= expected_.size() &&
                       std::memcmp(staged.data(), expected_.data() + heard_, staged.size()) == 0;
    EXPECT_TRUE(right) << "among " << staged.size() << " bytes from " << heard_;
    heard_ += staged.size();
    return staged.size();
  }
  void on_writable(StreamId) override { blocked_ = false; }
  void on_connected(StreamId, const StreamAddresses&) override { ++opened; }
  void on_accepted(StreamId, const StreamAddresses&) override {}
  void on_closed(StreamId, Errc, std::uint64_t) override { ADD_FAILURE() << "nobody closes"; }

 private:
  std::vector<std::byte> said_;
  std::vector<std::byte> expected_;
  std::size_t sent_ = 0;
  std::size_t heard_ = 0;
  bool blocked_ = false;
};

// Side 1: treats a message as a router does, in one of the ways by the seed.
class RelayUser final : public socklnd::StreamEvents {
 public:
  RelayUser(std::uint64_t seed, const std::vector<std::size_t>& sizes)
      : sizes_(sizes), random_(seed) {}

  StreamDriver* driver = nullptr;
  std::vector<StreamId> streams;  // incoming and outgoing
  unsigned awaited = 0;
  unsigned relayed_whole = 0;

  // The work of an LND in its turn, outside all events.
  void step() {
    if (kept_) take_kept();
    if (out_.empty() || blocked_) return;
    const std::span<const std::byte> piece(out_);
    const std::size_t taken = driver->write(streams[1], {&piece, 1});
    blocked_ = taken < out_.size();
    out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(taken));
  }

  std::span<std::byte> destination(StreamId) override { return {}; }
  std::size_t on_bytes(StreamId id, std::size_t, std::span<const std::byte> staged) override {
    EXPECT_EQ(id, streams[0]);
    EXPECT_FALSE(kept_) << "nothing is read of what is kept";
    for (auto rest = staged; !rest.empty();) {
      const std::size_t count = std::min(left(), rest.size());
      read_.insert(read_.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
      rest = rest.subspan(count);
      if (left() == 0) finish(read_);
    }
    if (message_ < sizes_.size() && random_.chance(0.8)) (void)driver->await(id, left());
    return staged.size();
  }
  void on_awaited(StreamId id) override {
    EXPECT_EQ(id, streams[0]);
    EXPECT_FALSE(std::exchange(kept_, true));
    ++awaited;
    driver->pause_reading(id);
  }
  void on_writable(StreamId id) override {
    EXPECT_EQ(id, streams[1]);
    blocked_ = false;
  }
  void on_connected(StreamId, const StreamAddresses&) override {}
  void on_accepted(StreamId id, const StreamAddresses&) override { streams.push_back(id); }
  void on_closed(StreamId, Errc, std::uint64_t) override { ADD_FAILURE() << "nobody closes"; }

 private:
  [[nodiscard]] std::size_t left() const {
    return message_ < sizes_.size() ? sizes_[message_] - read_.size() : 0;
  }
  void finish(const std::vector<std::byte>& whole) {
    out_.push_back(kRelayMark);
    out_.insert(out_.end(), whole.begin(), whole.end());
    next();
  }
  void next() {
    read_.clear();
    ++message_;
  }
  void take_kept() {
    const bool relay = out_.empty() && !blocked_ && random_.chance(0.7);
    if (relay) {
      relay_kept();
    } else {
      fetch(read_, left());
      finish(read_);
    }
    kept_ = false;
    driver->resume_reading(streams[0]);
  }
  void relay_kept() {
    std::vector<std::byte> head{kRelayMark};
    head.insert(head.end(), read_.begin(), read_.end());
    const std::span<const std::byte> piece(head);
    const std::size_t bytes = left();
    const std::size_t taken = driver->relay(streams[0], streams[1], {&piece, 1}, bytes);
    ASSERT_LE(taken, head.size() + bytes);
    if (taken == head.size() + bytes) {
      ++relayed_whole;
      return next();
    }
    blocked_ = true;
    const std::size_t of_head = std::min(taken, head.size());
    out_.assign(head.begin() + static_cast<std::ptrdiff_t>(of_head), head.end());
    fetch(out_, bytes - (taken - of_head));
    next();
  }
  void fetch(std::vector<std::byte>& to, std::size_t count) {
    const std::size_t before = to.size();
    to.resize(before + count);
    EXPECT_TRUE(driver->fetch(streams[0], std::span(to).subspan(before)).has_value());
  }

  const std::vector<std::size_t> sizes_;
  Random random_;
  std::size_t message_ = 0;
  std::vector<std::byte> read_;  // of that message, read in the usual way
  std::vector<std::byte> out_;   // bytes to write
  bool kept_ = false;
  bool blocked_ = false;
};

struct RelayTally {
  unsigned awaited = 0;
  unsigned relayed_whole = 0;
};

inline RelayTally check_relay(StreamBench& bench, std::uint64_t seed, unsigned messages,
                              std::size_t bytes_max) {
  Random random(seed);
  std::vector<std::size_t> sizes(messages);
  for (std::size_t& size : sizes)
    size = 1 + random.below(bytes_max);
  RelayEnds ends(sizes);
  RelayUser user(seed, sizes);
  ends.driver = &bench.make(0, ends);
  user.driver = &bench.make(1, user);
  EXPECT_TRUE(user.driver->listen(bench.address(1), 16, {}).has_value());
  for (unsigned i = 0; i < 2; ++i) {
    socklnd::ConnectRequest request;
    request.addresses.remote = bench.target();
    const auto stream = ends.driver->connect(request);
    EXPECT_TRUE(stream.has_value());
    if (!stream) return {};
    ends.streams.push_back(*stream);
    EXPECT_TRUE(bench.run([&] { return ends.opened == i + 1 && user.streams.size() == i + 1; }));
  }
  EXPECT_TRUE(bench.run([&] {
    user.step();
    ends.pump();
    return ends.has_all() || ::testing::Test::HasFailure();
  })) << "seed "
      << seed;
  return {user.awaited, user.relayed_whole};
}

}  // namespace plnet::conformance
