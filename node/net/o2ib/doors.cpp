// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/doors.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid64.hpp"
#include "node/net/o2ib/complaints.hpp"

namespace plnet::node {
namespace {

using o2iblnd::Ipv4Endpoint;
using o2iblnd::Message;
using o2iblnd::QueuePairId;
using o2iblnd::RejectReason;

// Requests reported but not yet handed over: each waits for a moment only.
constexpr std::size_t kWaitingMax = 256;

std::string why_not_listening(Errc cause, const Ipv4Endpoint& local) {
  std::string what = fmt::format("port {} of the connection manager on {}: {}", local.port,
                                 ipv4_text(local.address), text_of(cause));
  if (cause == Errc::kBusy)
    return what +
           "; another plnet or the kernel's ko2iblnd listens there (`lnetctl net show`, "
           "`lsmod`): stop it, or `options ko2iblnd service=` another port on all nodes";
  if (cause == Errc::kNotPermitted)
    return what +
           "; ports below 1024 need CAP_NET_BIND_SERVICE: `setcap "
           "cap_net_bind_service+ep` on the program, or AmbientCapabilities= of the unit";
  return what;
}

}  // namespace

Outcome<std::unique_ptr<O2ibDoor>> O2ibDoor::open(O2ibAdapter& adapter, const Ipv4Endpoint& local,
                                                  O2ibHomes& homes,
                                                  Counters<O2ibDoorTable>& counters) {
  std::unique_ptr<O2ibDoor> door(new O2ibDoor(adapter, local, homes, counters));
  auto pairs = adapter.make({.connections_max = kWaitingMax}, *door);
  if (!pairs) return std::unexpected(std::move(pairs.error()));
  door->pairs_ = std::move(*pairs);
  if (const auto listens = door->pairs_->driver().listen(local); !listens)
    return failure(listens.error(), why_not_listening(listens.error(), local));
  return door;
}

O2ibDoor::~O2ibDoor() {
  if (pairs_ != nullptr) pairs_->driver().stop_listening(local_);
}

// An existing NI judges, and rejects, a request for a missing NID. The home is only looked up for a
// sender at the address of its NID; others would create peers.
void O2ibDoor::on_connect_request(QueuePairId request, const Ipv4Endpoint& from,
                                  const Ipv4Endpoint& /*to*/, std::span<const std::byte> data) {
  counters_.add(Id::kRequests);
  PLNET_CHECK(!nis_.empty(), "a door is removed with its last NI");
  message_ = {};
  const bool read = !o2iblnd::decode(data, message_);
  const O2ibDoorNi* const wanted = read ? asked_for(message_) : nullptr;
  const O2ibDoorNi& ni = wanted == nullptr ? nis_.back() : *wanted;
  const lnet::Nid peer = lnet::from_nid64(message_.source_nid);
  const bool clear =
      wanted != nullptr && peer.net() == ni.nid.net() && peer.address32() == from.address;
  if (!clear) counters_.add(Id::kUnclear);
  const auto home = clear ? homes_.home_of(ni.nid, peer) : homes_.any_of(ni.nid);
  if (!home) {
    counters_.add(Id::kNoHome);
    return refuse(request, message_, ni);
  }
  const auto handed = pairs_->hand_over(request);
  if (!handed) return;
  counters_.add(Id::kHandedOver);
  if (homes_.bring(*home, *handed, adapter_, ni.nid)) return;
  counters_.add(Id::kNoRoom);
  adapter_.discard(*handed);
}

const O2ibDoorNi* O2ibDoor::asked_for(const Message& message) const {
  const auto found = std::find_if(nis_.rbegin(), nis_.rend(), [&message](const O2ibDoorNi& each) {
    return lnet::to_nid64(each.nid).value == message.destination_nid;
  });
  return found == nis_.rend() ? nullptr : &*found;
}

void O2ibDoor::refuse(QueuePairId request, const Message& message, const O2ibDoorNi& ni) {
  const o2iblnd::Identity self{.nid = lnet::to_nid64(ni.nid).value, .incarnation = ni.incarnation};
  pairs_->driver().reject(
      request, encode(o2iblnd::rejection(RejectReason::kNoResources, message, self, ni.tunables)));
}

Outcome<void> O2ibDoors::open(O2ibAdapter& adapter, const O2ibDoorNi& ni) {
  const Ipv4Endpoint local{.address = ni.nid.address32(),
                           .port = static_cast<std::uint16_t>(ni.tunables.service)};
  auto door = std::ranges::find_if(doors_, [&](const auto& each) {
    return each->local() == local && &each->adapter() == &adapter;
  });
  if (door == doors_.end()) {
    auto opened = O2ibDoor::open(adapter, local, homes_, counters_);
    if (!opened) return std::unexpected(std::move(opened.error()));
    doors_.push_back(std::move(*opened));
    door = doors_.end() - 1;
  }
  (*door)->nis().push_back(ni);
  return {};
}

void O2ibDoors::close_one(O2ibDoor& door, std::vector<O2ibDoorNi>::iterator ni) {
  door.nis().erase(ni);
  if (!door.nis().empty()) return;
  std::erase_if(doors_, [&door](const auto& each) { return each.get() == &door; });
}

void O2ibDoors::close(const lnet::Nid& nid) {
  for (const auto& door : doors_) {
    const auto found = std::ranges::find(door->nis(), nid, &O2ibDoorNi::nid);
    if (found != door->nis().end()) return close_one(*door, found);
  }
}

void O2ibDoors::close_newest(const lnet::Nid& nid) {
  for (auto door = doors_.rbegin(); door != doors_.rend(); ++door) {
    auto& nis = (*door)->nis();
    const auto found = std::find_if(nis.rbegin(), nis.rend(),
                                    [&nid](const O2ibDoorNi& each) { return each.nid == nid; });
    if (found != nis.rend()) return close_one(**door, found.base() - 1);
  }
}

unsigned O2ibDoors::poll(Instant now) {
  unsigned work = 0;
  for (const auto& door : doors_)
    work += door->pollable().poll(now);
  return work;
}

Instant O2ibDoors::next_deadline() const {
  Instant next = Instant::max();
  for (const auto& door : doors_)
    next = std::min(next, door->pollable().next_deadline());
  return next;
}

}  // namespace plnet::node
