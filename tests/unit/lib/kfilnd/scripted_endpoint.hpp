// SPDX-License-Identifier: BSD-3-Clause
// An endpoint under the control of a test: it records calls, and the test makes the completions.
// Also one LND on it, with a core that checks the LND contract.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/kfilnd/endpoint_relay.hpp"
#include "lib/kfilnd/lnd.hpp"
#include "tests/mocks/fake_core.hpp"
#include "tests/unit/lib/kfilnd/messages.hpp"

namespace plnet::kfilnd {

using LndId = KfiLndCounters::Id;

class ScriptedEndpoint final : public EndpointDriver {
 public:
  enum class Call : std::uint8_t { kSend, kPostTagged, kCancel, kRead, kWrite, kAnswer, kBuffer };
  struct Post {
    Call call = Call::kSend;
    Target to;
    Tag tag = 0;
    std::uint64_t cookie = 0;
    std::uint64_t data = 0;
    lnet::Payload payload;
    bool peer_reads = false;
    std::vector<std::byte> head;
    Message message;  // for kSend, as the receiver decodes it
  };

  [[nodiscard]] Result<void> send(const Target& to, std::span<const std::byte> header,
                                  const lnet::Payload& payload, std::uint64_t cookie) override {
    Post post{.call = Call::kSend, .to = to, .cookie = cookie, .payload = payload};
    post.head.assign(header.begin(), header.end());
    std::vector<std::byte> whole = post.head;
    whole.resize(whole.size() + payload.length);
    CommonWire common;
    std::memcpy(&common, whole.data(), sizeof common);
    EXPECT_EQ(decode(whole, {.own_nid = common.destination_nid}, post.message), std::nullopt);
    return keep(std::move(post));
  }
  [[nodiscard]] Result<void> post_tagged(const Target& from, Tag tag, bool peer_reads,
                                         const lnet::Payload& buffer,
                                         std::uint64_t cookie) override {
    return keep({.call = Call::kPostTagged,
                 .to = from,
                 .tag = tag,
                 .cookie = cookie,
                 .payload = buffer,
                 .peer_reads = peer_reads});
  }
  [[nodiscard]] Result<void> cancel_tagged(Tag tag) override {
    if (keeps_contract && std::ranges::none_of(posts, [&](const Post& post) {
          return post.call == Call::kPostTagged && post.tag == tag;
        }))
      return std::unexpected(Errc::kNotFound);
    return keep({.call = Call::kCancel, .tag = tag});
  }
  [[nodiscard]] Result<void> read_tagged(const Target& peer, Tag tag, const lnet::Payload& into,
                                         std::uint64_t cookie) override {
    return keep({.call = Call::kRead, .to = peer, .tag = tag, .cookie = cookie, .payload = into});
  }
  [[nodiscard]] Result<void> write_tagged(const Target& peer, Tag tag, const lnet::Payload& from,
                                          std::uint64_t cookie) override {
    return keep({.call = Call::kWrite, .to = peer, .tag = tag, .cookie = cookie, .payload = from});
  }
  [[nodiscard]] Result<void> answer_tagged(const Target& peer, Tag tag, std::uint64_t data,
                                           std::uint64_t cookie) override {
    return keep({.call = Call::kAnswer, .to = peer, .tag = tag, .cookie = cookie, .data = data});
  }
  [[nodiscard]] Result<void> post_multi_receive(const Fragment& buffer,
                                                std::uint64_t cookie) override {
    if (const auto refusal = next_result(Call::kBuffer); !refusal) return refusal;
    buffers[cookie] = buffer;
    ++buffers_posted;
    return {};
  }
  [[nodiscard]] Result<PeerAddress> resolve(std::uint64_t nic_address, unsigned) override {
    ++resolved;
    return nic_address;
  }
  void forget(PeerAddress) override { ++forgotten; }
  void shut_down() override { down = true; }
  [[nodiscard]] bool quiet() const override { return down && (!keeps_contract || posts.empty()); }
  [[nodiscard]] const EndpointLimits& limits() const override { return limits_; }
  [[nodiscard]] CounterView counters() const override { return {}; }

  // The next calls of this kind return the given error; later ones succeed.
  void fail_next(Call call, Errc cause, unsigned times = 1) {
    for (unsigned i = 0; i < times; ++i)
      results_[call].push_back(cause);
  }
  // Takes the oldest recorded call of a kind; it must exist.
  Post take(Call call) {
    for (auto at = posts.begin(); at != posts.end(); ++at) {
      if (at->call != call) continue;
      Post post = *at;
      posts.erase(at);
      return post;
    }
    ADD_FAILURE() << "no call of kind " << static_cast<int>(call);
    return {};
  }
  [[nodiscard]] std::size_t waiting(Call call) const {
    std::size_t found = 0;
    for (const Post& post : posts)
      found += post.call == call ? 1U : 0U;
    return found;
  }

  std::deque<Post> posts;
  std::map<std::uint64_t, Fragment> buffers;  // by cookie
  unsigned buffers_posted = 0;
  unsigned resolved = 0;
  unsigned forgotten = 0;
  bool down = false;
  // Ended operations are unknown to cancel_tagged(); the endpoint is quiet once all have ended.
  bool keeps_contract = false;

