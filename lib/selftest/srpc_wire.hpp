// SPDX-License-Identifier: BSD-3-Clause
// The messages of LNet's selftest (srpc), all 160 bytes long: a header of 24 bytes and a body, both
// packed. Each struct here lists its fields once, in the order of the wire (each()); sizes,
// offsets, the codec (srpc_codec.hpp) and tests follow from that. Checked against lustre-release
// v2_17_0 lnet/selftest/rpc.h (struct srpc_*), lnet/selftest/selftest.h and
// lnet/include/uapi/linux/lnet/lnetst.h (struct lst_sid, lst_bid, *_counters).
//
// A sender uses its own byte order; the receiver detects it from the magic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::selftest {

inline constexpr std::size_t kMessageBytes = 160;
inline constexpr std::uint32_t kMagic = 0xeeb0f00d;
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kPingMagic = 0xbabeface;

inline constexpr lnet::PortalId kTestPortal = 50;       // requests of test services
inline constexpr lnet::PortalId kFrameworkPortal = 51;  // requests of all others
inline constexpr lnet::PortalId kRdmaPortal = 52;       // replies and bulk

// Session features.
inline constexpr std::uint32_t kFeatureBulkLength = 1;  // bulk parameters in bytes, not pages
inline constexpr std::uint32_t kFeaturesKnown = kFeatureBulkLength;

// Also the match bits of requests.
enum class Service : std::uint32_t {
  kDebug = 0,
  kMakeSession = 1,
  kRemoveSession = 2,
  kBatch = 3,
  kTest = 4,
  kStat = 5,
  kJoin = 6,
  kBrw = 11,
  kPing = 12,
};

// The type of a reply is that of its request + 1. As received: may be any value.
enum class MessageType : std::uint32_t {
  kMakeSessionRequest = 0,
  kMakeSessionReply = 1,
  kRemoveSessionRequest = 2,
  kRemoveSessionReply = 3,
  kBatchRequest = 4,
  kBatchReply = 5,
  kStatRequest = 6,
  kStatReply = 7,
  kTestRequest = 8,
  kTestReply = 9,
  kDebugRequest = 10,
  kDebugReply = 11,
  kBrwRequest = 12,
  kBrwReply = 13,
  kPingRequest = 14,
  kPingReply = 15,
  kJoinRequest = 16,
  kJoinReply = 17,
  kInvalid = 18,
};

[[nodiscard]] constexpr MessageType request_of(Service service) {
  switch (service) {
    case Service::kDebug: return MessageType::kDebugRequest;
    case Service::kMakeSession: return MessageType::kMakeSessionRequest;
    case Service::kRemoveSession: return MessageType::kRemoveSessionRequest;
    case Service::kBatch: return MessageType::kBatchRequest;
    case Service::kTest: return MessageType::kTestRequest;
    case Service::kStat: return MessageType::kStatRequest;
    case Service::kJoin: return MessageType::kJoinRequest;
    case Service::kBrw: return MessageType::kBrwRequest;
    case Service::kPing: return MessageType::kPingRequest;
  }
  return MessageType::kInvalid;
}
[[nodiscard]] constexpr MessageType reply_to(MessageType request) {
  return static_cast<MessageType>(static_cast<std::uint32_t>(request) + 1);
}
[[nodiscard]] constexpr lnet::PortalId portal_of(Service service) {
  constexpr std::uint32_t kFrameworkMax = 10;
  return static_cast<std::uint32_t>(service) < kFrameworkMax ? kFrameworkPortal : kTestPortal;
}

// Status codes of replies: errno of Linux on x86, positive.
enum class Status : std::uint32_t {
  kOk = 0,
  kNotPermitted = 1,  // EPERM
  kNotFound = 2,      // ENOENT
  kNoSession = 3,     // ESRCH
  kIo = 5,            // EIO
  kNoMemory = 12,     // ENOMEM
  kBusy = 16,         // EBUSY
  kExists = 17,       // EEXIST
  kInvalid = 22,      // EINVAL
  kProtocol = 71,     // EPROTO
  kBadMessage = 74,   // EBADMSG
};

using Name = std::array<char, 32>;
// Up to the first NUL, which may be missing.
[[nodiscard]] std::string_view text_of(const Name& name);
// The first 31 characters.
[[nodiscard]] Name name_from(std::string_view text);

struct SessionId {
  std::uint64_t nid = lnet::kNid64Any;
  std::int64_t stamp = -1;

  // The kernel compares only the NID, too.
  [[nodiscard]] bool is_none() const { return nid == lnet::kNid64Any; }
  friend bool operator==(const SessionId&, const SessionId&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.nid, self.stamp);
  }
};

struct Header {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  MessageType type = MessageType::kInvalid;
  std::uint32_t reserved0 = 0;
  std::uint32_t reserved1 = 0;
  std::uint32_t features = 0;  // of the session

  friend bool operator==(const Header&, const Header&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.magic, self.version, self.type, self.reserved0, self.reserved1, self.features);
  }
};

// --- Sessions ---

struct MakeSessionRequest {
  static constexpr auto kType = MessageType::kMakeSessionRequest;
  std::uint64_t reply_id = 0;
  SessionId session;
  std::uint32_t force = 0;
  Name name{};

  friend bool operator==(const MakeSessionRequest&, const MakeSessionRequest&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.reply_id, self.session, self.force, self.name);
  }
};

struct MakeSessionReply {
  static constexpr auto kType = MessageType::kMakeSessionReply;
  Status status = Status::kOk;
  SessionId session;
  std::uint32_t timeout_s = 0;
  Name name{};

