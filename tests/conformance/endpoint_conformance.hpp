// SPDX-License-Identifier: BSD-3-Clause
// The contract of lib/kfilnd/fabric_endpoint.hpp as checks for any endpoint driver. A driver's test
// supplies an EndpointBench: two endpoints, an arena each, and a way to let time pass.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/arena.hpp"
#include "lib/base/random.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"

namespace plnet::conformance {

using kfilnd::EndpointDriver;
using kfilnd::FabricCompletion;
using kfilnd::FabricEvent;
using kfilnd::Target;

inline constexpr std::uint64_t kEndpointArenaBytes = 1U << 20U;

class EndpointBench {
 public:
  virtual ~EndpointBench() = default;
  // Called once for each side, before anything else.
  virtual EndpointDriver& make(unsigned side, kfilnd::EndpointEvents& events) = 0;
  virtual bool run(const std::function<bool()>& done) = 0;
  // The address of a side: NIC address and service.
  virtual std::pair<std::uint64_t, unsigned> process(unsigned side) = 0;
  // Arena 0 of a side, kEndpointArenaBytes long.
  virtual std::span<std::byte> memory(unsigned side) = 0;
};

// Records events and checks that every own cookie comes back once.
class EndpointUser final : public kfilnd::EndpointEvents {
 public:
  EndpointDriver* driver = nullptr;
  std::vector<FabricCompletion> log;
  std::map<std::uint64_t, FabricCompletion> ended;  // by cookie; not messages
  std::function<void(const FabricCompletion&)> on_message;
  bool in_call = false;

  void on_completions(std::span<const FabricCompletion> burst) override {
    EXPECT_FALSE(in_call) << "a call has called back before it returned";
    EXPECT_FALSE(burst.empty());
    for (const FabricCompletion& completion : burst) {
      log.push_back(completion);
      if (completion.event == FabricEvent::kMessage) {
        if (on_message) on_message(completion);
      } else {
        EXPECT_TRUE(ended.emplace(completion.cookie, completion).second)
            << "cookie " << completion.cookie << " came back twice";
      }
    }
  }
  void on_link(bool usable, std::uint64_t address) override {
    link_usable = usable;
    nic_address = address;
  }
  // Posts, repeatedly while there is no room.
  template <class Post>
  bool post(EndpointBench& bench, Post&& what) {
    Result<void> done;
    const bool ok = bench.run([&] {
      in_call = true;
      done = what();
      in_call = false;
      return done.has_value() || done.error() != Errc::kAgain;
    });
    return ok && done.has_value();
  }

  bool link_usable = true;
  std::uint64_t nic_address = 0;
};

struct EndpointPair {
  explicit EndpointPair(EndpointBench& the_bench) : bench(the_bench) {
    for (unsigned side = 0; side < 2; ++side)
      users[side].driver = &bench.make(side, users[side]);
    for (unsigned side = 0; side < 2; ++side) {
      const auto [nic, service] = bench.process(1 - side);
      peers[side] = {users[side].driver->resolve(nic, service).value(), 0};
    }
  }

