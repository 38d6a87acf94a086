// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/null/source.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/base/prefetch.hpp"

namespace plnet::drivers {
namespace {

lnet::Nid neighbour(lnet::Nid nid, std::uint32_t step) {
  std::uint32_t address = 0;
  for (std::size_t i = 0; i < 4; ++i)
    address = address << 8 | nid.address_be[i];
  address += step;
  for (std::size_t i = 0; i < 4; ++i)
    nid.address_be[i] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
  return nid;
}

}  // namespace

NullSource::NullSource(const NullSourceConfig& config, Random& random, NullPeers& peers,
                       NullStats& stats)
    : random_(random),
      peers_(peers),
      stats_(stats),
      count_(config.peers),
      burst_(config.burst),
      destinations_(config.destinations),
      allowance_(config.allowance) {
  PLNET_CHECK(count_ > 0 && count_ <= peers.capacity(), "a source needs 1 to peers_max peers");
  headers_.fill(config.header);
  PLNET_CHECK(burst_ > 0 && burst_ <= kSourceBurstMax, "burst of the source out of range");
  for (unsigned i = 0; i < count_; ++i) {
    NullPeer* const peer = peers.take();
    PLNET_CHECK(peer == &peers.at(i), "the source takes the first records of a new pool");
    peer->permanent = true;
    peer->nid = neighbour(config.first_peer, i);
  }
}

// As a device does that has polled several messages at a time.
unsigned NullSource::run(NullRx& rx) {
  const unsigned burst = allowance_ == nullptr ? burst_ : std::min(burst_, *allowance_);
  unsigned offered = 0;
  for (unsigned done = 0; done < burst; done += kTogether)
    offered += run_together(rx, std::min(kTogether, burst - done));
  PLNET_DEBUG_CHECK(allowance_ == nullptr || offered <= *allowance_,
                    "a source makes no more than it is allowed");
  if (allowance_ != nullptr) *allowance_ -= offered;
  stats_.add(NullTable::Id::kSourced, offered);
  return offered;
}

unsigned NullSource::run_together(NullRx& rx, unsigned count) {
  std::array<NullPeer*, kTogether> peers{};
  std::array<const lnet::Nid*, kTogether> destinations{};
  std::array<lnet::HeaderAhead, kTogether> ahead;
  for (unsigned i = 0; i < count; ++i) {
    peers[i] = &peers_.at(random_.below(count_));
    prefetch(peers[i]);
    if (destinations_.empty()) continue;
    destinations[i] = &destinations_[random_.below(destinations_.size())];
    prefetch(destinations[i]);
  }
  for (unsigned i = 0; i < count; ++i) {
    headers_[i].source = peers[i]->nid;
    if (destinations[i] != nullptr) headers_[i].destination = *destinations[i];
    ahead[i] = {&headers_[i], peers[i]->link};
  }
  rx.announce(std::span(ahead).first(count));
  unsigned offered = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (NullRx::blocked(*peers[i]) || peers[i]->closing) {
      stats_.add(NullTable::Id::kSourceBlocked);
      continue;
    }
    rx.offer(*peers[i], headers_[i]);
    ++offered;
  }
  return offered;
}

}  // namespace plnet::drivers
