// SPDX-License-Identifier: BSD-3-Clause
#include "lib/o2iblnd/negotiation.hpp"

#include <bit>

namespace plnet::o2iblnd {

namespace {

std::uint64_t race_key(std::uint64_t nid) {
  const auto net = static_cast<std::uint32_t>(nid >> 32U);
  // The kernel keeps the address as the network has it and reads it as a number of its own.
  return net ^ std::byteswap(static_cast<std::uint32_t>(nid));
}

}  // namespace

std::expected<void, RejectReason> judge_request(std::span<const std::byte> data,
                                                std::uint16_t source_port, const Identity& self,
                                                const Tunables& tunables, Message& out) {
  const auto refuse = [](RejectReason why) { return std::unexpected(why); };
  if (tunables.require_privileged_port != 0 && source_port >= kPrivilegedPortEnd)
    return refuse(RejectReason::kFatal);
  // The answer to an unknown version is ours.
  if (decode(data, out)) {
    out.version = kVersion2;
    return refuse(RejectReason::kFatal);
  }
  const std::uint16_t version = out.version;
  out.version = kVersion2;  // until the peer's version is taken
  if (out.destination_nid != self.nid)
    return refuse(self.ready ? RejectReason::kFatal : RejectReason::kEarly);
  if (!self.ready) return refuse(RejectReason::kEarly);
  if (out.destination_stamp != 0 && out.destination_stamp != self.incarnation)
    return refuse(RejectReason::kStale);
  out.version = version;
  if (out.kind != Kind::kConnectRequest) return refuse(RejectReason::kFatal);
  const bool v2 = version == kVersion2;
  // The kernel takes a depth of 0, and can then never send.
  if (out.parameters.queue_depth == 0 || out.parameters.max_frags == 0)
    return refuse(RejectReason::kFatal);
  if (out.parameters.queue_depth > queue_depth(tunables, version))
    return refuse(v2 ? RejectReason::kQueueDepth : RejectReason::kFatal);
  if (out.parameters.max_frags > kFragmentsMax)
    return refuse(v2 ? RejectReason::kFragments : RejectReason::kFatal);
  if (out.parameters.max_msg_size > kMessageBytes) return refuse(RejectReason::kFatal);
  return {};
}

Reject rejection(RejectReason why, const Message& request, const Identity& self,
                 const Tunables& tunables) {
  const bool known = request.destination_nid == self.nid;
  return {.version = request.version,
          .why = why,
          .incarnation = known ? self.incarnation : 0,
          .parameters = Parameters{
              .queue_depth =
                  static_cast<std::uint16_t>(known ? queue_depth(tunables, request.version) : 0),
              .max_frags = static_cast<std::uint16_t>(known ? kFragmentsMax : 0),
              .max_msg_size = kMessageBytes}};
}

Result<void> judge_ack(std::span<const std::byte> data, const Offer& asked, const Identity& self,
                       Message& out) {
  if (decode(data, out)) return std::unexpected(Errc::kProtocol);
  const Parameters& granted = out.parameters;
  if (out.kind != Kind::kConnectAck || out.version != asked.version ||
      granted.queue_depth > asked.queue_depth || granted.max_frags > asked.max_frags ||
      granted.max_msg_size > kMessageBytes)
    return std::unexpected(Errc::kProtocol);
  if (out.destination_nid != self.nid || out.destination_stamp != self.incarnation)
    return std::unexpected(Errc::kStale);
  if (granted.queue_depth == 0 || granted.max_frags == 0) return std::unexpected(Errc::kProtocol);
  return {};
}

Retry judge_reject(RejectKind kind, std::span<const std::byte> data, const Offer& asked) {
  Retry retry{.version = asked.version};
  switch (kind) {
    case RejectKind::kNobodyListens: retry.cause = Errc::kNoRoute; return retry;
    case RejectKind::kStaleConnection:
      retry.again = true;
      retry.version = kVersion2;
      return retry;
    case RejectKind::kOther: return retry;
    case RejectKind::kByPeer: break;
  }
  const auto reject = decode_reject(data);
  if (!reject) return retry;
  if (reject->version != kVersion1 && reject->version != kVersion2) return retry;
  RejectReason why = reject->why;
  // A peer that knows only version 1 cannot say so otherwise.
  if (why == RejectReason::kFatal && reject->version == kVersion1 && asked.version != kVersion1)
    why = RejectReason::kIncompatible;
  retry.version = reject->version;
  if (reject->incarnation != 0) retry.incarnation = reject->incarnation;
  switch (why) {
    case RejectReason::kRace: retry.again = retry.race = true; break;
    case RejectReason::kStale:
    case RejectReason::kIncompatible: retry.again = true; break;
    case RejectReason::kFragments:
      if (!reject->parameters || reject->parameters->max_frags == 0) break;
      retry.again = reject->parameters->max_frags < asked.max_frags;
      if (retry.again) retry.max_frags = reject->parameters->max_frags;
      break;
    case RejectReason::kQueueDepth:
      if (!reject->parameters || reject->parameters->queue_depth == 0) break;
      retry.again = reject->parameters->queue_depth < asked.queue_depth;
      if (retry.again) retry.queue_depth = reject->parameters->queue_depth;
      break;
    case RejectReason::kNoResources:
    case RejectReason::kFatal:
    case RejectReason::kServiceId:
    case RejectReason::kEarly: break;
  }
  return retry;
}

bool is_lower(std::uint64_t nid, std::uint64_t other, RaceOrder order) {
  if (order == RaceOrder::kNumber) return nid < other;
  return race_key(nid) < race_key(other);
}

}  // namespace plnet::o2iblnd
