// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/seats.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {

O2ibSeats::O2ibSeats(const O2ibRoom& room) : room_(room) {
  for (unsigned i = 0; i < room.nis; ++i) {
    seats_.push_back(std::make_unique<Seat>());
    seats_.back()->prepared.resize(room.shards);
  }
}

O2ibSeats::Seat* O2ibSeats::free_seat() {
  const auto found = std::ranges::find_if(
      seats_, [](const auto& seat) { return !seat->taken.load(std::memory_order_acquire); });
  return found == seats_.end() ? nullptr : found->get();
}

bool O2ibSeats::has_leaving() const {
  return std::ranges::any_of(seats_, [](const auto& seat) {
    return seat->taken.load(std::memory_order_acquire) &&
           seat->leaving.load(std::memory_order_relaxed);
  });
}

Outcome<void> O2ibSeats::prepare(const lnet::Nid& nid, const lnet::ShardSet& shards,
                                 O2ibAdapter& adapter, std::size_t connections_max) {
  Seat* const seat = free_seat();
  if (seat == nullptr) {
    if (has_leaving()) return failure(Errc::kAgain, "an o2ib NI is still being removed");
    return failure(Errc::kNoSpace,
                   fmt::format("NI {}: this node was started with room for {} o2ib NIs: set "
                               "`plnet: o2ib: nis: {}` and restart it",
                               lnet::text_of(nid), room_.nis, room_.nis + 1));
  }
  seat->taken.store(true, std::memory_order_relaxed);
  seat->leaving.store(false, std::memory_order_relaxed);
  seat->nid = nid;
  const auto number = static_cast<unsigned>(
      std::ranges::find(seats_, seat, [](const auto& each) { return each.get(); }) -
      seats_.begin());
  auto made = make_shares(*seat, number, shards, adapter, connections_max);
  if (!made) unprepare(nid);
  return made;
}

Outcome<void> O2ibSeats::make_shares(Seat& seat, unsigned number, const lnet::ShardSet& shards,
                                     O2ibAdapter& adapter, std::size_t connections_max) {
  const auto lease = std::make_shared<O2ibLease>(seat.taken);
  for (unsigned shard = 0; shard < room_.shards; ++shard) {
    if (!shards[shard]) continue;
    O2ibShare& share = seat.prepared[shard];
    share.lease = lease;
    share.relay = std::make_unique<O2ibRelay>();
    auto pairs = adapter.make({.connections_max = connections_max}, *share.relay);
    if (!pairs) return std::unexpected(std::move(pairs.error()));
    share.pairs = std::move(*pairs);
    const std::uint64_t at = std::uint64_t{number} * room_.shards + shard;
    share.memory = {.arena = room_.arena, .offset = at * room_.bytes_each};
    share.connections_max = connections_max;
  }
  return {};
}

void O2ibSeats::unprepare(const lnet::Nid& nid) {
  for (const auto& seat : seats_) {
    if (!seat->taken.load(std::memory_order_acquire) || seat->nid != nid) continue;
    for (O2ibShare& share : seat->prepared) {
      share.pairs.reset();
      share = {};
    }
  }
}

void O2ibSeats::set_leaving(const lnet::Nid& nid) {
  for (const auto& seat : seats_) {
    if (seat->taken.load(std::memory_order_acquire) && seat->nid == nid)
      seat->leaving.store(true, std::memory_order_relaxed);
  }
}

O2ibShare O2ibSeats::take(const lnet::Nid& nid, unsigned shard) {
  for (const auto& seat : seats_) {
    if (!seat->taken.load(std::memory_order_acquire) || seat->nid != nid) continue;
    if (seat->prepared[shard].pairs != nullptr) return std::exchange(seat->prepared[shard], {});
  }
  PLNET_CHECK(false, "an NI is prepared before its shards make it");
  return {};
}

}  // namespace plnet::node
