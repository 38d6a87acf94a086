// SPDX-License-Identifier: BSD-3-Clause
// The contract of lib/o2iblnd/queue_pair.hpp as checks for any verbs driver. A driver's test
// supplies a VerbsBench: two drivers, an arena each, and a way to let time pass.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/arena.hpp"
#include "lib/base/random.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::conformance {

using o2iblnd::Ipv4Endpoint;
using o2iblnd::QueuePairId;
using o2iblnd::VerbsDriver;
using o2iblnd::WorkCompletion;
using o2iblnd::WorkEvent;
using o2iblnd::WorkKind;
using o2iblnd::WorkRequest;

inline constexpr std::uint64_t kVerbsArenaBytes = 1U << 20U;

class VerbsBench {
 public:
  virtual ~VerbsBench() = default;
  virtual VerbsDriver& make(unsigned side, o2iblnd::VerbsEvents& events) = 0;
  // The driver of another shard, on the device of the one that make() returned for this side.
  virtual VerbsDriver& make_neighbour(unsigned side, o2iblnd::VerbsEvents& events) = 0;
  virtual bool run(const std::function<bool()>& done) = 0;
  virtual Ipv4Endpoint address(unsigned side) = 0;
  virtual std::span<std::byte> memory(unsigned side) = 0;  // arena 0
};

// One queue pair in the use of an LND. Checks the order of events; the test checks the log.
class VerbsUser final : public o2iblnd::VerbsEvents {
 public:
  VerbsDriver* driver = nullptr;
  std::optional<QueuePairId> id;
  std::vector<WorkCompletion> log;
  std::function<void(const WorkCompletion&)> on_received;
  std::vector<std::byte> data;  // received private data
  unsigned requests = 0;
  unsigned established = 0;
  unsigned rejected = 0;
  unsigned disconnected = 0;
  unsigned turned_down = 0;  // by the test, after prepare(): only on_drained() follows
  unsigned drained = 0;
  o2iblnd::RejectKind reject_kind = o2iblnd::RejectKind::kOther;
  Errc cause = Errc::kInvalid;

  [[nodiscard]] std::size_t count(WorkEvent event, bool ok) const {
    return static_cast<std::size_t>(std::ranges::count_if(log, [&](const WorkCompletion& one) {
      return one.event == event && one.status.has_value() == ok;
    }));
  }
  [[nodiscard]] std::optional<Errc> status_of(std::uint64_t cookie) const {
    for (const WorkCompletion& one : log) {
      if (one.cookie == cookie && !one.status) return one.status.error();
    }
    return std::nullopt;
  }

  void on_completions(std::span<const WorkCompletion> burst) override {
    EXPECT_FALSE(burst.empty());
    for (const WorkCompletion& completion : burst) {
      EXPECT_TRUE(id.has_value() && completion.queue_pair == *id);
      EXPECT_EQ(drained, 0U) << "a completion after on_drained()";
      log.push_back(completion);
      if (on_received && completion.event == WorkEvent::kReceived && completion.status)
        on_received(completion);
    }
  }
  void on_connect_request(QueuePairId request, const Ipv4Endpoint&, const Ipv4Endpoint&,
                          std::span<const std::byte> bytes) override {
    id = request;
    ++requests;
    data.assign(bytes.begin(), bytes.end());
  }
  void on_established(QueuePairId, std::span<const std::byte> bytes) override {
    EXPECT_EQ(disconnected + drained, 0U);
    ++established;
    if (requests == 0) data.assign(bytes.begin(), bytes.end());
  }
  void on_rejected(QueuePairId, o2iblnd::RejectKind kind,
                   std::span<const std::byte> bytes) override {
    ++rejected;
    reject_kind = kind;
    data.assign(bytes.begin(), bytes.end());
  }
  void on_disconnected(QueuePairId, Errc why) override {
    EXPECT_EQ(disconnected + drained, 0U);
    ++disconnected;
    cause = why;
  }
  void on_drained(QueuePairId which) override {
    EXPECT_TRUE(id.has_value() && which == *id);
    EXPECT_EQ(drained, 0U);
    EXPECT_EQ(disconnected + rejected + turned_down, 1U) << "drained without a reported cause";
    ++drained;
  }
  void on_device(bool, Errc) override {}
};

