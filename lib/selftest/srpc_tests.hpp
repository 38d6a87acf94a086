// SPDX-License-Identifier: BSD-3-Clause
// The srpc messages of tests: the description of a test, and the messages between tests. See
// srpc_wire.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "lib/selftest/srpc_wire.hpp"

namespace plnet::selftest {

// --- TEST ---

inline constexpr std::size_t kParameterBytes = 12;
inline constexpr std::uint32_t kConcurrencyMax = 1024;  // nodes refuse more

enum class BulkOperation : std::uint32_t { kRead = 1, kWrite = 2 };

// The pattern of bulk data and its check (data_pattern.hpp). The wire calls these flags.
enum class Check : std::uint32_t {
  kNone = 1,
  kSimple = 2,
  kFull = 3,
  kDiscard = 4,  // the sink may discard it; only kernels since June 2026 know it
};

struct PingParameters {
  std::uint32_t size = 0;  // both are unused
  std::uint32_t flags = 0;

  friend bool operator==(const PingParameters&, const PingParameters&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.size, self.flags);
  }
};
// Without kFeatureBulkLength.
struct BulkParametersV0 {
  std::uint32_t operation = 0;
  std::uint32_t pages = 0;
  std::uint32_t check = 0;

  friend bool operator==(const BulkParametersV0&, const BulkParametersV0&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.operation, self.pages, self.check);
  }
};
// With kFeatureBulkLength.
struct BulkParametersV1 {
  std::uint16_t operation = 0;
  std::uint16_t check = 0;
  std::uint32_t length = 0;
  std::uint32_t offset = 0;

  friend bool operator==(const BulkParametersV1&, const BulkParametersV1&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.operation, self.check, self.length, self.offset);
  }
};
// Parameters of an unknown service, as received.
using RawParameters = std::array<std::byte, kParameterBytes>;
using TestParameters =
    std::variant<RawParameters, PingParameters, BulkParametersV0, BulkParametersV1>;

struct TestRequest {
  static constexpr auto kType = MessageType::kTestRequest;
  std::uint64_t reply_id = 0;
  std::uint64_t bulk_id = 0;  // of the list of destinations, for a client
  SessionId session;
  std::uint64_t batch = 0;
  Service service{};       // as received: may be any value
  std::uint32_t loop = 0;  // client: iterations of a unit, negative: until stopped
  std::uint32_t concurrency = 0;
  std::uint8_t is_client = 0;
  std::uint8_t stop_on_error = 0;
  std::uint32_t destinations = 0;
  TestParameters parameters;

  friend bool operator==(const TestRequest&, const TestRequest&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.reply_id, self.bulk_id, self.session, self.batch, self.service, self.loop,
           self.concurrency, self.is_client, self.stop_on_error, self.destinations,
           self.parameters);
  }
};

struct TestReply {
  static constexpr auto kType = MessageType::kTestReply;
  Status status = Status::kOk;
  SessionId session;

  friend bool operator==(const TestReply&, const TestReply&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.status, self.session);
  }
};

// The list of destinations that a client fetches: entries of 12 bytes (lib/lnet/wire/
// process_id_codec.hpp) of which none straddles a page of the console.
inline constexpr std::uint32_t kListPageBytes = 4096;
inline constexpr std::uint32_t kDestinationBytes = 12;
inline constexpr std::uint32_t kDestinationsPerPage = kListPageBytes / kDestinationBytes;
[[nodiscard]] constexpr std::uint64_t destination_offset(std::uint32_t index) {
  return std::uint64_t{index / kDestinationsPerPage} * kListPageBytes +
         std::uint64_t{index % kDestinationsPerPage} * kDestinationBytes;
}
static_assert(kDestinationsPerPage == 341 && destination_offset(1023) == 12288);

// --- Requests of tests ---

struct BrwRequest {
  static constexpr auto kType = MessageType::kBrwRequest;
  std::uint64_t reply_id = 0;
  std::uint64_t bulk_id = 0;
  BulkOperation operation{};  // as received: may be any value
  std::uint32_t length = 0;
  Check check{};  // as received: may be any value

  friend bool operator==(const BrwRequest&, const BrwRequest&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.reply_id, self.bulk_id, self.operation, self.length, self.check);
  }
};

struct BrwReply {
  static constexpr auto kType = MessageType::kBrwReply;
  Status status = Status::kOk;

  friend bool operator==(const BrwReply&, const BrwReply&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.status);
  }
};

struct PingRequest {
  static constexpr auto kType = MessageType::kPingRequest;
  std::uint64_t reply_id = 0;
  std::uint32_t magic = kPingMagic;
  std::uint32_t sequence = 0;
  std::uint64_t time_s = 0;  // wall-clock time, for people
  std::uint64_t time_ns = 0;

  friend bool operator==(const PingRequest&, const PingRequest&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.reply_id, self.magic, self.sequence, self.time_s, self.time_ns);
  }
};

struct PingReply {
  static constexpr auto kType = MessageType::kPingReply;
  Status status = Status::kOk;
  std::uint32_t magic = kPingMagic;
  std::uint32_t sequence = 0;

  friend bool operator==(const PingReply&, const PingReply&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.status, self.magic, self.sequence);
  }
};

// Indexed by the number of the type.
using Body = std::variant<MakeSessionRequest, MakeSessionReply, RemoveSessionRequest,
                          RemoveSessionReply, BatchRequest, BatchReply, StatRequest, StatReply,
                          TestRequest, TestReply, DebugRequest, DebugReply, BrwRequest, BrwReply,
                          PingRequest, PingReply, JoinRequest, JoinReply>;
static_assert(std::variant_size_v<Body> == static_cast<std::size_t>(MessageType::kInvalid));

}  // namespace plnet::selftest
