// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/peer_port.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::lnet {

PeerPorts::PeerPorts(std::size_t peer_nis, std::size_t ports, std::size_t extra_links,
                     std::size_t lane_sets)
    : ports_(ports),
      extra_links_(std::max<std::size_t>(extra_links, 1)),
      lane_sets_(std::max<std::size_t>(lane_sets, 1)),
      of_(std::make_unique<PeerPort*[]>(peer_nis)) {}

PeerPort* PeerPorts::make(PeerNi& peer_ni) {
  PeerPort* const port = ports_.take();
  if (port == nullptr) return nullptr;
  PLNET_CHECK(find(peer_ni) == nullptr, "a peer NI has one port on a shard");
  PLNET_CHECK(!port->linked() && port->waiting.empty() && port->hop.held == 0 &&
                  port->share.waiting.empty(),
              "a free port has no messages");
  PLNET_CHECK(port->own_link.port == nullptr && !port->hop.waits() && port->hop.handed == 0,
              "a free port has no link and no buffer");
  port->peer_ni = &peer_ni;
  port->links = nullptr;
  port->queued_bytes = port->outstanding = port->waiting_count = 0;
  port->releasing = port->prompt = false;
  port->share.used = 0;
  port->share.stalled = false;
  port->client.credits = port->client.credits_max = port->client.credits_min = 0;
  port->client.running = {};
  port->hop.stalled = false;
  for (const BufferClass each : kAllBufferClasses) {
    port->hop.queues[each].port = port;
    port->hop.queues[each].of = each;
  }
  port->tx_credits_max = port->tx_credits_min = peer_ni.tx_credits_max.get();
  port->traffic.reset();
  port->failures.reset();
  of_[peer_ni.number] = port;
  return port;
}

LndLink* PeerPorts::take_link(PeerPort& port) {
  LndLink* const link = port.own_link.port == nullptr ? &port.own_link : extra_links_.take();
  if (link != nullptr) {
    static_cast<PeerLink&>(*link) = {.nid = port.peer_ni->nid, .status = &port.peer_ni->status};
  }
  return link;
}

LndLink* PeerPorts::search_link(PeerPort& port, std::uint16_t ni) {
  PLNET_CHECK(port.peer_ni != nullptr && ni < link_counts_.size(),
              "a link is between an NI and a peer NI");
  LndLink** end = &port.links;
  for (; *end != nullptr; end = &(*end)->next) {
    if ((*end)->ni == ni) return *end;
  }
  LndLink* const fresh = take_link(port);
  if (fresh == nullptr) return nullptr;
  fresh->port = &port;
  fresh->ni = ni;
  fresh->next = nullptr;
  fresh->lanes = 0;
  fresh->releasing = false;
  ++link_counts_[ni];
  *end = fresh;
  return fresh;
}

LndLink* PeerPorts::find_link(const PeerNi& peer_ni, std::uint16_t ni) {
  const PeerPort* const port = find(peer_ni);
  LndLink* link = port == nullptr ? nullptr : port->links;
  while (link != nullptr && link->ni != ni)
    link = link->next;
  return link;
}

bool PeerPorts::set_lane(LndLink& link, ShardId shard, bool up) {
  PLNET_CHECK(link.port != nullptr && shard < kShardsMax, "a lane is that of a link in use");
  PLNET_CHECK(link.lanes <= lane_sets_.capacity(), "the number of a LaneSet is one of the pool");
  if (link.lanes == 0) {
    LaneSet* const fresh = up ? lane_sets_.take() : nullptr;
    if (fresh == nullptr) return !up;
    *fresh = {};
    link.lanes = static_cast<std::uint16_t>(lane_sets_.index_of(fresh) + 1U);
  }
  lanes(link).set(shard, up);
  if (!up) give_back_if_idle(link);
  return true;
}

void PeerPorts::unbook(LndLink& link, ShardId shard, std::uint32_t bytes) {
  if (link.lanes == 0) return;
  lanes(link).unbook(shard, bytes);
  give_back_if_idle(link);
}

void PeerPorts::give_back_if_idle(LndLink& link) {
  PLNET_CHECK(link.lanes != 0, "the link has a LaneSet");
  if (!lanes(link).idle()) return;
  lane_sets_.give(&lanes(link));
  link.lanes = 0;
}

void PeerPorts::give_back(LndLink& link) {
  PLNET_CHECK(link.port != nullptr && link_counts_[link.ni] > 0, "a link is given back once");
  if (link.lanes != 0) lane_sets_.give(&lanes(link));
  link.lanes = 0;
  LndLink** at = &link.port->links;
  while (*at != nullptr && *at != &link)
    at = &(*at)->next;
  PLNET_CHECK(*at == &link, "a link is in the list of its port");
  *at = link.next;
  --link_counts_[link.ni];
  const bool extra = &link != &link.port->own_link;
  link.port = nullptr;
  if (extra) extra_links_.give(&link);
}

// lustre-release lnet/lnet/peer.c: lnet_peer_net_added(), which ignores messages under way.
void PeerPort::change_credits() {
  tx_credits_max = peer_ni->tx_credits_max.get();
  tx_credits_min = tx_credits();
}

void PeerPorts::give_back(PeerPort& port) {
  PLNET_CHECK(port.links == nullptr && port.waiting.empty() && port.outstanding == 0 &&
                  port.share.waiting.empty() && port.client.waiting.empty() && port.hop.held == 0 &&
                  !port.hop.waits(),
              "a port is given back when nothing uses it");
  PLNET_CHECK(find(*port.peer_ni) == &port && port.client.used() == 0 && port.hop.handed == 0 &&
                  port.queued_bytes == 0,
              "a port is given back when all its credits are home");
  if (port.linked()) port.unlink();
  of_[port.peer_ni->number] = nullptr;
  port.peer_ni = nullptr;
  ports_.give(&port);
}

}  // namespace plnet::lnet
