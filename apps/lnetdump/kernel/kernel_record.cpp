// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/kernel/kernel_record.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>

#include "lib/lnet/move/statistics.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnetdump {

namespace {

using lnet::Cause;
using lnet::MessageType;
using lnet::Nid;

constexpr std::uint32_t kTypeMax = 255;

static_assert(sizeof(Nid) == sizeof(lnetdump_probe_record::source));
static_assert(sizeof(lnetdump_probe_record::type_area) == lnet::kTypeAreaBytes);

Nid nid_of(const __u8 (&bytes)[sizeof(Nid)]) {
  return std::bit_cast<Nid>(bytes);
}

// lustre-release lnet/lnet/lib-move.c: lnet_parse() returns an error for these.
std::optional<Cause> cause_of_refusal(const lnetdump_probe_record& probed) {
  if (probed.status == -ESHUTDOWN) return Cause::kDroppedShutdown;
  const bool has_payload = probed.payload_length > 0;
  const bool is_long = probed.payload_length > lnet::kPayloadBytesMax;
  switch (static_cast<MessageType>(probed.type)) {
    case MessageType::kAck:
      if (has_payload) return Cause::kRejectedAckPayload;
      break;
    case MessageType::kGet:
      if (has_payload) return Cause::kRejectedGetPayload;
      break;
    case MessageType::kPut:
      if (is_long) return Cause::kRejectedPutLength;
      break;
    case MessageType::kReply:
      if (is_long) return Cause::kRejectedReplyLength;
      break;
    default: return Cause::kRejectedType;
  }
  if (nid_of(probed.destination).net() == nid_of(probed.interface).net()) {
    return Cause::kRejectedNotDirect;
  }
  // A dropped GET can have either of two causes.
  if (static_cast<MessageType>(probed.type) == MessageType::kGet) return std::nullopt;
  return Cause::kRejectedOtherNid;
}

// The status follows lustre-release lnet/lnet/lib-move.c: lnet_parse_local() and
// lnet_parse_forward_locked(). A drop without a status may be due to a drop rule, a node that does
// not route, and others.
std::optional<Cause> cause_of_drop(const lnetdump_probe_record& probed) {
  if (probed.status == -ECANCELED) return Cause::kDroppedNotRouting;
  if (probed.status != -ENOENT) return std::nullopt;
  switch (static_cast<MessageType>(probed.type)) {
    case MessageType::kPut: return Cause::kDroppedPutNoMatch;
    case MessageType::kGet: return Cause::kDroppedGetNoMatch;
    case MessageType::kAck: return Cause::kDroppedAckNoMd;
    case MessageType::kReply: return Cause::kDroppedReplyNoMd;
    default: return std::nullopt;
  }
}

// lustre-release lnet/lnet/lib-move.c: lnet_post_send_locked(), lnet_select_pathway().
std::optional<Cause> cause_of_unsent(const lnetdump_probe_record& probed) {
  const bool has_hop = nid_of(probed.hop).type != 0;
  switch (probed.status) {
    case -EHOSTUNREACH: return has_hop ? Cause::kTxHopDown : Cause::kTxNoPath;
    case -ETIMEDOUT: return Cause::kTxDeadline;
    case -ECANCELED: return Cause::kTxMdAborted;
    default: return std::nullopt;
  }
}

std::optional<Cause> cause_of(const lnetdump_probe_record& probed) {
  switch (probed.way) {
    case LNETDUMP_PROBE_REFUSED: return cause_of_refusal(probed);
    case LNETDUMP_PROBE_RECEIVED_DROPPED: return cause_of_drop(probed);
    case LNETDUMP_PROBE_UNSENT: return cause_of_unsent(probed);
    default: return std::nullopt;
  }
}

trace::Direction direction_of(std::uint32_t way) {
  if (way == LNETDUMP_PROBE_RECEIVED) return trace::Direction::kReceived;
  return way == LNETDUMP_PROBE_SENT ? trace::Direction::kSent : trace::Direction::kDropped;
}

}  // namespace

KernelRecord record_of(const lnetdump_probe_record& probed, std::int64_t wall_offset_ns) {
  KernelRecord made{.record = {}, .interface = nid_of(probed.interface)};
  trace::RecordHeader& header = made.record.header;
  header.time_ns = probed.time_ns + static_cast<std::uint64_t>(wall_offset_ns);
  std::memcpy(header.type_area.data(), probed.type_area, sizeof probed.type_area);
  header.source = nid_of(probed.source);
  header.destination = nid_of(probed.destination);
  header.hop = nid_of(probed.hop);
  header.source_pid = probed.source_pid;
  header.destination_pid = probed.destination_pid;
  header.payload_length = probed.payload_length;
  header.direction = direction_of(probed.way);
  header.type = static_cast<std::uint8_t>(std::min(probed.type, kTypeMax));
  if (header.direction == trace::Direction::kDropped) {
    const auto cause = cause_of(probed);
    header.cause = cause ? static_cast<std::uint8_t>(*cause) : kCauseUnknown;
    if (header.hop.type == 0) header.hop = Nid::any();
    if (header.source.type == 0) header.source = Nid::any();
  }
  return made;
}

}  // namespace plnet::lnetdump