  EndpointBench& bench;
  std::array<EndpointUser, 2> users;
  std::array<Target, 2> peers;  // the other side, as seen by each side
};

inline lnet::Payload payload_of(const Fragment& fragment) {
  return {{&fragment, 1}, 0, fragment.length};
}

// Whether the messages of one buffer are reported in the order of their places.
enum class BufferOrder : std::uint8_t { kKept, kAny };

// Every message arrives once and undamaged, in any order; buffers are filled front to back and
// returned when less than the longest message is left.
inline void check_messages(EndpointBench& bench, std::uint64_t seed, unsigned count,
                           BufferOrder order = BufferOrder::kKept) {
  EndpointPair pair(bench);
  auto& [near, far] = pair.users;
  Random random(seed);
  const std::uint32_t longest = far.driver->limits().message_bytes_max;
  const std::uint32_t buffer_bytes = longest * 3;
  constexpr std::uint64_t kBuffers = 4;
  std::array<std::uint32_t, kBuffers> filled{};
  std::array<std::map<std::uint32_t, std::uint32_t>, kBuffers> lengths;  // by offset
  std::set<std::uint32_t> seen;
  const auto post_buffer = [&](std::uint64_t number) {
    filled[number] = 0;
    lengths[number].clear();
    const Fragment buffer{{0, number * buffer_bytes}, buffer_bytes};
    ASSERT_TRUE(far.driver->post_multi_receive(buffer, number).has_value());
  };
  for (std::uint64_t i = 0; i < kBuffers; ++i)
    post_buffer(i);
  std::vector<std::uint64_t> unlinked;
  far.on_message = [&](const FabricCompletion& completion) {
    ASSERT_LT(completion.cookie, kBuffers);
    std::uint32_t& used = filled[completion.cookie];
    if (order == BufferOrder::kKept) {
      EXPECT_EQ(completion.offset, used) << "one behind the other";
    }
    EXPECT_TRUE(lengths[completion.cookie].emplace(completion.offset, completion.length).second);
    used += completion.length;
    ASSERT_LE(used, buffer_bytes);
    const std::span<const std::byte> bytes = bench.memory(1).subspan(
        completion.cookie * buffer_bytes + completion.offset, completion.length);
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    EXPECT_TRUE(seen.insert(number).second) << "message " << number << " arrived twice";
    for (std::size_t i = sizeof number; i < bytes.size(); ++i)
      ASSERT_EQ(bytes[i], static_cast<std::byte>(number + i)) << "message " << number;
    if (completion.buffer_unlinked) unlinked.push_back(completion.cookie);
  };
  const auto repost = [&] {
    for (auto& [cookie, completion] : far.ended) {
      if (completion.event == FabricEvent::kBufferUnlinked) unlinked.push_back(cookie);
    }
    far.ended.clear();
    for (const std::uint64_t number : unlinked) {
      EXPECT_LT(buffer_bytes - filled[number], longest) << "unlinked too early";
      std::uint32_t end = 0;
      for (const auto& [offset, length] : lengths[number]) {
        EXPECT_EQ(offset, end) << "a gap, or one message over another";
        end = offset + length;
      }
      post_buffer(number);
    }
    unlinked.clear();
  };
  for (std::uint32_t number = 0; number < count; ++number) {
    std::vector<std::byte> header(random.between(sizeof number, longest / 2));
    const auto tail = static_cast<std::uint32_t>(random.below(longest / 2 + 1));
    std::memcpy(header.data(), &number, sizeof number);
    for (std::size_t i = sizeof number; i < header.size(); ++i)
      header[i] = static_cast<std::byte>(number + i);
    const Fragment source{{0, static_cast<std::uint64_t>(number % 64) * longest / 2}, tail};
    for (std::uint32_t i = 0; i < tail; ++i)
      bench.memory(0)[source.at.offset + i] = static_cast<std::byte>(number + header.size() + i);
    ASSERT_TRUE(near.post(bench, [&] {
      return near.driver->send(pair.peers[0], header, payload_of(source), number);
    }));
    // Payload memory stays unchanged until the send has ended.
    ASSERT_TRUE(bench.run([&] {
      repost();
      return number < 32 || near.ended.contains(number - 32);
    }));
  }
  ASSERT_TRUE(bench.run([&] {
    repost();
    return near.ended.size() == count && seen.size() == count;
  })) << near.ended.size()
      << " ended, " << seen.size() << " seen";
  for (const auto& [cookie, completion] : near.ended) {
    EXPECT_EQ(completion.event, FabricEvent::kSent);
    EXPECT_TRUE(completion.status.has_value()) << name_of(completion.status.error());
  }
}

// A tagged buffer serves one operation, in its own direction, by its intended peer.
inline void check_tagged(EndpointBench& bench, std::uint64_t seed, unsigned count) {
  EndpointPair pair(bench);
  auto& [near, far] = pair.users;
  Random random(seed);
  for (unsigned i = 0; i < count; ++i) {
    const kfilnd::Tag tag = 0x10000 + i;
    const auto size = static_cast<std::uint32_t>(random.between(1, 20'000));
    const auto wanted = static_cast<std::uint32_t>(random.between(0, size));
    const auto kind = random.below(3);
    const Fragment open{{0, random.below(50'000)}, size};
    const Fragment other{{0, random.below(50'000)}, wanted};
    const auto near_bytes = bench.memory(0).subspan(open.at.offset, size);
    const auto far_bytes = bench.memory(1).subspan(other.at.offset, wanted);
    std::ranges::fill(near_bytes, static_cast<std::byte>(i));
    std::ranges::fill(far_bytes, static_cast<std::byte>(i + 100));
    const bool reads = kind == 0;
    const std::uint64_t cookie = 2 * i;
    const lnet::Payload open_payload = payload_of(open);
    const lnet::Payload other_payload = payload_of(other);
    ASSERT_TRUE(near.post(bench, [&] {
      return near.driver->post_tagged(pair.peers[0], tag, reads, open_payload, cookie);
    }));
    EXPECT_FALSE(near.driver->post_tagged(pair.peers[0], tag, reads, open_payload, 999'999'999));
    const auto operate = [&](std::uint64_t with) {
      if (kind == 0) return far.driver->read_tagged(pair.peers[1], tag, other_payload, with);
      if (kind == 1) return far.driver->write_tagged(pair.peers[1], tag, other_payload, with);
      return far.driver->answer_tagged(pair.peers[1], tag, 0x1122'3344'5566'7788 + i, with);
    };
    ASSERT_TRUE(far.post(bench, [&] { return operate(cookie); }));
    ASSERT_TRUE(
        bench.run([&] { return near.ended.contains(cookie) && far.ended.contains(cookie); }));
    const FabricCompletion& done = near.ended.at(cookie);
    EXPECT_TRUE(done.status.has_value());
    EXPECT_EQ(far.ended.at(cookie).event, FabricEvent::kRemoteDone);
    EXPECT_TRUE(far.ended.at(cookie).status.has_value())
        << name_of(far.ended.at(cookie).status.error());
    if (kind == 2) {
      EXPECT_EQ(done.event, FabricEvent::kTaggedMessage);
      EXPECT_EQ(done.data, 0x1122'3344'5566'7788 + i);
    } else {
      EXPECT_EQ(done.event, reads ? FabricEvent::kTaggedRead : FabricEvent::kTaggedWritten);
      EXPECT_EQ(done.length, wanted);
      EXPECT_TRUE(std::ranges::equal(near_bytes.first(wanted), far_bytes));
      EXPECT_TRUE(std::ranges::all_of(near_bytes.subspan(wanted), [&](std::byte byte) {
        return byte == static_cast<std::byte>(i);
      })) << "more was written than the peer gave";
    }
    // It has been used up: one shot.
    EXPECT_EQ(near.driver->cancel_tagged(tag).error(), Errc::kNotFound);
    if (i % 8 == 0) {
      ASSERT_TRUE(far.post(bench, [&] { return operate(cookie + 1); }));
      ASSERT_TRUE(bench.run([&] { return far.ended.contains(cookie + 1); }));
      EXPECT_FALSE(far.ended.at(cookie + 1).status.has_value());
    }
  }
}

// Cancel against arrival: one of them wins, both sides agree about it, and a cancelled buffer is
// not accessed any more. Returns whether the cancel won.
inline bool check_cancel_race(EndpointBench& bench, std::uint64_t seed) {
  EndpointPair pair(bench);
  auto& [near, far] = pair.users;
  Random random(seed);
  const Fragment buffer{{0, 0}, 4096};
  const auto sink = bench.memory(0).first(4096);
  std::ranges::fill(sink, std::byte{1});
  std::ranges::fill(bench.memory(1).first(4096), std::byte{2});
  const lnet::Payload payload = payload_of(buffer);
  EXPECT_TRUE(near.driver->post_tagged(pair.peers[0], 7, false, payload, 70).has_value());
  EXPECT_TRUE(
      far.post(bench, [&] { return far.driver->write_tagged(pair.peers[1], 7, payload, 71); }));
  std::uint64_t steps = random.below(6);
  (void)bench.run([&] { return steps-- == 0; });
  const bool ended_before = near.ended.contains(70);
  const Result<void> cancelled = near.driver->cancel_tagged(7);
  EXPECT_FALSE(ended_before && cancelled.has_value());
  if (!cancelled) {
    EXPECT_EQ(cancelled.error(), Errc::kNotFound);
  }
  EXPECT_TRUE(bench.run([&] { return near.ended.contains(70); }));
  const bool won = near.ended[70].event == FabricEvent::kTaggedCancelled;
  const std::vector<std::byte> then(sink.begin(), sink.end());
  EXPECT_EQ(then[0], won ? std::byte{1} : std::byte{2});
  EXPECT_TRUE(bench.run([&] { return far.ended.contains(71); }));
  EXPECT_EQ(far.ended[71].status.has_value(), !won);
  EXPECT_TRUE(std::ranges::equal(then, sink)) << "touched after its last event";
  if (!cancelled) {
    EXPECT_FALSE(won);
  }
  return won;
}

// The LND may have two peers of one process: one that was deleted while transactions still use it,
// and the one that was met since. The end of the first does not affect the second.
inline void check_resolves(EndpointPair& pair) {
  auto& near = pair.users[0];
  const auto [nic, service] = pair.bench.process(1);
  const Target first{near.driver->resolve(nic, service).value(), 0};
  const Target second{near.driver->resolve(nic, service).value(), 0};
  near.driver->forget(first.address);
  const std::array<std::byte, 8> header{};
  EXPECT_TRUE(near.post(pair.bench, [&] { return near.driver->send(second, header, {}, 1000); }))
      << "resolved twice and forgotten once";
  EXPECT_TRUE(pair.bench.run([&] { return near.ended.contains(1000); }));
  near.driver->forget(second.address);
  near.ended.clear();
}

// Operations without a receiver end in an error, and shut_down() ends everything.
inline void check_failures(EndpointBench& bench) {
  EndpointPair pair(bench);
  check_resolves(pair);
  auto& [near, far] = pair.users;
  const auto [nic, service] = bench.process(1);
  const std::array<std::byte, 8> header{};
  const Fragment buffer{{0, 0}, near.driver->limits().message_bytes_max};
  const lnet::Payload payload = payload_of(buffer);
  EXPECT_TRUE(near.post(bench, [&] { return near.driver->send(pair.peers[0], header, {}, 1); }))
      << "no buffer there";
  EXPECT_TRUE(near.post(bench, [&] {
    return near.driver->read_tagged(pair.peers[0], 5, payload, 2);
  })) << "no such tag";
  const Target nobody{near.driver->resolve(nic, service + 1).value(), 0};
  EXPECT_TRUE(near.post(bench, [&] { return near.driver->send(nobody, header, {}, 3); }));
  EXPECT_TRUE(bench.run([&] { return near.ended.size() == 3; }));
  EXPECT_FALSE(near.ended[1].status.has_value());
  EXPECT_FALSE(near.ended[2].status.has_value());
  ASSERT_FALSE(near.ended[3].status.has_value());
  EXPECT_EQ(near.ended[3].status.error(), Errc::kNoRoute);
  if (const unsigned contexts = near.driver->limits().peer_contexts; contexts <= UINT8_MAX) {
    const Target beyond{pair.peers[0].address, static_cast<std::uint8_t>(contexts)};
    EXPECT_FALSE(near.driver->send(beyond, header, {}, 4).has_value()) << "no process has it";
    const Target last{beyond.address, static_cast<std::uint8_t>(contexts - 1)};
    EXPECT_TRUE(near.post(bench, [&] { return near.driver->send(last, header, {}, 8); }));
    EXPECT_TRUE(bench.run([&] { return near.ended.contains(8); }));
  }
  near.driver->forget(nobody.address);
  EXPECT_FALSE(near.driver->send(nobody, header, {}, 4).has_value());

  EXPECT_TRUE(near.driver->post_tagged(pair.peers[0], 9, true, payload, 5).has_value());
  EXPECT_TRUE(near.driver->post_multi_receive(buffer, 6).has_value());
  EXPECT_FALSE(near.driver->quiet());
  near.driver->shut_down();
  EXPECT_TRUE(bench.run([&] { return near.driver->quiet(); }));
  EXPECT_EQ(near.ended[5].event, FabricEvent::kTaggedCancelled);
  EXPECT_EQ(near.ended[6].event, FabricEvent::kBufferUnlinked);
  EXPECT_EQ(near.driver->send(pair.peers[0], header, {}, 7).error(), Errc::kShutdown);
}

}  // namespace plnet::conformance
