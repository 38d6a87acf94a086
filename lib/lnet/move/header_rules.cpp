// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/header_rules.hpp"

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

constexpr HeaderRuling kNidOfNobody{HeaderVerdict::kDrop, Cause::kDroppedNid};

constexpr HeaderRuling reject(Cause cause) {
  return {HeaderVerdict::kReject, cause};
}

HeaderRuling rule_on_destination(const RxOffer& offer, const Ni& ours, const LocalView& local,
                                 bool routing) {
  PLNET_DEBUG_CHECK(offer.header.destination != ours.nid,
                    "a message for the NI that received it is not forwarded");
  if (const auto cause = rejection_of(offer.header.destination, ours.net, local))
    return reject(*cause);
  if (offer.reply_by_lnd) return reject(Cause::kRejectedRoutedRdmaGet);
  if (!routing) return {HeaderVerdict::kDrop, Cause::kDroppedNotRouting};
  return {HeaderVerdict::kForward, {}};
}

}  // namespace

std::optional<Cause> rejection_of(const Nid& destination, NetId came_in_by,
                                  const LocalView& local) {
  if (destination.net() == came_in_by) return Cause::kRejectedNotDirect;
  if (local.ni(destination) != nullptr) return Cause::kRejectedOtherNid;
  return std::nullopt;
}

HeaderRuling rule_on_header(const RxOffer& offer, const Ni& ours, const LocalView& local,
                            bool routing) {
  const MessageHeader& header = offer.header;
  switch (header.type) {
    case MessageType::kAck:
      if (header.payload_length > 0) return reject(Cause::kRejectedAckPayload);
      break;
    case MessageType::kGet:
      if (header.payload_length > 0) return reject(Cause::kRejectedGetPayload);
      break;
    case MessageType::kPut:
      if (header.payload_length > kPayloadBytesMax) return reject(Cause::kRejectedPutLength);
      break;
    case MessageType::kReply:
      if (header.payload_length > kPayloadBytesMax) return reject(Cause::kRejectedReplyLength);
      break;
    case MessageType::kHello:
    default: return reject(Cause::kRejectedType);
  }
  // A kernel router passes such a NID on unseen, so neither the connection nor the neighbour is to
  // blame. It must not become a key of our tables.
  if (!header.source.is_well_formed() || header.source.is_any()) return kNidOfNobody;
  if (header.destination == ours.nid) return {HeaderVerdict::kForUs, {}};
  if (!header.destination.is_well_formed()) return kNidOfNobody;
  return rule_on_destination(offer, ours, local, routing);
}

bool is_ping_of_another(const MessageHeader& header, const LocalView& local) {
  return header.type == MessageType::kGet && header.payload_length == 0 &&
         portal_of(header) == kPingPortal && header.source.is_well_formed() &&
         local.ni(header.source) == nullptr;
}

}  // namespace plnet::lnet
