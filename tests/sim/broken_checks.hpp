// SPDX-License-Identifier: BSD-3-Clause
// The guarantees of each seam that remain when connections break and messages are lost.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "tests/conformance/endpoint_conformance.hpp"
#include "tests/conformance/stream_conformance.hpp"
#include "tests/conformance/verbs_conformance.hpp"

namespace plnet::testsim {

// Waits for late events: the users check that none follows the end.
template <class Bench>
void let_settle(Bench& bench) {
  unsigned rounds = 2000;
  (void)bench.run([&] { return rounds-- == 0; });
}

// Received bytes are a prefix of the sent ones (StreamUser checks each), and on_closed() is the
// last event, once on both sides. True if the stream broke before its end.
inline bool check_broken_streams(conformance::StreamBench& bench, std::uint64_t seed,
                                 std::uint64_t bytes) {
  conformance::StreamPair pair(bench, seed, bytes, bytes);
  auto& [near, far] = pair.users;
  pair.listen();
  pair.connect();
  EXPECT_TRUE(pair.run([&] {
    return (near.closed == 1 && far.closed == 1) ||
           (near.received == bytes && far.received == bytes);
  })) << "received "
      << near.received << " and " << far.received << ", closed " << near.closed << " and "
      << far.closed;
  const bool broken = near.received < bytes || far.received < bytes;
  near.driver->close(*near.id, Errc::kShutdown);  // harmless if it is closed
  EXPECT_TRUE(pair.run([&] { return near.closed == 1 && far.closed == 1; }));
  EXPECT_LE(near.received, far.sent);
  EXPECT_LE(far.received, near.sent);
  for (const conformance::StreamUser* user : {&near, &far}) {
    EXPECT_TRUE(user->cause == Errc::kReset || user->cause == Errc::kClosed ||
                user->cause == Errc::kShutdown)
        << name_of(user->cause);
  }
  let_settle(bench);
  return broken;
}

// Every accepted send and receive ends exactly once, in order; after a failure nothing succeeds;
// messages arrive in order without a gap; both sides drain, once. True if the connection broke by
// itself.
inline bool check_broken_queue_pair(conformance::VerbsBench& bench, std::uint64_t seed,
                                    std::uint32_t messages) {
  using conformance::VerbsPair;
  using o2iblnd::WorkCompletion;
  using o2iblnd::WorkEvent;
  VerbsPair pair(bench);
  pair.establish();
  if (testing::Test::HasFailure()) return false;
  auto& [near, far] = pair.users;
  Random random(seed);
  std::uint32_t arrived = 0;
  std::uint32_t posted = 0;
  std::size_t far_receives = VerbsPair::kReceives;
  far.on_received = [&](const WorkCompletion& completion) {
    const std::uint64_t at = VerbsPair::kReceiveArea + completion.cookie * VerbsPair::kMessageBytes;
    std::uint32_t number = 0;
    std::memcpy(&number, bench.memory(1).data() + at, sizeof number);
    EXPECT_EQ(number, arrived) << "a gap, or out of order";
    ++arrived;
    const o2iblnd::ReceiveRequest receive{{{0, at}, VerbsPair::kMessageBytes}, completion.cookie};
    far_receives += far.driver->post_receives(*far.id, {&receive, 1});
  };
  const auto ended = [&] {
    return near.count(WorkEvent::kSent, true) + near.count(WorkEvent::kSent, false);
  };
  EXPECT_TRUE(bench.run([&] {
    if (near.disconnected + far.disconnected > 0) return true;
    if (posted == messages) return ended() == messages && arrived == messages;
    if (posted >= ended() + 8 || posted >= arrived + 8 || random.below(4) == 0) return false;
    const std::uint64_t at = VerbsPair::kSendArea + posted % 8 * 128;
    std::memcpy(bench.memory(0).data() + at, &posted, sizeof posted);
    o2iblnd::WorkRequest request{
        .kind = o2iblnd::WorkKind::kSend, .piece_count = 1, .cookie = posted};
    request.pieces[0] = {{0, at}, sizeof posted};
    posted += near.driver->post_chain(*near.id, {&request, 1}) ? 1U : 0U;
    return false;
  }));
  const bool broken = near.disconnected + far.disconnected > 0;
  near.driver->to_error(*near.id);
  EXPECT_TRUE(bench.run([&] { return pair.all_over(); }));
  let_settle(bench);
  EXPECT_LE(arrived, posted);
  for (const auto* user : {&near, &far}) {
    EXPECT_EQ(user->drained, 1U);
    EXPECT_EQ(user->disconnected, 1U);
    std::map<WorkEvent, bool> failed;
    for (const WorkCompletion& one : user->log) {
      bool& before = failed[one.event];
      EXPECT_FALSE(before && one.status.has_value()) << "one ends well behind one that failed";
      before = before || !one.status;
    }
  }
  std::uint64_t next = 0;
  for (const WorkCompletion& one : near.log) {
    if (one.event == WorkEvent::kSent) {
      EXPECT_EQ(one.cookie, next++);
    }
  }
  EXPECT_EQ(next, posted) << "every send ends once";
  EXPECT_EQ(near.log.size() - next, VerbsPair::kReceives);
  EXPECT_EQ(far.log.size(), far_receives);
  return broken;
}

// Every send, operation and buffer ends exactly once; arriving messages are undamaged, were sent,
// and come once; after shut_down() nothing is accepted and quiet() becomes true. Returns the number
// of messages that were reported as sent but never arrived.
inline unsigned check_lossy_endpoints(conformance::EndpointBench& bench, std::uint64_t seed,
                                      std::uint32_t messages) {
  using kfilnd::FabricCompletion;
  constexpr std::uint64_t kBuffers = 4;
  constexpr std::uint32_t kBufferBytes = 64 * 1024;  // room for all messages
  constexpr std::uint64_t kBulkArea = kBuffers * kBufferBytes;
  constexpr kfilnd::Tag kBulks = 16;
  constexpr std::uint64_t kFirstBulk = 1000;
  constexpr std::uint64_t kFirstBuffer = 2000;
  conformance::EndpointPair pair(bench);
  auto& [near, far] = pair.users;
  Random random(seed);
  std::set<std::uint32_t> seen;
  std::uint64_t unlinked_with_message = 0;
  far.on_message = [&](const FabricCompletion& one) {
    const auto bytes = bench.memory(1).subspan(
        (one.cookie - kFirstBuffer) * kBufferBytes + one.offset, one.length);
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    EXPECT_LT(number, messages) << "no node has sent this";
    EXPECT_TRUE(seen.insert(number).second) << "message " << number << " arrived twice";
    for (std::size_t i = sizeof number; i < bytes.size(); ++i)
      EXPECT_EQ(bytes[i], static_cast<std::byte>(number + i)) << "message " << number;
    unlinked_with_message += one.buffer_unlinked ? 1U : 0U;
  };
  for (std::uint64_t i = 0; i < kBuffers; ++i) {
    EXPECT_TRUE(
        far.driver->post_multi_receive({{0, i * kBufferBytes}, kBufferBytes}, kFirstBuffer + i)
            .has_value());
  }
  const Fragment bulk{{0, kBulkArea}, 5000};
  const lnet::Payload payload = conformance::payload_of(bulk);
  for (std::uint32_t number = 0; number < messages; ++number) {
    std::vector<std::byte> header(random.between(sizeof number, 900));
    std::memcpy(header.data(), &number, sizeof number);
    for (std::size_t i = sizeof number; i < header.size(); ++i)
      header[i] = static_cast<std::byte>(number + i);
    EXPECT_TRUE(
        near.post(bench, [&] { return near.driver->send(pair.peers[0], header, {}, number); }));
    if (number >= kBulks) continue;
    const kfilnd::Tag tag = number;
    const std::uint64_t cookie = kFirstBulk + tag;
    EXPECT_TRUE(near.post(bench, [&] {
      return near.driver->post_tagged(pair.peers[0], tag, tag % 2 == 0, payload, cookie);
    }));
    EXPECT_TRUE(far.post(bench, [&] {
      return tag % 2 == 0 ? far.driver->read_tagged(pair.peers[1], tag, payload, cookie)
                          : far.driver->write_tagged(pair.peers[1], tag, payload, cookie);
    }));
  }
  EXPECT_TRUE(bench.run([&] {
    const auto sends = std::ranges::count_if(
        near.ended, [](const auto& one) { return one.second.event == kfilnd::FabricEvent::kSent; });
    return sends == messages && far.ended.size() >= kBulks;
  })) << near.ended.size()
      << " and " << far.ended.size() << " ended";
  for (conformance::EndpointUser* user : {&near, &far})
    user->driver->shut_down();
  const std::array<std::byte, 8> header{};
  for (unsigned i = 0; i < 20; ++i)  // several attempts, since a fault may also refuse
    EXPECT_EQ(near.driver->send(pair.peers[0], header, {}, 5000 + i).error(), Errc::kShutdown);
  EXPECT_TRUE(bench.run([&] { return near.driver->quiet() && far.driver->quiet(); }));
  let_settle(bench);
  EXPECT_EQ(near.ended.size(), messages + kBulks);
  EXPECT_EQ(far.ended.size() + unlinked_with_message, kBulks + kBuffers);
  unsigned lost = 0;
  for (std::uint32_t number = 0; number < messages; ++number) {
    const auto one = near.ended.find(number);
    if (one != near.ended.end() && one->second.status && !seen.contains(number)) ++lost;
  }
  return lost;
}

}  // namespace plnet::testsim
