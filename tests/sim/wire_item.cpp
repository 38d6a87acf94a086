// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/wire_item.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "lib/lnet/wire/header_codec.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::sim {

using namespace lnet;
using Kind = WireItem::Kind;

namespace {

constexpr std::size_t kMessageBytes = socklnd::kFrameBytes + kHeaderNid4Bytes;
constexpr std::size_t kFirstCookieAt = offsetof(socklnd::FrameWire, cookies);
constexpr std::size_t kHandleAt = socklnd::kFrameBytes + offsetof(HeaderNid4Wire, type_area);

// In a ping buffer: the status of its first entry, which is 0@lo.
constexpr std::size_t kSequenceAt = sizeof(PingInfoWire) + offsetof(NiStatusWire, status);

const char* name_of(MessageType type) {
  switch (type) {
    case MessageType::kAck: return "ACK";
    case MessageType::kPut: return "PUT";
    case MessageType::kGet: return "GET";
    case MessageType::kReply: return "REPLY";
    default: return "unknown message";
  }
}

std::uint64_t match_bits_of(const MessageHeader& header) {
  return header.type == MessageType::kReply ? 0 : header.area<AckArea>().match_bits;
}

// Records differences by name.
class Comparison {
 public:
  template <class Value>
  void field(const char* name, const Value& kernel, const Value& ours) {
    if (!(kernel == ours)) found_.insert(name);
  }
  // Our object cookies differ from the kernel's, but are consistent for the same object.
  void own_handle(const WireHandle& kernel, const WireHandle& ours, HandleNames& names) {
    const auto known = names.emplace(kernel.object_cookie, ours.object_cookie).first->second;
    field("handle: interface cookie", kernel.interface_cookie, ours.interface_cookie);
    field("handle: object cookie", known, ours.object_cookie);
    field("handle: none", kernel.is_none(), ours.is_none());
  }
  [[nodiscard]] std::set<std::string> found() && { return std::move(found_); }

 private:
  std::set<std::string> found_;
};

void compare_hello(Comparison& compare, const socklnd::Hello& kernel, const socklnd::Hello& ours) {
  compare.field("hello: version", kernel.protocol, ours.protocol);
  compare.field("hello: source", kernel.source, ours.source);
  compare.field("hello: destination", kernel.destination, ours.destination);
  compare.field("hello: source pid", kernel.source_pid, ours.source_pid);
  compare.field("hello: destination pid", kernel.destination_pid, ours.destination_pid);
  compare.field("hello: incarnation", kernel.source_incarnation, ours.source_incarnation);
  compare.field("hello: destination incarnation", kernel.destination_incarnation,
                ours.destination_incarnation);
  compare.field("hello: type", kernel.type, ours.type);
  compare.field("hello: addresses", kernel.addresses, ours.addresses);
}

void compare_areas(Comparison& compare, const MessageHeader& kernel, const MessageHeader& ours) {
  compare.field("match bits", match_bits_of(kernel), match_bits_of(ours));
  switch (kernel.type) {
    case MessageType::kAck:
      return compare.field("mlength", kernel.area<AckArea>().accepted_length,
                           ours.area<AckArea>().accepted_length);
    case MessageType::kPut: {
      const auto& a = kernel.area<PutArea>();
      const auto& b = ours.area<PutArea>();
      compare.field("header data", a.header_data, b.header_data);
      compare.field("portal", a.portal, b.portal);
      return compare.field("offset", a.offset, b.offset);
    }
    case MessageType::kGet: {
      const auto& a = kernel.area<GetArea>();
      const auto& b = ours.area<GetArea>();
      compare.field("portal", a.portal, b.portal);
      compare.field("source offset", a.source_offset, b.source_offset);
      return compare.field("sink length", a.sink_length, b.sink_length);
    }
    default: return;
  }
}

void compare_payloads(Comparison& compare, std::span<const std::byte> kernel,
                      std::span<const std::byte> ours) {
  const auto view = PingView::parse(kernel);
  if (!view || kernel.size() != ours.size()) {
    return compare.field("payload", std::ranges::equal(kernel, ours), true);
  }
  const auto same = [&](std::size_t from, std::size_t length) {
    return std::ranges::equal(kernel.subspan(from, length), ours.subspan(from, length));
  };
  const std::size_t behind = kSequenceAt + sizeof(std::uint32_t);
  compare.field("ping: sequence number", same(kSequenceAt, sizeof(std::uint32_t)), true);
  compare.field("ping: before it", same(0, kSequenceAt), true);
  compare.field("ping: behind it", same(behind, kernel.size() - behind), true);
}

void compare_messages(Comparison& compare, const WireItem& kernel, const WireItem& ours,
                      HandleNames& names) {
  const MessageHeader& a = kernel.header;
  const MessageHeader& b = ours.header;
  compare.field("destination", a.destination, b.destination);
  compare.field("source", a.source, b.source);
  compare.field("destination pid", a.destination_pid, b.destination_pid);
  compare.field("source pid", a.source_pid, b.source_pid);
  compare.field("type", a.type, b.type);
  compare.field("payload length", a.payload_length, b.payload_length);
  const bool answer = a.type == MessageType::kAck || a.type == MessageType::kReply;
  if (answer) {
    compare.field("handle answered", kernel.handle(), ours.handle());
  } else {
    compare.own_handle(kernel.handle(), ours.handle(), names);
  }
  if (a.type == b.type) compare_areas(compare, a, b);
  compare_payloads(compare, kernel.payload(), ours.payload());
  // NIDs have unused bits, most types an unused rest.
  WireItem rest = ours;
  std::memcpy(&rest.bytes[kFirstCookieAt], &kernel.bytes[kFirstCookieAt], sizeof(std::uint64_t));
  rest.set_handle(kernel.handle());
  const auto header_of = [](const WireItem& item) {
    return std::span(item.bytes).first(kMessageBytes);
  };
  compare.field("unused bits", std::ranges::equal(header_of(kernel), header_of(rest)), true);
}

}  // namespace

