// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs under the control of a test: they record posted requests, and the test makes the
// events. Also one LND on them, with a core that checks the LND contract, and a peer emulated by
// hand.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/o2iblnd/lnd.hpp"
#include "tests/mocks/fake_core.hpp"

namespace plnet::o2iblnd {

using LndId = O2ibCounters::Id;
using Bytes = std::vector<std::byte>;

class ScriptedVerbs final : public VerbsDriver {
 public:
  struct Pair {
    QueuePairId id;
    Ipv4Endpoint local;
    Ipv4Endpoint remote;
    QueuePairSize size;
    Bytes data;  // the request's data, then the answer's
    bool accepted = false;
    bool rejected = false;
    bool in_error = false;
    bool prepared = false;
    std::deque<ReceiveRequest> receives;
    std::deque<std::vector<WorkRequest>> chains;  // posted and not completed
  };

  explicit ScriptedVerbs(const ArenaTable& arenas) : arenas_(arenas) {}

  [[nodiscard]] bool post_chain(QueuePairId id, std::span<const WorkRequest> chain) override {
    if (refuse_posts > 0) {
      --refuse_posts;
      return false;
    }
    Pair& pair = pairs.at(id.index);
    EXPECT_FALSE(pair.in_error);
    pair.chains.emplace_back(chain.begin(), chain.end());
    const WorkRequest& send = chain.back();
    Bytes message;
    for (std::size_t i = 0; i < send.piece_count; ++i) {
      const auto piece = arenas_.bytes(send.pieces[i]);
      message.insert(message.end(), piece.begin(), piece.end());
    }
    sent.push_back(std::move(message));
    return true;
  }
  std::size_t post_receives(QueuePairId id, std::span<const ReceiveRequest> burst) override {
    Pair& pair = pairs.at(id.index);
    pair.receives.insert(pair.receives.end(), burst.begin(), burst.end());
    return burst.size();
  }
  [[nodiscard]] Result<RemoteKey> remote_key(const Fragment& fragment) override {
    if (mapping_fails) return std::unexpected(*mapping_fails);
    const auto mapping = static_cast<std::uint32_t>(mapped.size());
    mapped.push_back(fragment);
    return RemoteKey{.key = 0x1000U + fragment.at.arena,
                     .address = reinterpret_cast<std::uintptr_t>(arenas_.bytes(fragment).data()),
                     .mapping = mapping};
  }
  void release(std::uint32_t mapping) override {
    EXPECT_GT(mapped.at(mapping).length, 0U) << "released once";
    mapped[mapping].length = 0;
  }
  void set_mapping(const MapRules& rules) override { rules_of_mapping = rules; }
  // Mappings that were not released.
  [[nodiscard]] std::size_t held() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(mapped, [](const Fragment& each) { return each.length > 0; }));
  }
  [[nodiscard]] Result<QueuePairId> connect(const Ipv4Endpoint& local, const Ipv4Endpoint& remote,
                                            const QueuePairSize& size, const ConnectParameters&,
                                            std::span<const std::byte> data) override {
    if (size.send_requests > sends_max) return std::unexpected(Errc::kNoMemory);
    if (connect_fails) return std::unexpected(*connect_fails);
    Pair& pair = make();
    pair.local = local;
    pair.remote = remote;
    pair.size = size;
    pair.data.assign(data.begin(), data.end());
    return pair.id;
  }
  [[nodiscard]] Result<void> listen(const Ipv4Endpoint&) override { return {}; }
  void stop_listening(const Ipv4Endpoint&) override {}
  [[nodiscard]] Result<void> prepare(QueuePairId id, const QueuePairSize& size) override {
    if (size.send_requests > sends_max) return std::unexpected(Errc::kNoMemory);
    pairs.at(id.index).size = size;
    pairs.at(id.index).prepared = true;
    return {};
  }
  [[nodiscard]] Result<void> accept(QueuePairId id, const ConnectParameters&,
                                    std::span<const std::byte> data) override {
    Pair& pair = pairs.at(id.index);
    EXPECT_TRUE(pair.prepared);
    EXPECT_EQ(pair.receives.size(), pair.size.receive_requests);  // before the peer can send
    pair.accepted = true;
    pair.data.assign(data.begin(), data.end());
    return {};
  }
  void reject(QueuePairId id, std::span<const std::byte> data) override {
    pairs.at(id.index).rejected = true;
    pairs.at(id.index).data.assign(data.begin(), data.end());
  }
  void to_error(QueuePairId id) override { pairs.at(id.index).in_error = true; }
  [[nodiscard]] const DeviceLimits& limits() const override { return limits_; }
  [[nodiscard]] CounterView counters() const override { return {}; }

  Pair& make() {
    const auto index = static_cast<std::uint32_t>(pairs.size());
    pairs.push_back({});
    pairs.back().id = {index, 1};
    return pairs.back();
  }

  std::deque<Pair> pairs;
  std::deque<Bytes> sent;  // messages not examined yet
  unsigned refuse_posts = 0;
  unsigned sends_max = 16384;
  std::optional<Errc> connect_fails;
  std::optional<Errc> mapping_fails;
  std::vector<Fragment> mapped;  // by mapping; length 0: released
  MapRules rules_of_mapping;

 private:
  const ArenaTable& arenas_;
  DeviceLimits limits_{.work_requests_max = 16384, .gather_max = 2};
};