 private:
  [[nodiscard]] Result<void> next_result(Call call) {
    auto& waiting = results_[call];
    if (waiting.empty()) return {};
    const Errc cause = waiting.front();
    waiting.pop_front();
    return std::unexpected(cause);
  }
  [[nodiscard]] Result<void> keep(Post post) {
    const auto result = next_result(post.call);
    if (result) posts.push_back(std::move(post));
    return result;
  }

  EndpointLimits limits_{
      .receive_contexts = 4, .receive_context = 2, .peer_contexts = 16, .operations_max = 1024};
  std::map<Call, std::deque<Errc>> results_;
};

// Node 0 is the LND; the test emulates the nodes from 1 on.
class ScriptedNode {
 public:
  using Call = ScriptedEndpoint::Call;
  using Post = ScriptedEndpoint::Post;

  explicit ScriptedNode(KfiLndConfig config = {}, unsigned park_percent = 0,
                        unsigned drop_percent = 0, std::uint32_t core_bytes = kCoreBytes,
                        std::uint32_t payload_max = lnet::kPayloadBytesMax)
      : bytes_(kReceiveBytes + core_bytes) {
    id_ = arenas_.add({.base = bytes_.data(), .size = bytes_.size()}).value();
    core = std::make_unique<mocks::FakeCore>(mocks::FakeCoreConfig{.nid = nid_of(0),
                                                                   .arenas = &arenas_,
                                                                   .memory = {id_, kReceiveBytes},
                                                                   .memory_bytes = core_bytes,
                                                                   .park_percent = park_percent,
                                                                   .drop_percent = drop_percent,
                                                                   .park_turns_max = 1000,
                                                                   .payload_max = payload_max,
                                                                   .check_bytes = false});
    config.nid = nid_of(0);
    config.arenas = &arenas_;
    config.receive_memory = {{id_, 0}, kReceiveBytes};
    lnd = std::make_unique<KfiLnd>(config, *core, endpoint);
    core->attach(*lnd);
  }

  void turn(Duration step = {}) {
    now += step;
    (void)core->turn(now);
  }
  void tell(const FabricCompletion& completion) { lnd->on_completions({&completion, 1}); }
  void done(FabricEvent event, const Post& post, Result<void> status = {}, std::uint32_t length = 0,
            std::uint64_t data = 0) {
    tell({.event = event, .status = status, .cookie = post.cookie, .length = length, .data = data});
    turn();
  }
  // A message arrives in the first receive buffer.
  void arrive(const std::vector<std::byte>& message, bool unlinks = false) {
    land(message, unlinks);
    turn();
  }
  // The same without ending the turn, so that others can follow.
  void land(const std::vector<std::byte>& message, bool unlinks = false) {
    const auto& [cookie, buffer] = *endpoint.buffers.begin();
    const auto place = arenas_.bytes(buffer).subspan(offset_, message.size());
    std::ranges::copy(message, place.begin());
    const FabricCompletion completion{.event = FabricEvent::kMessage,
                                      .cookie = cookie,
                                      .length = static_cast<std::uint32_t>(message.size()),
                                      .offset = offset_,
                                      .buffer_unlinked = unlinks};
    offset_ = unlinks ? 0 : offset_ + completion.length;
    if (unlinks) endpoint.buffers.erase(cookie);
    tell(completion);
  }
  void hello(Kind kind, const Hello& what, unsigned from = 1) {
    arrive(bytes_of(hello_message(from, 0, kind, what)));
  }
  // Both sides exchange greetings; no calls of it remain.
  void meet(unsigned peer = 1, std::uint16_t version = 2, std::uint32_t session_key = 77) {
    hello(Kind::kHelloRequest, {.version = version, .rx_base = 3, .session_key = session_key},
          peer);
    hello(Kind::kHelloResponse, {.version = version, .rx_base = 3, .session_key = session_key},
          peer);
    while (endpoint.waiting(Call::kSend) > 0)
      done(FabricEvent::kSent, endpoint.take(Call::kSend));
  }
  lnet::Transmit& put(std::uint32_t length, unsigned to = 1) {
    lnet::Transmit& transmit = core->put(nid_of(to), length, false);
    turn();
    return transmit;
  }
  lnet::Transmit& get(std::uint32_t length, unsigned to = 1) {
    lnet::Transmit& transmit = core->get(nid_of(to), length);
    turn();
    return transmit;
  }
  [[nodiscard]] const lnet::Completion& last() const { return core->completions().back(); }
  [[nodiscard]] std::size_t completions() const { return core->completions().size(); }
  [[nodiscard]] std::uint64_t count(LndId id) const { return lnd->count(id); }
  [[nodiscard]] PeerState state(unsigned peer = 1) const { return lnd->peer(nid_of(peer))->state; }
  void expect_clean() {
    EXPECT_EQ(core->breaches(), std::vector<std::string>{});
    EXPECT_EQ(count(LndId::kUnexpected), 0U);
    EXPECT_EQ(count(LndId::kStrayCompletions), 0U);
  }

  static constexpr std::uint32_t kReceiveBytes = 1U << 18U;
  static constexpr std::uint32_t kCoreBytes = 24U << 20U;

  ScriptedEndpoint endpoint;
  std::unique_ptr<mocks::FakeCore> core;
  std::unique_ptr<KfiLnd> lnd;
  Instant now{};

 private:
  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  ArenaId id_ = kNoArena;
  std::uint32_t offset_ = 0;
};

}  // namespace plnet::kfilnd