struct VerbsPair {
  static constexpr unsigned kReceives = 16;
  static constexpr std::uint32_t kMessageBytes = 256;
  static constexpr std::uint64_t kReceiveArea = 0;      // place of receives
  static constexpr std::uint64_t kSendArea = 64'000;    // place of outgoing messages
  static constexpr std::uint64_t kWriteArea = 200'000;  // written by the peer

  explicit VerbsPair(VerbsBench& the_bench) : bench(the_bench) {
    for (unsigned side = 0; side < 2; ++side)
      users[side].driver = &bench.make(side, users[side]);
  }

  void request(const o2iblnd::ConnectParameters& parameters = {}) {
    const std::array<std::byte, 3> hello{std::byte{1}, std::byte{2}, std::byte{3}};
    const auto id = users[0].driver->connect(bench.address(0), bench.address(1), {64, kReceives},
                                             parameters, hello);
    ASSERT_TRUE(id.has_value());
    users[0].id = *id;
  }
  [[nodiscard]] static o2iblnd::ReceiveRequest receive_of(std::uint64_t number) {
    return {{{0, kReceiveArea + number * kMessageBytes}, kMessageBytes}, number};
  }
  void post_receive(unsigned side, std::uint64_t number) {
    const o2iblnd::ReceiveRequest receive = receive_of(number);
    ASSERT_EQ(users[side].driver->post_receives(*users[side].id, {&receive, 1}), 1U);
  }
  void establish(unsigned receives = kReceives, const o2iblnd::ConnectParameters& with = {}) {
    ASSERT_TRUE(users[1].driver->listen(bench.address(1)).has_value());
    request(with);
    for (unsigned i = 0; i < receives; ++i)
      post_receive(0, i);
    ASSERT_TRUE(bench.run([&] { return users[1].requests == 1; }));
    EXPECT_EQ(users[1].data.size(), o2iblnd::kConnectDataBytesMax) << "data arrives padded";
    EXPECT_EQ(users[1].data[2], std::byte{3});
    ASSERT_TRUE(users[1].driver->prepare(*users[1].id, {64, kReceives}).has_value());
    for (unsigned i = 0; i < receives; ++i)
      post_receive(1, i);
    const std::array<std::byte, 1> welcome{std::byte{9}};
    ASSERT_TRUE(users[1].driver->accept(*users[1].id, with, welcome).has_value());
    ASSERT_TRUE(bench.run([&] { return users[0].established == 1 && users[1].established == 1; }));
    EXPECT_EQ(users[0].data.size(), o2iblnd::kAcceptDataBytesMax);
    EXPECT_EQ(users[0].data[0], std::byte{9});
  }
  [[nodiscard]] WorkRequest send_of(std::uint32_t length, std::uint64_t cookie) const {
    WorkRequest request{.kind = WorkKind::kSend, .piece_count = 1, .cookie = cookie};
    request.pieces[0] = {{0, kSendArea}, length};
    return request;
  }
  [[nodiscard]] bool all_over() const { return users[0].drained == 1 && users[1].drained == 1; }

  VerbsBench& bench;
  std::array<VerbsUser, 2> users;
};

// Different in all of its bytes, so that truncation is visible.
inline std::uint32_t word_of(std::uint32_t chain, std::uint32_t write) {
  return (chain * 100 + write) * 2'654'435'761U;
}