// Node 1 is the LND; the test emulates node 2.
class ScriptedNode {
 public:
  static constexpr std::uint64_t kOwnStamp = 1001;
  static constexpr std::uint64_t kPeerStamp = 2002;
  static constexpr std::uint64_t kMemory = 12U << 20U;
  static constexpr std::uint32_t kSite = 0x0a00'0000;

  static O2ibLndConfig small() {
    return {.tunables = {.ntx = 32},
            .peers_max = 8,
            .connections_max = 8,
            .receives_max = 32,
            .replies_max = 32};
  }
  static lnet::Nid nid(unsigned node) {
    return lnet::Nid::of(lnet::NetType::kO2ib, 0, kSite + node);
  }
  static std::uint64_t nid64(unsigned node) { return lnet::to_nid64(nid(node)).value; }

  explicit ScriptedNode(O2ibLndConfig config = small(), unsigned park_percent = 0,
                        unsigned drop_percent = 0)
      : size_(message_memory_bytes(config) + kMemory),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(size_)),
        driver(arenas_) {
    id_ = arenas_.add({.base = bytes_.get(), .size = size_}).value();
    core = std::make_unique<mocks::FakeCore>(
        mocks::FakeCoreConfig{.nid = nid(1),
                              .arenas = &arenas_,
                              .memory = {id_, message_memory_bytes(config)},
                              .memory_bytes = kMemory,
                              .park_percent = park_percent,
                              .drop_percent = drop_percent,
                              .park_turns_max = 1000,
                              .check_bytes = false});
    config.nid = nid(1);
    config.incarnation = kOwnStamp;
    config.arenas = &arenas_;
    config.message_memory = {id_, 0};
    lnd = std::make_unique<O2ibLnd>(config, *core, driver);
    core->attach(*lnd);
    EXPECT_TRUE(lnd->listen().has_value());
    turn();
  }

  void turn(Duration step = {}) {
    now += step;
    (void)core->turn(now);
  }
  // Advances time second by second, so that deadlines are noticed.
  void pass(Duration time) {
    for (const Instant end = now + time; now < end;)
      turn(std::min<Duration>(std::chrono::milliseconds(500), end - now));
  }
  ScriptedVerbs::Pair& pair(std::size_t index = 0) { return driver.pairs.at(index); }

  // --- Connections ---
  Message message(Kind kind) const {
    return {.kind = kind,
            .version = version,
            .source_nid = nid64(2),
            .source_stamp = kPeerStamp,
            .destination_nid = nid64(1),
            .destination_stamp = kOwnStamp};
  }
  static Bytes bytes_of(const Message& message, std::size_t payload = 0) {
    Bytes bytes(kMessageBytes);
    bytes.resize(encode(message, static_cast<std::uint32_t>(payload), bytes) + payload);
    return bytes;
  }
  Message ack(unsigned depth = 8, unsigned frags = 257) const {
    Message one = message(Kind::kConnectAck);
    one.parameters = {.queue_depth = static_cast<std::uint16_t>(depth),
                      .max_frags = static_cast<std::uint16_t>(frags)};
    return one;
  }
  // Completes our connection, which a message requested.
  void establish(std::size_t index = 0, unsigned depth = 8, unsigned frags = 257) {
    lnd->on_established(pair(index).id, bytes_of(ack(depth, frags)));
    turn();
  }
  ScriptedVerbs::Pair& request(const Message& what, std::uint32_t from = kSite + 2) {
    ScriptedVerbs::Pair& made = driver.make();
    lnd->on_connect_request(made.id, {from, 1023}, {kSite + 1, 987}, bytes_of(what));
    turn();
    return made;
  }
  Message connect_request(unsigned depth = 8) const {
    Message one = ack(depth);
    one.kind = Kind::kConnectRequest;
    one.destination_stamp = 0;
    return one;
  }
  void reject(const Reject& why, std::size_t index) {
    Bytes data(148);
    std::ranges::copy(encode(why), data.begin());
    lnd->on_rejected(pair(index).id, RejectKind::kByPeer, data);
    flush(index);
    drain(index);
  }
  // Makes a connection that the peer requested, ready for use.
  std::size_t accepted() {
    const std::size_t index = driver.pairs.size();
    (void)request(connect_request());
    EXPECT_TRUE(pair(index).accepted);
    lnd->on_established(pair(index).id, {});
    turn();
    return index;
  }

  // --- Completions ---
  void complete(const WorkCompletion& completion) {
    lnd->on_completions({&completion, 1});
    turn();
  }
  // Completes the oldest chain of a queue pair.
  void sent(std::size_t index = 0, Result<void> status = {}) {
    ASSERT_FALSE(pair(index).chains.empty());
    const WorkRequest last = pair(index).chains.front().back();
    pair(index).chains.pop_front();
    complete({.queue_pair = pair(index).id, .status = status, .cookie = last.cookie});
  }
  void receive(const Bytes& bytes, std::size_t index = 0) {
    ASSERT_FALSE(pair(index).receives.empty());
    const ReceiveRequest request = pair(index).receives.front();
    pair(index).receives.pop_front();
    std::ranges::copy(bytes, arenas_.bytes(request.buffer).begin());
    complete({.queue_pair = pair(index).id,
              .event = WorkEvent::kReceived,
              .length = static_cast<std::uint32_t>(bytes.size()),
              .cookie = request.cookie});
  }
  void receive(const Message& one, std::size_t index = 0) { receive(bytes_of(one), index); }
  // Completes all posted requests with a flush.
  void flush(std::size_t index = 0) {
    while (!pair(index).chains.empty())
      sent(index, std::unexpected(Errc::kAborted));
    while (!pair(index).receives.empty()) {
      const ReceiveRequest request = pair(index).receives.front();
      pair(index).receives.pop_front();
      complete({.queue_pair = pair(index).id,
                .event = WorkEvent::kReceived,
                .status = std::unexpected(Errc::kAborted),
                .cookie = request.cookie});
    }
  }
  void drain(std::size_t index = 0) {
    lnd->on_drained(pair(index).id);
    turn();
  }
  void disconnect(std::size_t index = 0, Errc cause = Errc::kClosed) {
    lnd->on_disconnected(pair(index).id, cause);
    turn();
  }
  // Ends a queue pair as the driver does.
  void end(std::size_t index = 0, Errc cause = Errc::kClosed) {
    disconnect(index, cause);
    flush(index);
    drain(index);
  }

  // --- Messages ---
  lnet::Transmit& put(std::uint32_t length, Instant deadline = Instant::max()) {
    lnet::Transmit& transmit = core->put(nid(2), length, false, deadline);
    turn();
    return transmit;
  }
  lnet::Transmit& get(std::uint32_t length) {
    lnet::Transmit& transmit = core->get(nid(2), length);
    turn();
    return transmit;
  }
  // The oldest sent message not examined yet. Valid until the next call.
  Message next() {
    Message one;
    if (driver.sent.empty()) {
      ADD_FAILURE() << "nothing was sent";
      return one;
    }
    last_ = std::move(driver.sent.front());
    driver.sent.pop_front();
    EXPECT_EQ(decode(last_, one), std::nullopt);
    return one;
  }
  [[nodiscard]] const lnet::Completion& last() const { return core->completions().back(); }
  [[nodiscard]] std::size_t completions() const { return core->completions().size(); }
  void expect_end(Errc cause, Health health, bool quarantined = false) const {
    ASSERT_FALSE(core->completions().empty());
    ASSERT_FALSE(last().status.has_value());
    EXPECT_EQ(name_of(last().status.error()), name_of(cause));
    EXPECT_EQ(name_of(last().health), name_of(health));
    EXPECT_EQ(last().quarantined, quarantined);
  }
  [[nodiscard]] std::uint64_t count(LndId id) const { return lnd->count(id); }
  [[nodiscard]] ConnectionFacts facts(std::uint32_t slot = 0) const {
    return lnd->connection_facts(slot, now).value_or(ConnectionFacts{});
  }
  [[nodiscard]] std::size_t connections() const {
    std::size_t found = 0;
    for (std::uint32_t i = 0; i < lnd->connection_slots(); ++i)
      found += lnd->connection_facts(i, now) ? 1U : 0U;
    return found;
  }
  void expect_clean() const {
    EXPECT_EQ(core->breaches(), std::vector<std::string>{});
    EXPECT_EQ(count(LndId::kUnexpected), 0U);
    EXPECT_EQ(count(LndId::kStray), 0U);
    EXPECT_EQ(count(LndId::kIdleWithCredit), 0U);
  }
  [[nodiscard]] const ArenaTable& arenas() const { return arenas_; }

 private:
  std::uint64_t size_;
  std::unique_ptr<std::byte[]> bytes_;
  ArenaTable arenas_;
  ArenaId id_ = kNoArena;
  Bytes last_;

 public:
  ScriptedVerbs driver;
  std::unique_ptr<mocks::FakeCore> core;
  std::unique_ptr<O2ibLnd> lnd;
  Instant now{};
  std::uint16_t version = kVersion2;
};

}  // namespace plnet::o2iblnd
