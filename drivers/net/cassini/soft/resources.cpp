// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/resources.hpp"

#include "lib/base/check.hpp"

namespace plnet::cassini::soft {

Resources::Resources(const Limits& limits, std::span<const Service> services)
    : total_{limits.portals - 1,      limits.transmit_queues, limits.target_queues,
             limits.event_queues - 1, limits.counters - 1,    limits.list_entries,
             limits.triggered,        limits.address_contexts},
      rows_(services.size()) {
  PLNET_CHECK(limits.portals > 0 && limits.event_queues > 0 && limits.counters > 0,
              "number 0 of portals, event queues and counters means none");
  for (std::size_t row = 0; row < services.size(); ++row) {
    PLNET_CHECK(services[row].vnis.size() <= limits.service_vnis,
                "a service lists few VNIs, or any may be used");
    set(static_cast<unsigned>(row), services[row].shares);
  }
  for (unsigned i = 0; i < kResources; ++i)
    PLNET_CHECK(claimed(static_cast<Resource>(i)) <= total_[i],
                "no more is kept for services than there is");
}

bool Resources::add(unsigned row, const std::array<Share, kResources>& shares) {
  for (unsigned i = 0; i < kResources; ++i)
    if (shares[i].kept > unclaimed(static_cast<Resource>(i))) return false;
  set(row, shares);
  return true;
}

void Resources::set(unsigned row, const std::array<Share, kResources>& shares) {
  if (row >= rows_.size()) rows_.resize(row + 1);
  for (unsigned i = 0; i < kResources; ++i)
    rows_[row][i].share = shares[i];
}

void Resources::remove(unsigned row) {
  for (unsigned i = 0; i < kResources; ++i) {
    PLNET_CHECK(rows_[row][i].used == 0, "a service that goes has nothing in use");
    rows_[row][i] = {};
  }
}

unsigned Resources::claimed(Resource what) const {
  std::uint64_t all = 0;
  for (unsigned row = 0; row < rows_.size(); ++row)
    all += std::max(used(row, what), rows_[row][index(what)].share.kept);
  return static_cast<unsigned>(std::min<std::uint64_t>(all, UINT32_MAX));
}

bool Resources::fits(unsigned row, Resource what) const {
  const Share& share = rows_[row][index(what)].share;
  const unsigned now = used(row, what);
  return now <= share.most && (now <= share.kept || claimed(what) <= total_[index(what)]);
}

// Taken before the others' use is looked at, as they do: the limit holds at any moment.
bool Resources::take(unsigned row, Resource what) {
  Account& account = rows_[row][index(what)];
  ++account.used;
  tell(row, what);
  if (fits(row, what)) return true;
  if (sharing_ != nullptr && sharing_->forget_ended() && fits(row, what)) return true;
  --account.used;
  tell(row, what);
  return false;
}

void Resources::give(unsigned row, Resource what) {
  Account& account = rows_[row][index(what)];
  PLNET_CHECK(account.used > 0, "no more is released than was taken");
  --account.used;
  tell(row, what);
}

unsigned Resources::used(Resource what) const {
  unsigned all = 0;
  for (unsigned row = 0; row < rows_.size(); ++row)
    all += used(row, what);
  return all;
}

}  // namespace plnet::cassini::soft
