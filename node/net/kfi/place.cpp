// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/place.hpp"

#include <algorithm>
#include <utility>

namespace plnet::node {

KfiNi::KfiNi(KfiPlace& place, KfiGround ground, const kfilnd::KfiLndConfig& config,
             lnet::LndUpcalls& core)
    : KfiGround(std::move(ground)),
      KfiLnd(config, core, KfiGround::context->driver()),
      nid_(config.nid),
      place_(place) {
  KfiGround::context->relay().attach(*this);
  place_.nis_.push_back(this);
}

KfiNi::~KfiNi() {
  std::erase(place_.nis_, this);
}

Instant KfiPlace::next_deadline() const {
  Instant next = Instant::max();
  for (KfiNi* const ni : nis_)
    next = std::min(next, ni->context().pollable().next_deadline());
  return next;
}

KfiNi* KfiPlace::ni(const lnet::Nid& nid) const {
  const auto found =
      std::ranges::find_if(nis_, [&](const KfiNi* each) { return each->nid() == nid; });
  return found == nis_.end() ? nullptr : *found;
}

}  // namespace plnet::node