// Chains of writes and a send: when the send arrives all writes of its chain are in place, sends
// arrive in order, and exactly one completion comes for each chain. Credits keep receives posted.
inline void check_chains(VerbsBench& bench, std::uint64_t seed, unsigned chains) {
  VerbsPair pair(bench);
  pair.establish();
  if (::testing::Test::HasFailure()) return;
  auto& [near, far] = pair.users;
  Random random(seed);
  std::uint32_t arrived = 0;
  std::vector<std::uint32_t> writes_of(chains);
  far.on_received = [&](const WorkCompletion& completion) {
    EXPECT_EQ(completion.length, 8U);
    std::array<std::uint32_t, 2> message{};
    std::memcpy(message.data(),
                bench.memory(1).data() + VerbsPair::kReceiveArea +
                    completion.cookie * VerbsPair::kMessageBytes,
                8);
    ASSERT_EQ(message[0], arrived) << "sends arrive in order";
    for (std::uint32_t i = 0; i < writes_of[arrived]; ++i) {
      std::uint32_t word = 0;
      std::memcpy(&word,
                  bench.memory(1).data() + VerbsPair::kWriteArea + (arrived % 8) * 64 + i * 4U, 4);
      ASSERT_EQ(word, word_of(arrived, i)) << "a write must be there before its send";
    }
    ++arrived;
    pair.post_receive(1, completion.cookie);
  };
  for (std::uint32_t number = 0; number < chains; ++number) {
    // Eight places to send from and to write to: wait until this one is free at both ends.
    ASSERT_TRUE(bench.run(
        [&] { return number < near.count(WorkEvent::kSent, true) + 8 && number < arrived + 8; }));
    const std::uint64_t at = VerbsPair::kSendArea + (number % 8) * 128;
    std::vector<WorkRequest> chain(random.below(10));
    writes_of[number] = static_cast<std::uint32_t>(chain.size());
    for (std::uint32_t i = 0; i < chain.size(); ++i) {
      const std::uint32_t word = word_of(number, i);
      std::memcpy(bench.memory(0).data() + at + 16 + i * 4U, &word, 4);
      const auto key =
          far.driver->remote_key({{0, VerbsPair::kWriteArea + (number % 8) * 64 + i * 4U}, 4})
              .value();
      chain[i] = {.kind = WorkKind::kWrite,
                  .piece_count = 2,
                  .pieces = {Fragment{{0, at + 16 + i * 4U}, 1}, {{0, at + 17 + i * 4U}, 3}},
                  .remote_address = key.address,
                  .remote_key = key.key,
                  .cookie = 1'000'000 + number};
    }
    std::memcpy(bench.memory(0).data() + at, &number, 4);
    chain.push_back({.kind = WorkKind::kSend,
                     .piece_count = 1,
                     .pieces = {Fragment{{0, at}, 8}},
                     .cookie = number});
    ASSERT_TRUE(bench.run([&] {
      return number < near.count(WorkEvent::kSent, true) + 8 && number < arrived + 8 &&
             near.driver->post_chain(*near.id, chain);
    })) << "chain "
        << number;
  }
  ASSERT_TRUE(
      bench.run([&] { return arrived == chains && near.count(WorkEvent::kSent, true) == chains; }));
  for (std::uint32_t i = 0; i < chains; ++i)
    EXPECT_EQ(near.log[i].cookie, i) << "completions come in order";
}

// After to_error() all posted requests come back on both sides, then on_drained(), and no further
// events.
inline void check_drain(VerbsBench& bench, std::uint64_t seed) {
  VerbsPair pair(bench);
  pair.establish();
  if (::testing::Test::HasFailure()) return;
  auto& [near, far] = pair.users;
  Random random(seed);
  const WorkRequest request = pair.send_of(8, 500);
  std::size_t posted = 0;
  for (unsigned i = 0; i < 6; ++i)
    posted += near.driver->post_chain(*near.id, {&request, 1}) ? 1U : 0U;
  std::uint64_t steps = random.below(20);
  (void)bench.run([&] { return steps-- == 0; });
  VerbsUser& ender = pair.users[random.below(2)];
  ender.driver->to_error(*ender.id);
  EXPECT_EQ(ender.disconnected, 0U) << "to_error() has called back";
  EXPECT_FALSE(ender.driver->post_chain(*ender.id, {&request, 1})) << "refused once in error";
  ASSERT_TRUE(bench.run([&] { return pair.all_over(); }));
  EXPECT_EQ(near.log.size(), posted + VerbsPair::kReceives);
  EXPECT_EQ(far.log.size(), VerbsPair::kReceives);
  for (const VerbsUser& user : pair.users) {
    for (const WorkCompletion& one : user.log) {
      if (!one.status) {
        EXPECT_EQ(one.status.error(), Errc::kAborted);
      }
    }
  }
  EXPECT_EQ(far.driver->post_receives(*far.id, {}), 0U) << "the id names nothing any more";
}

