// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/forward_paths.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

namespace {
bool is_answer(const MessageHeader& header) {
  return header.type == MessageType::kAck || header.type == MessageType::kReply;
}
}  // namespace

std::optional<Cause> ForwardPaths::choose(Receive& receive, PeerNi& destination,
                                          const OnlyHop& ahead) {
  if (!select(receive, destination, ahead)) return Cause::kDroppedForwardNoPath;
  if (is_forbidden(receive, destination)) return Cause::kDroppedAccess;
  PLNET_DEBUG_CHECK(receive.forwarding.ni != nullptr && receive.forwarding.next_hop != nullptr,
                    "a chosen path has an NI and a next hop");
  PLNET_DEBUG_CHECK(receive.forwarding.next_hop->net == receive.forwarding.ni->net,
                    "the next hop is on the network of the NI");
  return std::nullopt;
}

// Without discovery of the destination, as in the kernel: the originator has chosen the NID.
inline bool ForwardPaths::select(Receive& receive, PeerNi& destination, const OnlyHop& ahead) {
  Forwarding& forwarding = receive.forwarding;
  const LocalView& local = core_.local();
  const auto set_path = [&](Ni& ni, PeerNi& next_hop, bool via_router) {
    forwarding.ni = &ni;
    forwarding.next_hop = &next_hop;
    forwarding.destination = destination.nid;
    forwarding.via_router = via_router;
    return true;
  };
  forwarding.chosen_at = static_cast<std::uint8_t>(core_.hops_lost_seen);
  if (ahead.ni != nullptr) {
    use_only_hop(ahead, local, core_.sequences);
    return set_path(*ahead.ni, *ahead.next_hop, true);
  }
  if (Ni* const ni = only_path(destination, false, local, core_.sequences)) {
    return set_path(*ni, destination, false);
  }
  if (const OnlyHop only = only_gateway(destination, local, core_.routes(), core_.sequences);
      only.ni != nullptr) {
    return set_path(*only.ni, *only.next_hop, true);
  }
  return compare(receive, destination,
                 lacks_health(destination) && may_use_any_nid(receive.header));
}

bool ForwardPaths::compare(Receive& receive, PeerNi& destination, bool any_nid) {
  Forwarding& forwarding = receive.forwarding;
  const PathRequest request{.destination = &destination,
                            .forwarded = true,
                            .accepts_any_nid = any_nid,
                            .response = is_answer(receive.header),
                            .memory_cpt = core_.cpt,
                            .distances = core_.shared.distances,
                            .device_priorities = {}};
  const auto path =
      select_path(request, core_.local(), core_.routes(), core_.sequences, core_.shared.parameters);
  if (!path || path->loopback) return false;
  PLNET_DEBUG_CHECK(
      path->ni != nullptr && path->next_hop != nullptr && path->destination != nullptr,
      "a path that is no loopback has a next hop");
  forwarding.ni = path->ni;
  forwarding.next_hop = path->next_hop;
  forwarding.destination = path->destination_nid();
  forwarding.via_router = path->via_router;
  return true;
}

// The receiver of a response may depend on the NID that it was sent to.
bool ForwardPaths::may_use_any_nid(const MessageHeader& header) const {
  if (is_answer(header)) return false;
  const PeerNi* const known = core_.shared.directory->find(header.source);
  return accepts_any_nid(header.source, known, core_.local());
}

bool ForwardPaths::may_avoid(const PeerNi& hop, bool is_router, const MessageHeader& header) const {
  return is_router || (has_others(hop) && may_use_any_nid(header));
}

// Access rules were asked about the NID in the header. Another NID of the same peer needs a second
// question.
bool ForwardPaths::is_forbidden_elsewhere(const Receive& receive) const {
  PLNET_DEBUG_CHECK(receive.forwarding.next_hop != nullptr, "access is judged by the chosen path");
  if (receive.forwarding.destination == receive.header.destination) [[likely]]
    return false;
  MessageHeader header = receive.header;
  header.destination = receive.forwarding.destination;
  return core_.forbids_to_forward(header, receive.port->ni());
}

// If another NID is forbidden, the message goes to the NID in its header, even without health.
inline bool ForwardPaths::is_forbidden(Receive& receive, PeerNi& destination) {
  if (!is_forbidden_elsewhere(receive)) return false;
  return !compare(receive, destination, false) || is_forbidden_elsewhere(receive);
}

bool ForwardPaths::leads_anywhere(NetId net) const {
  return core_.local().net(net) != nullptr || core_.routes().net(net) != nullptr;
}

// The NI is searched among the current ones before the pointer is followed, since a forwarded
// message does not keep its NI alive.
bool ForwardPaths::has_path(const Receive& receive) const {
  const Forwarding& path = receive.forwarding;
  if (path.next_hop == nullptr || path.next_hop->leaving.get()) return false;
  const std::vector<Ni*>& ours = core_.local().nis;
  return std::ranges::find(ours, path.ni) != ours.end() && path.ni->net == path.next_hop->net &&
         (path.chosen_at == static_cast<std::uint8_t>(core_.hops_lost_seen) || leads_on(path));
}

// For a path that was chosen before some next hop was lost. A gateway that drains announces that it
// does not route, but still does: it is used if there is no other.
bool ForwardPaths::leads_on(const Forwarding& path) const {
  if (!path.via_router) return true;
  const ShardCore::LiveRoutes live = core_.routes_to(path.destination.net(), *path.next_hop);
  return live.by_hop || !live.by_others;
}

bool ForwardPaths::is_down(const Receive& receive) {
  const Forwarding& path = receive.forwarding;
  PLNET_CHECK(path.ni != nullptr && path.next_hop != nullptr, "the message has a path");
  return ShardCore::is_down_for(receive.header, *path.ni, *path.next_hop, path.via_router);
}

}  // namespace plnet::lnet
