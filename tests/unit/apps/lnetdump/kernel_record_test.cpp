// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/kernel/kernel_record.hpp"

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "lib/lnet/move/statistics.hpp"

namespace plnet::lnetdump {
namespace {

using lnet::Cause;
using lnet::MessageType;
using lnet::NetType;
using lnet::Nid;

const Nid kOurs = Nid::of(NetType::kTcp, 0, 0x0a000001);
const Nid kPeer = Nid::of(NetType::kTcp, 0, 0x0a000002);
const Nid kFar = Nid::of(NetType::kO2ib, 0, 0x0a000003);

lnetdump_probe_record probed(MessageType type, std::uint32_t way, int status = 0) {
  lnetdump_probe_record record{};
  record.time_ns = 5;
  record.source_pid = record.destination_pid = lnet::kLustrePid;
  record.type = static_cast<std::uint32_t>(type);
  record.way = way;
  record.status = status;
  std::memcpy(record.source, &kPeer, sizeof kPeer);
  std::memcpy(record.hop, &kPeer, sizeof kPeer);
  std::memcpy(record.destination, &kOurs, sizeof kOurs);
  std::memcpy(record.interface, &kOurs, sizeof kOurs);
  return record;
}

std::uint8_t cause_of(const lnetdump_probe_record& record) {
  return record_of(record, 0).record.header.cause;
}

std::uint8_t number(Cause cause) {
  return static_cast<std::uint8_t>(cause);
}

TEST(KernelRecord, CarriesTheHeader) {
  auto record = probed(MessageType::kPut, LNETDUMP_PROBE_RECEIVED);
  const lnet::PutArea area{.match_bits = 0x1234, .portal = 50, .offset = 8};
  std::memcpy(record.type_area, &area, sizeof area);
  record.payload_length = 4096;
  const KernelRecord made = record_of(record, 100);
  const auto& header = made.record.header;
  EXPECT_EQ(made.interface, kOurs);
  EXPECT_EQ(header.time_ns, 105U);
  EXPECT_EQ(header.source, kPeer);
  EXPECT_EQ(header.destination, kOurs);
  EXPECT_EQ(header.hop, kPeer);
  EXPECT_EQ(header.payload_length, 4096U);
  EXPECT_EQ(header.captured, 0U);
  EXPECT_EQ(header.direction, trace::Direction::kReceived);
  EXPECT_EQ(made.record.portal(), 50U);
  EXPECT_EQ(made.record.match_bits(), 0x1234U);
  EXPECT_TRUE(made.record.payload.empty());
}

TEST(KernelRecord, NamesCausesOfDropsOnArrival) {
  const auto drop = [](MessageType type, int status) {
    return cause_of(probed(type, LNETDUMP_PROBE_RECEIVED_DROPPED, status));
  };
  EXPECT_EQ(drop(MessageType::kPut, -ENOENT), number(Cause::kDroppedPutNoMatch));
  EXPECT_EQ(drop(MessageType::kGet, -ENOENT), number(Cause::kDroppedGetNoMatch));
  EXPECT_EQ(drop(MessageType::kAck, -ENOENT), number(Cause::kDroppedAckNoMd));
  EXPECT_EQ(drop(MessageType::kReply, -ENOENT), number(Cause::kDroppedReplyNoMd));
  EXPECT_EQ(drop(MessageType::kPut, -ECANCELED), number(Cause::kDroppedNotRouting));
  EXPECT_EQ(drop(MessageType::kPut, 0), kCauseUnknown);
}

TEST(KernelRecord, NamesCausesOfRefusals) {
  auto record = probed(MessageType::kAck, LNETDUMP_PROBE_REFUSED, -EPROTO);
  record.payload_length = 1;
  EXPECT_EQ(cause_of(record), number(Cause::kRejectedAckPayload));
  record.type = static_cast<std::uint32_t>(MessageType::kGet);
  EXPECT_EQ(cause_of(record), number(Cause::kRejectedGetPayload));
  record.type = 77;
  EXPECT_EQ(cause_of(record), number(Cause::kRejectedType));
  record.type = static_cast<std::uint32_t>(MessageType::kPut);
  record.payload_length = lnet::kPayloadBytesMax + 1;
  EXPECT_EQ(cause_of(record), number(Cause::kRejectedPutLength));
  record.payload_length = 0;
  std::memcpy(record.destination, &kPeer, sizeof kPeer);
  EXPECT_EQ(cause_of(record), number(Cause::kRejectedNotDirect));
  std::memcpy(record.destination, &kFar, sizeof kFar);
  EXPECT_EQ(cause_of(record), number(Cause::kRejectedOtherNid));
  record.status = -ESHUTDOWN;
  EXPECT_EQ(cause_of(record), number(Cause::kDroppedShutdown));
  EXPECT_EQ(record_of(record, 0).record.header.direction, trace::Direction::kDropped);
}

TEST(KernelRecord, NamesCausesOfUnsentMessages) {
  auto record = probed(MessageType::kPut, LNETDUMP_PROBE_UNSENT, -EHOSTUNREACH);
  EXPECT_EQ(cause_of(record), number(Cause::kTxHopDown));
  std::memset(record.hop, 0, sizeof record.hop);
  EXPECT_EQ(cause_of(record), number(Cause::kTxNoPath));
  EXPECT_TRUE(record_of(record, 0).record.header.hop.is_any());
  std::memset(record.source, 0, sizeof record.source);
  EXPECT_TRUE(record_of(record, 0).record.header.source.is_any());
  record.status = -ETIMEDOUT;
  EXPECT_EQ(cause_of(record), number(Cause::kTxDeadline));
  record.status = -ECANCELED;
  EXPECT_EQ(cause_of(record), number(Cause::kTxMdAborted));
  record.status = -EIO;
  EXPECT_EQ(cause_of(record), kCauseUnknown);
}

}  // namespace
}  // namespace plnet::lnetdump
