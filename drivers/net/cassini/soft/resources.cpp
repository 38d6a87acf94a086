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
    for (unsigned i = 0; i < kResources; ++i) {
      rows_[row][i].share = services[row].shares[i];
      claimed_[i] += services[row].shares[i].kept;
      PLNET_CHECK(claimed_[i] <= total_[i], "no more is kept for services than there is");
    }
  }
}

bool Resources::add(unsigned row, const std::array<Share, kResources>& shares) {
  for (unsigned i = 0; i < kResources; ++i)
    if (shares[i].kept > total_[i] - claimed_[i]) return false;
  if (row >= rows_.size()) rows_.resize(row + 1);
  for (unsigned i = 0; i < kResources; ++i) {
    rows_[row][i] = {.share = shares[i]};
    claimed_[i] += shares[i].kept;
  }
  return true;
}

void Resources::remove(unsigned row) {
  for (unsigned i = 0; i < kResources; ++i) {
    PLNET_CHECK(rows_[row][i].used == 0, "a service that goes has nothing in use");
    claimed_[i] -= rows_[row][i].share.kept;
    rows_[row][i] = {};
  }
}

bool Resources::take(unsigned row, Resource what) {
  Account& account = rows_[row][index(what)];
  if (account.used >= account.share.most) return false;
  if (account.used >= account.share.kept) {
    if (claimed_[index(what)] >= total_[index(what)]) return false;
    ++claimed_[index(what)];
  }
  ++account.used;
  return true;
}

void Resources::give(unsigned row, Resource what) {
  Account& account = rows_[row][index(what)];
  PLNET_CHECK(account.used > 0, "no more is released than was taken");
  --account.used;
  if (account.used >= account.share.kept) --claimed_[index(what)];
}

unsigned Resources::used(Resource what) const {
  unsigned all = 0;
  for (const auto& row : rows_)
    all += row[index(what)].used;
  return all;
}

}  // namespace plnet::cassini::soft