// A breach of the rules of the wire ends the connection, with an error on the request that caused
// it.
enum class WireFault : std::uint8_t { kWrongKey, kOutsideArena, kTooLong, kNoReceive };

inline void check_fault(VerbsBench& bench, WireFault fault) {
  VerbsPair pair(bench);
  pair.establish(fault == WireFault::kNoReceive ? 0 : VerbsPair::kReceives);
  if (::testing::Test::HasFailure()) return;
  auto& [near, far] = pair.users;
  const auto key = far.driver->remote_key({{0, 0}, 64}).value();
  WorkRequest bad = pair.send_of(VerbsPair::kMessageBytes + 1, 77);
  if (fault == WireFault::kNoReceive) bad = pair.send_of(8, 77);
  if (fault == WireFault::kWrongKey || fault == WireFault::kOutsideArena) {
    bad.kind = WorkKind::kWrite;
    bad.remote_key = fault == WireFault::kWrongKey ? key.key + 99 : key.key;
    bad.remote_address =
        fault == WireFault::kOutsideArena ? key.address + kVerbsArenaBytes - 8 : key.address;
  }
  const std::array<WorkRequest, 2> chain{bad, pair.send_of(8, 78)};
  ASSERT_TRUE(bench.run([&] { return near.driver->post_chain(*near.id, chain); }));
  ASSERT_TRUE(bench.run([&] { return pair.all_over(); }));
  ASSERT_TRUE(near.status_of(77).has_value()) << "also when it is not signalled";
  EXPECT_NE(*near.status_of(77), Errc::kAborted);
  EXPECT_EQ(near.status_of(78), Errc::kAborted) << "what follows is flushed";
  EXPECT_EQ(far.count(WorkEvent::kReceived, true), 0U);
}

inline void check_rejections(VerbsBench& bench) {
  VerbsPair pair(bench);
  auto& [near, far] = pair.users;
  pair.request();
  ASSERT_TRUE(bench.run([&] { return near.drained == 1; }));
  EXPECT_EQ(near.reject_kind, o2iblnd::RejectKind::kNobodyListens);

  near.drained = near.rejected = 0;
  ASSERT_TRUE(far.driver->listen(bench.address(1)).has_value());
  pair.request();
  for (unsigned i = 0; i < VerbsPair::kReceives; ++i)
    pair.post_receive(0, i);
  ASSERT_TRUE(bench.run([&] { return far.requests == 1; }));
  const std::array<std::byte, 24> why{std::byte{5}};
  far.driver->reject(*far.id, why);
  ASSERT_TRUE(bench.run([&] { return near.drained == 1; }));
  EXPECT_EQ(near.disconnected, 0U) << "flushed receives are no reason";
  EXPECT_EQ(near.count(WorkEvent::kReceived, false), VerbsPair::kReceives);
  EXPECT_EQ(near.reject_kind, o2iblnd::RejectKind::kByPeer);
  EXPECT_EQ(near.data.size(), o2iblnd::kRejectDataBytesMax) << "data arrives padded";
  EXPECT_EQ(near.data[0], std::byte{5});
  const std::array<std::byte, 57> too_long{};
  EXPECT_EQ(near.driver->connect(bench.address(0), bench.address(1), {8, 8}, {}, too_long).error(),
            Errc::kTooBig);
}

