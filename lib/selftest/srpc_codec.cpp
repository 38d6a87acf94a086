// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/srpc_codec.hpp"

#include <array>

namespace plnet::selftest {

namespace {

// Sizes and offsets of the kernel's structures, from the start of the message.
template <class T>
constexpr std::size_t kEnd = kHeaderBytes + wire_bytes<T>();
template <class T, class Field>
consteval std::size_t at(Field T::* member) {
  return kHeaderBytes + offset_of(member);
}

static_assert(offset_of(&Header::version) == 4 && offset_of(&Header::type) == 8);
static_assert(offset_of(&Header::reserved0) == 12 && offset_of(&Header::reserved1) == 16);
static_assert(offset_of(&Header::features) == 20);
static_assert(wire_bytes<SessionId>() == 16 && offset_of(&SessionId::stamp) == 8);

static_assert(kEnd<MakeSessionRequest> == 84 && at(&MakeSessionRequest::reply_id) == 24);
static_assert(at(&MakeSessionRequest::session) == 32 && at(&MakeSessionRequest::force) == 48);
static_assert(at(&MakeSessionRequest::name) == 52);
static_assert(kEnd<MakeSessionReply> == 80 && at(&MakeSessionReply::status) == 24);
static_assert(at(&MakeSessionReply::session) == 28 && at(&MakeSessionReply::timeout_s) == 44);
static_assert(at(&MakeSessionReply::name) == 48);
static_assert(kEnd<RemoveSessionRequest> == 48 && at(&RemoveSessionRequest::reply_id) == 24);
static_assert(at(&RemoveSessionRequest::session) == 32);
static_assert(kEnd<RemoveSessionReply> == 44 && at(&RemoveSessionReply::session) == 28);
static_assert(kEnd<BatchRequest> == 68 && at(&BatchRequest::session) == 32);
static_assert(at(&BatchRequest::batch) == 48 && at(&BatchRequest::operation) == 56);
static_assert(at(&BatchRequest::test) == 60 && at(&BatchRequest::argument) == 64);
static_assert(kEnd<BatchReply> == 52 && at(&BatchReply::session) == 28);
static_assert(at(&BatchReply::active) == 44 && at(&BatchReply::time) == 48);
static_assert(kEnd<StatRequest> == 52 && at(&StatRequest::session) == 32);
static_assert(at(&StatRequest::what) == 48);

static_assert(kEnd<StatReply> == 160 && at(&StatReply::session) == 28);
static_assert(at(&StatReply::framework) == 44 && at(&StatReply::rpc) == 64);
static_assert(at(&StatReply::lnet) == 100);
static_assert(wire_bytes<FrameworkCounters>() == 20 && wire_bytes<RpcCounters>() == 36);
static_assert(wire_bytes<LnetCounters>() == 60);
static_assert(offset_of(&FrameworkCounters::active_batches) == 4);
static_assert(offset_of(&FrameworkCounters::zombie_sessions) == 8);
static_assert(offset_of(&FrameworkCounters::brw_errors) == 12);
static_assert(offset_of(&FrameworkCounters::ping_errors) == 16);
static_assert(offset_of(&RpcCounters::sent) == 4 && offset_of(&RpcCounters::received) == 8);
static_assert(offset_of(&RpcCounters::dropped) == 12 && offset_of(&RpcCounters::expired) == 16);
static_assert(offset_of(&RpcCounters::bulk_got) == 20 && offset_of(&RpcCounters::bulk_put) == 28);
static_assert(offset_of(&LnetCounters::messages_max) == 4 && offset_of(&LnetCounters::errors) == 8);
static_assert(offset_of(&LnetCounters::send_count) == 12);
static_assert(offset_of(&LnetCounters::receive_count) == 16);
static_assert(offset_of(&LnetCounters::route_count) == 20);
static_assert(offset_of(&LnetCounters::drop_count) == 24);
static_assert(offset_of(&LnetCounters::send_length) == 28);
static_assert(offset_of(&LnetCounters::receive_length) == 36);
static_assert(offset_of(&LnetCounters::route_length) == 44);
static_assert(offset_of(&LnetCounters::drop_length) == 52);

static_assert(kEnd<TestRequest> == 94 && at(&TestRequest::bulk_id) == 32);
static_assert(at(&TestRequest::session) == 40 && at(&TestRequest::batch) == 56);
static_assert(at(&TestRequest::service) == 64 && at(&TestRequest::loop) == 68);
static_assert(at(&TestRequest::concurrency) == 72 && at(&TestRequest::is_client) == 76);
static_assert(at(&TestRequest::stop_on_error) == 77 && at(&TestRequest::destinations) == 78);
static_assert(at(&TestRequest::parameters) == 82);
static_assert(wire_bytes<PingParameters>() == 8 && offset_of(&PingParameters::flags) == 4);
static_assert(wire_bytes<BulkParametersV0>() == kParameterBytes);
static_assert(offset_of(&BulkParametersV0::pages) == 4 && offset_of(&BulkParametersV0::check) == 8);
static_assert(wire_bytes<BulkParametersV1>() == kParameterBytes);
static_assert(offset_of(&BulkParametersV1::check) == 2 &&
              offset_of(&BulkParametersV1::length) == 4);
static_assert(offset_of(&BulkParametersV1::offset) == 8);
static_assert(kEnd<TestReply> == 44 && at(&TestReply::session) == 28);

static_assert(kEnd<DebugRequest> == 52 && at(&DebugRequest::flags) == 48);
static_assert(kEnd<DebugReply> == 84 && at(&DebugReply::session) == 28);
static_assert(at(&DebugReply::timeout_s) == 44 && at(&DebugReply::batches) == 48);
static_assert(at(&DebugReply::name) == 52);
static_assert(kEnd<BrwRequest> == 52 && at(&BrwRequest::bulk_id) == 32);
static_assert(at(&BrwRequest::operation) == 40 && at(&BrwRequest::length) == 44);
static_assert(at(&BrwRequest::check) == 48 && kEnd<BrwReply> == 28);
static_assert(kEnd<PingRequest> == 56 && at(&PingRequest::magic) == 32);
static_assert(at(&PingRequest::sequence) == 36 && at(&PingRequest::time_s) == 40);
static_assert(at(&PingRequest::time_ns) == 48);
static_assert(kEnd<PingReply> == 36 && at(&PingReply::magic) == 28);
static_assert(at(&PingReply::sequence) == 32);
static_assert(kEnd<JoinRequest> == 80 && at(&JoinRequest::session) == 32);
static_assert(at(&JoinRequest::group) == 48);
static_assert(kEnd<JoinReply> == 80 && at(&JoinReply::session) == 28);
static_assert(at(&JoinReply::timeout_s) == 44 && at(&JoinReply::session_name) == 48);

using Decode = Body (*)(std::span<const std::byte, kMessageBytes>, const ReceivedHeader&);

template <std::size_t kType>
Body decode_as(std::span<const std::byte, kMessageBytes> bytes, const ReceivedHeader& received) {
  using T = std::variant_alternative_t<kType, Body>;
  static_assert(static_cast<std::size_t>(T::kType) == kType,
                "bodies are indexed by the number of the type");
  return decode_body<T>(bytes, received);
}

}  // namespace

Result<Message> decode_message(std::span<const std::byte> bytes) {
  static constexpr auto kDecoders = []<std::size_t... kTypes>(std::index_sequence<kTypes...>) {
    return std::array<Decode, sizeof...(kTypes)>{decode_as<kTypes>...};
  }(std::make_index_sequence<std::variant_size_v<Body>>());
  const auto received = decode_header(bytes);
  if (!received) return std::unexpected(received.error());
  const auto type = static_cast<std::size_t>(received->header.type);
  if (type >= kDecoders.size()) return std::unexpected(Errc::kNotSupported);
  return Message{*received, kDecoders[type](bytes.first<kMessageBytes>(), *received)};
}

}  // namespace plnet::selftest