  friend bool operator==(const MakeSessionReply&, const MakeSessionReply&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.status, self.session, self.timeout_s, self.name);
  }
};

struct RemoveSessionRequest {
  static constexpr auto kType = MessageType::kRemoveSessionRequest;
  std::uint64_t reply_id = 0;
  SessionId session;

  friend bool operator==(const RemoveSessionRequest&, const RemoveSessionRequest&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.reply_id, self.session);
  }
};

struct RemoveSessionReply {
  static constexpr auto kType = MessageType::kRemoveSessionReply;
  Status status = Status::kOk;
  SessionId session;

  friend bool operator==(const RemoveSessionReply&, const RemoveSessionReply&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.status, self.session);
  }
};

struct DebugRequest {
  static constexpr auto kType = MessageType::kDebugRequest;
  std::uint64_t reply_id = 0;
  SessionId session;
  std::uint32_t flags = 0;

  friend bool operator==(const DebugRequest&, const DebugRequest&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.reply_id, self.session, self.flags);
  }
};

struct DebugReply {
  static constexpr auto kType = MessageType::kDebugReply;
  Status status = Status::kOk;
  SessionId session;
  std::uint32_t timeout_s = 0;
  std::uint32_t batches = 0;  // unused in the kernel
  Name name{};

  friend bool operator==(const DebugReply&, const DebugReply&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.status, self.session, self.timeout_s, self.batches, self.name);
  }
};

struct JoinRequest {
  static constexpr auto kType = MessageType::kJoinRequest;
  std::uint64_t reply_id = 0;
  SessionId session;  // none: any session
  Name group{};

  friend bool operator==(const JoinRequest&, const JoinRequest&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.reply_id, self.session, self.group);
  }
};

struct JoinReply {
  static constexpr auto kType = MessageType::kJoinReply;
  Status status = Status::kOk;
  SessionId session;
  std::uint32_t timeout_s = 0;
  Name session_name{};

  friend bool operator==(const JoinReply&, const JoinReply&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.status, self.session, self.timeout_s, self.session_name);
  }
};

// --- Batches and statistics ---

enum class BatchOperation : std::uint32_t { kRun = 1, kStop = 2, kQuery = 3 };

struct BatchRequest {
  static constexpr auto kType = MessageType::kBatchRequest;
  std::uint64_t reply_id = 0;
  SessionId session;
  std::uint64_t batch = 0;
  BatchOperation operation{};  // as received: may be any value
  std::uint32_t test = 0;      // its number in the batch from 1 on; 0: the batch
  std::uint32_t argument = 0;  // kStop: not 0 means by force

  friend bool operator==(const BatchRequest&, const BatchRequest&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.reply_id, self.session, self.batch, self.operation, self.test, self.argument);
  }
};

struct BatchReply {
  static constexpr auto kType = MessageType::kBatchReply;
  Status status = Status::kOk;
  SessionId session;
  std::uint32_t active = 0;
  std::uint32_t time = 0;  // unused in the kernel

  friend bool operator==(const BatchReply&, const BatchReply&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.status, self.session, self.active, self.time);
  }
};

struct StatRequest {
  static constexpr auto kType = MessageType::kStatRequest;
  std::uint64_t reply_id = 0;
  SessionId session;
  std::uint32_t what = 0;

  friend bool operator==(const StatRequest&, const StatRequest&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.reply_id, self.session, self.what);
  }
};

struct FrameworkCounters {
  std::uint32_t running_ms = 0;  // since this session began on the node
  std::uint32_t active_batches = 0;
  std::uint32_t zombie_sessions = 0;
  std::uint32_t brw_errors = 0;
  std::uint32_t ping_errors = 0;

  friend bool operator==(const FrameworkCounters&, const FrameworkCounters&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.running_ms, self.active_batches, self.zombie_sessions, self.brw_errors,
           self.ping_errors);
  }
};

struct RpcCounters {
  std::uint32_t errors = 0;
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  std::uint32_t dropped = 0;
  std::uint32_t expired = 0;
  std::uint64_t bulk_got = 0;  // bytes, as server
  std::uint64_t bulk_put = 0;

  friend bool operator==(const RpcCounters&, const RpcCounters&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.errors, self.sent, self.received, self.dropped, self.expired, self.bulk_got,
           self.bulk_put);
  }
};

struct LnetCounters {
  std::uint32_t messages_alloc = 0;
  std::uint32_t messages_max = 0;
  std::uint32_t errors = 0;
  std::uint32_t send_count = 0;
  std::uint32_t receive_count = 0;
  std::uint32_t route_count = 0;
  std::uint32_t drop_count = 0;
  std::uint64_t send_length = 0;
  std::uint64_t receive_length = 0;
  std::uint64_t route_length = 0;
  std::uint64_t drop_length = 0;

  friend bool operator==(const LnetCounters&, const LnetCounters&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.messages_alloc, self.messages_max, self.errors, self.send_count, self.receive_count,
           self.route_count, self.drop_count, self.send_length, self.receive_length,
           self.route_length, self.drop_length);
  }
};

struct StatReply {
  static constexpr auto kType = MessageType::kStatReply;
  Status status = Status::kOk;
  SessionId session;
  FrameworkCounters framework;
  RpcCounters rpc;
  LnetCounters lnet;

  friend bool operator==(const StatReply&, const StatReply&) = default;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.status, self.session, self.framework, self.rpc, self.lnet);
  }
};

}  // namespace plnet::selftest
