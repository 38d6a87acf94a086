// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/decode/message.hpp"

namespace plnet::trace {

namespace {

Content content_of(const Record& record) {
  const auto payload = record.payload;
  const auto length = record.header.payload_length;
  if (record.is(lnet::MessageType::kReply)) {
    // A ping's reply names no portal: its first word tells that it is one.
    if (auto view = lnet::PingView::parse(payload)) return *view;
    return {};
  }
  if (!record.is(lnet::MessageType::kPut)) return {};
  const std::uint32_t portal = record.portal().value_or(0);  // each PUT has one
  switch (use_of(portal)) {
    case PortalUse::kLnet:
      if (auto view = lnet::PingView::parse(payload)) return *view;
      break;
    case PortalUse::kRequest:
    case PortalUse::kReply:
      if (auto rpc = Rpc::parse(payload)) return *rpc;
      break;
    case PortalUse::kSelftest:
      if (auto message = parse_selftest(payload, length)) return *message;
      break;
    case PortalUse::kOther:
    case PortalUse::kBulk: break;
  }
  return {};
}

}  // namespace

bool Message::is_request() const {
  if (const Rpc* const call = rpc()) return call->is_request();
  if (const SelftestMessage* const message = selftest()) return message->is_request();
  return false;
}

bool Message::is_early_reply() const {
  const Rpc* const call = rpc();
  return call != nullptr && call->is_early_reply(record.offset().value_or(0));
}

bool Message::is_reply() const {
  if (const Rpc* const call = rpc()) {
    return call->type() == kRpcReply || call->type() == kRpcError;
  }
  if (const SelftestMessage* const message = selftest()) return !message->is_request();
  return false;
}

std::optional<std::int64_t> Message::status() const {
  if (const Rpc* const call = rpc(); call != nullptr && is_reply()) {
    return call->get(&RpcBodyWire::status);
  }
  if (const SelftestMessage* const message = selftest(); message != nullptr && is_reply()) {
    return message->status;
  }
  return std::nullopt;
}

Message decode(const Record& record) {
  return {record, content_of(record)};
}

lnet::NetId net_of(const Record& record) {
  const bool sent = record.header.direction == Direction::kSent;
  const lnet::Nid& hop = record.header.hop;
  if (hop.type != 0) return hop.net();
  return sent ? record.header.destination.net() : record.header.source.net();
}

}  // namespace plnet::trace
