// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/lib/selftest/console/crowd.hpp"

#include <utility>
#include <variant>

namespace plnet::selftest {

namespace {

constexpr std::uint64_t kJoinReplyId = 0x7001;

Status answer(PretendedNode& node, const MakeSessionRequest& request, std::uint32_t features) {
  if (!node.session.is_none() && !(node.session == request.session) && request.force == 0)
    return Status::kBusy;
  node.session = request.session;
  node.name = request.name;
  node.session_features = features & node.features_known;
  return Status::kOk;
}

// The answer of a node to a valid request.
std::optional<MessageBytes> answer_of(PretendedNode& node, const Message& request) {
  const std::uint32_t asked = request.received.header.features;
  const auto tell = [&](auto reply) {
    reply.session = node.session;
    const bool none = node.session.is_none();
    return bytes_of(none ? node.features_known : node.session_features, reply);
  };
  const auto has = [&](const SessionId& id) {
    return !node.session.is_none() && node.session == id;
  };
  if (const auto* const make = std::get_if<MakeSessionRequest>(&request.body)) {
    const Status status = answer(node, *make, asked);
    return tell(MakeSessionReply{.status = status, .timeout_s = node.timeout_s, .name = node.name});
  }
  if (const auto* const remove = std::get_if<RemoveSessionRequest>(&request.body)) {
    if (node.session.is_none()) return tell(RemoveSessionReply{.status = Status::kNoSession});
    if (!has(remove->session)) return tell(RemoveSessionReply{.status = Status::kBusy});
    node.session = {};
    return tell(RemoveSessionReply{});
  }
  if (std::holds_alternative<DebugRequest>(request.body)) {
    if (node.session.is_none()) return tell(DebugReply{.status = Status::kNoSession});
    return tell(DebugReply{.timeout_s = node.timeout_s, .name = node.name});
  }
  if (const auto* const stat = std::get_if<StatRequest>(&request.body)) {
    if (!has(stat->session)) return tell(StatReply{.status = Status::kNoSession});
    return tell(StatReply{.framework = {.running_ms = 1000, .brw_errors = 3}});
  }
  if (const auto* const test = std::get_if<TestRequest>(&request.body))
    return tell(TestReply{.status = has(test->session) ? Status::kOk : Status::kNotFound});
  if (const auto* const batch = std::get_if<BatchRequest>(&request.body)) {
    if (!has(batch->session)) return tell(BatchReply{.status = Status::kNoSession});
    if (batch->operation == BatchOperation::kRun) node.active = 1;
    if (batch->operation == BatchOperation::kStop) node.active = 0;
    const bool asked_how = batch->operation == BatchOperation::kQuery;
    return tell(BatchReply{.active = asked_how ? node.active : 0});
  }
  return std::nullopt;
}

std::uint64_t reply_id_of(const MessageBytes& bytes) {
  std::uint64_t id = 0;
  std::memcpy(&id, bytes.data() + kHeaderBytes, sizeof id);
  return id;
}

}  // namespace

Result<void> Crowd::put(lnet::MdHandle md, const lnet::PutSpec& put) {
  MessageBytes bytes{};
  std::memcpy(bytes.data(), at(open_.at(md.index)), bytes.size());
  if (put.portal == kRdmaPortal) {  // the console's answer to a node that wants to join
    EXPECT_EQ(put.match_bits, kJoinReplyId);
    to_joiner_ = bytes;
    later_.push_back([this, md] { finish(md.index, lnet::EventKind::kSend, {}, 0); });
    return {};
  }
  EXPECT_EQ(put.portal, kFrameworkPortal);
  EXPECT_FALSE(put.ack);
  const lnet::ProcessId target = put.target;
  if (nodes_[target].lost) {
    later_.push_back([this, md] {
      finish(md.index, lnet::EventKind::kSend, std::unexpected(Errc::kNoRoute), 0);
    });
    return {};
  }
  later_.push_back([this, md, target, bytes] {
    finish(md.index, lnet::EventKind::kSend, {}, 0);
    arrive(target, bytes);
  });
  return {};
}

void Crowd::arrive(const lnet::ProcessId& id, const MessageBytes& bytes) {
  PretendedNode& node = nodes_[id];
  const auto message = decode_message(bytes);
  ASSERT_TRUE(message.has_value());
  node.heard.push_back(*message);
  node.heard_bytes.push_back(bytes);
  if (node.silent) return;
  const auto reply = node.instead ? node.instead(*message) : answer_of(node, *message);
  const auto* const test = std::get_if<TestRequest>(&message->body);
  if (test != nullptr && test->is_client != 0 && !node.instead &&
      !fetch_list(node, *test, message->received.header.features == 0))
    return;
  if (reply) later_.push_back([=, this] { deliver(id, reply_id_of(bytes), *reply); });
}

void Crowd::answer_late(const lnet::ProcessId& from, const MessageBytes& request,
                        const MessageBytes& reply) {
  later_.push_back([this, from, id = reply_id_of(request), reply] { deliver(from, id, reply); });
}

bool Crowd::fetch_list(PretendedNode& node, const TestRequest& test, bool whole) {
  const auto found = by_bits_.find(test.bulk_id);
  if (found == by_bits_.end()) return false;  // it was cancelled
  const Open& source = open_.at(found->second);
  EXPECT_EQ(source.md.options, lnet::kMdGet);
  EXPECT_EQ(source.md.length, whole ? kListPageBytes : test.destinations * kDestinationBytes);
  std::vector<lnet::ProcessId> list;
  for (std::uint32_t i = 0; i < test.destinations; ++i) {
    const std::span<const std::byte> entry(at(source) + destination_offset(i), kDestinationBytes);
    list.push_back(lnet::decode_process_id(entry.first<lnet::kProcessIdBytes>()));
  }
  node.lists.push_back(std::move(list));
  node.list_bytes.push_back(source.md.length);
  finish(found->second, lnet::EventKind::kGet, {}, source.md.length);
  return true;
}

std::optional<JoinReply> Crowd::join(const lnet::ProcessId& from, const JoinRequest& request,
                                     std::uint32_t features,
                                     const std::function<void()>& turn_all) {
  if (joins_.empty()) return std::nullopt;
  JoinRequest named = request;
  named.reply_id = kJoinReplyId;
  const std::uint32_t index = joins_.front();
  joins_.pop_front();
  std::memcpy(at(open_.at(index)), bytes_of(features, named).data(), kMessageBytes);
  to_joiner_.reset();
  finish(index, lnet::EventKind::kPut, {}, kMessageBytes, from);
  for (unsigned i = 0; i < 10; ++i)
    turn_all();
  if (!to_joiner_) return std::nullopt;
  const auto message = decode_message(*to_joiner_);
  EXPECT_TRUE(message.has_value());
  return std::get<JoinReply>(message->body);
}

}  // namespace plnet::selftest