// Two drivers of one device: a request is reported to the first and given to the second.
struct HandedPair {
  explicit HandedPair(VerbsBench& bench) : pair(bench) {
    second.driver = &bench.make_neighbour(1, second);
  }
  void give_away() {
    ASSERT_TRUE(first.driver->listen(pair.bench.address(1)).has_value());
    pair.request();
    for (unsigned i = 0; i < VerbsPair::kReceives; ++i)
      pair.post_receive(0, i);
    ASSERT_TRUE(pair.bench.run([&] { return first.requests == 1; }));
    const auto given = first.driver->give_away(*first.id);
    ASSERT_TRUE(given.has_value());
    handed = *given;
    EXPECT_EQ(handed.from.address, pair.bench.address(0).address);
    EXPECT_EQ(handed.to, pair.bench.address(1));
    EXPECT_FALSE(first.driver->give_away(*first.id).has_value()) << "a request is given away once";
  }
  // Like an LND: a request that cannot be accepted is rejected. False: it has no queue pair.
  [[nodiscard]] bool accept() {
    const auto taken = second.driver->take_over(handed);
    if (!taken) return false;
    second.id = *taken;
    const bool prepared =
        second.driver->prepare(*second.id, {64, VerbsPair::kReceives}).has_value();
    for (; prepared && posted < VerbsPair::kReceives; ++posted) {
      const o2iblnd::ReceiveRequest receive = VerbsPair::receive_of(posted);
      if (second.driver->post_receives(*second.id, {&receive, 1}) == 0) break;
    }
    if (!prepared || !second.driver->accept(*second.id, {}, {})) {
      second.turned_down = prepared ? 1 : 0;
      second.driver->reject(*second.id, {});
    }
    return prepared;
  }

  VerbsPair pair;
  VerbsUser& near = pair.users[0];
  VerbsUser& first = pair.users[1];
  VerbsUser second;
  o2iblnd::HandedRequest handed;
  unsigned posted = 0;  // receives of the second
};

// The queue pair is the second driver's alone: its messages, its end.
inline void check_handover(VerbsBench& bench) {
  HandedPair hands(bench);
  hands.give_away();
  if (::testing::Test::HasFailure()) return;
  auto& [pair, near, first, second, handed, posted] = hands;
  ASSERT_TRUE(hands.accept());
  ASSERT_TRUE(bench.run([&] { return near.established == 1 && second.established == 1; }));
  constexpr std::uint64_t kMessages = 5;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    const WorkRequest request = pair.send_of(8, i);
    ASSERT_TRUE(bench.run([&] { return near.driver->post_chain(*near.id, {&request, 1}); }));
    ASSERT_TRUE(bench.run([&] { return second.driver->post_chain(*second.id, {&request, 1}); }));
  }
  for (const VerbsUser* const user : {&near, &second}) {
    ASSERT_TRUE(bench.run([&] { return user->count(WorkEvent::kReceived, true) == kMessages; }));
    ASSERT_TRUE(bench.run([&] { return user->count(WorkEvent::kSent, true) == kMessages; }));
  }
  second.driver->to_error(*second.id);
  ASSERT_TRUE(bench.run([&] { return near.drained == 1 && second.drained == 1; }));
  EXPECT_EQ(second.requests, 0U) << "a request is reported once";
  EXPECT_TRUE(first.log.empty());
  EXPECT_EQ(first.established + first.disconnected + first.drained, 0U);
}

inline void check_turned_down(VerbsBench& bench) {
  HandedPair hands(bench);
  hands.give_away();
  if (::testing::Test::HasFailure()) return;
  hands.second.driver->turn_down(hands.handed);
  ASSERT_TRUE(bench.run([&] { return hands.near.drained == 1; }));
  EXPECT_EQ(hands.near.established, 0U);
  EXPECT_EQ(hands.near.count(WorkEvent::kReceived, false), VerbsPair::kReceives);
}

// The peer gives up while its request is on the way between two shards: no driver hears of it. The
// second driver sees the failure in one of its calls, or as the end of the connection.
// `polls` after the peer's end let the news arrive.
inline void check_withdrawn(VerbsBench& bench, unsigned polls) {
  HandedPair hands(bench);
  hands.give_away();
  if (::testing::Test::HasFailure()) return;
  auto& [pair, near, first, second, handed, posted] = hands;
  near.driver->to_error(*near.id);
  ASSERT_TRUE(bench.run([&] { return near.drained == 1; }));
  (void)bench.run([&] { return polls-- == 0; });
  if (hands.accept()) {
    ASSERT_TRUE(bench.run([&] { return second.drained == 1; }));
    EXPECT_EQ(second.count(WorkEvent::kReceived, false), posted);
  }
  EXPECT_EQ(second.count(WorkEvent::kReceived, true), 0U);
  EXPECT_EQ(first.drained, 0U);
}

}  // namespace plnet::conformance