std::span<const std::byte> WireItem::payload() const {
  return kind == Kind::kMessage ? std::span(bytes).subspan(kMessageBytes)
                                : std::span<const std::byte>{};
}

WireHandle WireItem::handle() const {
  // At the same place in all four types.
  return kind == Kind::kMessage ? header.area<ReplyArea>().destination : WireHandle{};
}

void WireItem::set_handle(const WireHandle& handle) {
  std::memcpy(&bytes[kHandleAt], &handle, sizeof handle);
  parse();
}

void WireItem::parse() {
  const std::span<const std::byte> all(bytes);
  if (kind == Kind::kHello) hello = socklnd::decode_hello(all).value_or(socklnd::Hello{});
  if (kind != Kind::kNoop && kind != Kind::kMessage) return;
  frame = socklnd::decode_frame(all.first<socklnd::kFrameBytes>(), false);
  if (kind == Kind::kMessage) header = *decode_header_nid4(all.subspan(socklnd::kFrameBytes));
}

bool WireItem::resembles(const WireItem& other) const {
  if (kind != other.kind) return false;
  if (kind != Kind::kMessage) return true;
  return header.type == other.header.type && match_bits_of(header) == match_bits_of(other.header);
}

std::string WireItem::text() const {
  switch (kind) {
    case Kind::kRequest: return "request";
    case Kind::kHello: return "HELLO of type " + std::to_string(hello.type);
    case Kind::kNoop: return "NOOP";
    case Kind::kMessage: break;
  }
  std::array<char, 17> bits{};
  std::snprintf(bits.data(), bits.size(), "%llx",
                static_cast<unsigned long long>(match_bits_of(header)));
  return std::string(name_of(header.type)) + " for match bits " + bits.data();
}

void WireSplitter::take(std::span<const std::byte> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  while (cut()) {
  }
}

// 0: more bytes are needed.
std::size_t WireSplitter::length_of_next(WireItem& item) const {
  const std::span<const std::byte> bytes(buffer_);
  if (next_ != Next::kMessages) {
    item.kind = next_ == Next::kRequest ? Kind::kRequest : Kind::kHello;
    return next_ == Next::kRequest ? socklnd::kAcceptorV1Bytes : socklnd::kHelloNid4Bytes;
  }
  if (bytes.size() < socklnd::kFrameBytes) return 0;
  const auto frame = socklnd::decode_frame(bytes.first<socklnd::kFrameBytes>(), false);
  item.kind = frame.type == socklnd::kFrameNoop ? Kind::kNoop : Kind::kMessage;
  if (item.kind == Kind::kNoop) return socklnd::kFrameBytes;
  const auto header = decode_header_nid4(bytes.subspan(socklnd::kFrameBytes));
  return header ? kMessageBytes + header->payload_length : 0;
}

bool WireSplitter::cut() {
  WireItem item{.begin = begin_};
  const std::size_t length = length_of_next(item);
  if (length == 0 || buffer_.size() < length) return false;
  const auto end = buffer_.begin() + static_cast<std::ptrdiff_t>(length);
  item.bytes.assign(buffer_.begin(), end);
  buffer_.erase(buffer_.begin(), end);
  begin_ += length;
  item.parse();
  next_ = next_ == Next::kRequest ? Next::kHello : Next::kMessages;
  items_.push_back(std::move(item));
  return true;
}

std::set<std::string> differences(const WireItem& kernel, const WireItem& ours,
                                  HandleNames& names) {
  if (kernel.kind != ours.kind) return {"kind"};
  Comparison compare;
  compare.field("length", kernel.bytes.size(), ours.bytes.size());
  switch (kernel.kind) {
    case Kind::kRequest: compare.field("request", kernel.bytes, ours.bytes); break;
    case Kind::kHello:
      compare_hello(compare, kernel.hello, ours.hello);
      compare.field("hello: unused bits", kernel.bytes, ours.bytes);
      break;
    case Kind::kNoop:
    case Kind::kMessage:
      compare.field("frame: type", kernel.frame.type, ours.frame.type);
      compare.field("frame: checksum", kernel.frame.checksum, ours.frame.checksum);
      compare.field("frame: first cookie", kernel.frame.cookies[0], ours.frame.cookies[0]);
      compare.field("frame: second cookie", kernel.frame.cookies[1], ours.frame.cookies[1]);
      if (kernel.kind == Kind::kMessage) compare_messages(compare, kernel, ours, names);
      break;
  }
  return std::move(compare).found();
}

}  // namespace plnet::sim
