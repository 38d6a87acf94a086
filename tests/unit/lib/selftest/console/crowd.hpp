// SPDX-License-Identifier: BSD-3-Clause
// Emulated test nodes behind the interface that a console sends by: each keeps sessions and batches
// like a node, or follows the test.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/hash.hpp"
#include "lib/lnet/api/data_operations.hpp"
#include "lib/lnet/wire/process_id_codec.hpp"
#include "lib/selftest/srpc_codec.hpp"
#include "lib/selftest/work_memory.hpp"

namespace plnet::selftest {

using MessageBytes = std::array<std::byte, kMessageBytes>;

struct PretendedNode {
  SessionId session;
  Name name{};
  std::uint32_t session_features = kFeaturesKnown;
  std::uint32_t features_known = kFeaturesKnown;
  std::uint32_t timeout_s = 100;
  std::uint32_t active = 0;  // tests of the batch
  bool silent = false;       // receives requests and never answers
  bool lost = false;         // unreachable, and the network reports it
  // Replaces the regular answer; an empty result: no answer.
  std::function<std::optional<MessageBytes>(const Message& request)> instead;
  std::vector<Message> heard;
  std::vector<MessageBytes> heard_bytes;
  std::vector<std::vector<lnet::ProcessId>> lists;  // of destinations
  std::vector<std::uint32_t> list_bytes;

  [[nodiscard]] unsigned count(MessageType type) const {
    unsigned sum = 0;
    for (const Message& message : heard)
      sum += message.received.header.type == type ? 1 : 0;
    return sum;
  }
};

class Crowd final : public lnet::DataOperations {
 public:
  explicit Crowd(std::size_t memory_bytes) : bytes_(memory_bytes) { memory = {{0, 0}, bytes_}; }

  [[nodiscard]] static lnet::ProcessId id(unsigned number) {
    return {.nid = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + number)};
  }
  [[nodiscard]] PretendedNode& node(unsigned number) { return nodes_[id(number)]; }
  [[nodiscard]] std::size_t open_count() const { return open_.size(); }
  [[nodiscard]] std::size_t under_way_max() const { return under_way_max_; }

  // One step of the network.
  void turn() {
    std::deque<std::function<void()>> now;
    now.swap(later_);
    for (auto& happens : now)
      happens();
  }
  // Sends the request of a node that wants to join.
  std::optional<JoinReply> join(const lnet::ProcessId& from, const JoinRequest& request,
                                std::uint32_t features, const std::function<void()>& turn_all);

  // The late answer of a node that was silent when it was asked.
  void answer_late(const lnet::ProcessId& from, const MessageBytes& request,
                   const MessageBytes& reply);

  // While set, unlinks complete only after it is cleared.
  void hold_unlinks(bool hold) {
    holding_ = hold;
    if (hold) return;
    for (const lnet::MdHandle md : std::exchange(held_, {}))
      finish(md.index, lnet::EventKind::kUnlink, {}, 0);
  }

  // --- lnet::DataOperations ---

  Result<lnet::Attached> attach(const lnet::MeSpec& me, const lnet::MdSpec& md) override {
    const auto bound = open(md);
    open_.at(bound.index).me = me;
    if (me.portal == kRdmaPortal) by_bits_[me.match_bits] = bound.index;
    if (me.portal == kFrameworkPortal) joins_.push_back(bound.index);
    return lnet::Attached{{.index = bound.index, .generation = 1}, bound};
  }
  Result<lnet::MdHandle> bind(const lnet::MdSpec& md) override { return open(md); }
  Result<void> unlink(lnet::MdHandle md) override {
    if (!open_.contains(md.index)) return std::unexpected(Errc::kNotFound);
    if (holding_) {
      held_.push_back(md);
    } else {
      finish(md.index, lnet::EventKind::kUnlink, {}, 0);
    }
    return {};
  }
  Result<void> unlink(lnet::MeHandle /*me*/) override { return std::unexpected(Errc::kNotFound); }
  Result<void> put(lnet::MdHandle md, const lnet::PutSpec& put) override;
  Result<void> get(lnet::MdHandle /*md*/, const lnet::GetSpec& /*get*/) override {
    return std::unexpected(Errc::kNotSupported);
  }
  [[nodiscard]] lnet::ShardId shard() const override { return 0; }

 private:
  struct Open {
    lnet::MdSpec md;
    lnet::MeSpec me;
  };

  lnet::MdHandle open(const lnet::MdSpec& md) {
    open_[++last_].md = md;
    under_way_max_ = std::max(under_way_max_, open_.size());
    return {.index = last_, .generation = 1};
  }
  [[nodiscard]] std::byte* at(const Open& open) {
    return bytes_.data() + open.md.fragments.front().at.offset;
  }
  void finish(std::uint32_t index, lnet::EventKind kind, Result<void> status, std::uint32_t length,
              const lnet::ProcessId& source = {}) {
    const auto found = open_.find(index);
    if (found == open_.end()) return;
    const Open was = found->second;
    open_.erase(found);
    if (was.me.portal == kRdmaPortal) by_bits_.erase(was.me.match_bits);
    if (was.md.handler == nullptr) return;
    was.md.handler->on_event({.kind = kind,
                              .unlinked = true,
                              .source = source,
                              .accepted_length = length,
                              .status = status,
                              .md = {.index = index, .generation = 1},
                              .user = was.md.user});
  }
  void deliver(const lnet::ProcessId& from, std::uint64_t bits, const MessageBytes& message) {
    const auto found = by_bits_.find(bits);
    if (found == by_bits_.end()) return;
    const std::uint32_t index = found->second;
    if (open_.at(index).me.match != from) return;
    std::memcpy(at(open_.at(index)), message.data(), message.size());
    finish(index, lnet::EventKind::kPut, {}, kMessageBytes);
  }
  void arrive(const lnet::ProcessId& id, const MessageBytes& bytes);
  // False: the list is not posted.
  [[nodiscard]] bool fetch_list(PretendedNode& node, const TestRequest& test, bool whole);

  std::vector<std::byte> bytes_;
  std::unordered_map<lnet::ProcessId, PretendedNode, KeyHash<lnet::ProcessId>> nodes_;
  std::unordered_map<std::uint32_t, Open> open_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_bits_;
  std::deque<std::uint32_t> joins_;
  std::deque<std::function<void()>> later_;
  std::vector<lnet::MdHandle> held_;
  std::optional<MessageBytes> to_joiner_;
  bool holding_ = false;
  std::uint32_t last_ = 0;
  std::size_t under_way_max_ = 0;

 public:
  WorkMemory memory;
};

template <class Body>
[[nodiscard]] MessageBytes bytes_of(std::uint32_t features, const Body& body) {
  MessageBytes bytes{};
  encode(features, body, bytes);
  return bytes;
}

}  // namespace plnet::selftest
