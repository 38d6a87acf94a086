// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/null/source.hpp"

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
    : header_(config.header),
      random_(random),
      peers_(peers),
      stats_(stats),
      count_(config.peers),
      burst_(config.burst),
      destinations_(config.destinations) {
  PLNET_CHECK(count_ > 0 && count_ <= peers.capacity(), "a source needs 1 to peers_max peers");
  PLNET_CHECK(burst_ > 0 && burst_ <= kSourceBurstMax, "burst of the source out of range");
  for (unsigned i = 0; i < count_; ++i) {
    NullPeer* const peer = peers.take();
    PLNET_CHECK(peer == &peers.at(i), "the source takes the first records of a new pool");
    peer->permanent = true;
    peer->nid = neighbour(config.first_peer, i);
  }
}

unsigned NullSource::run(NullRx& rx) {
  unsigned offered = 0;
  for (unsigned i = 0; i < burst_; ++i) {
    NullPeer& peer = peers_.at(random_.below(count_));
    if (NullRx::blocked(peer) || peer.closing) {
      stats_.add(NullTable::Id::kSourceBlocked);
      continue;
    }
    header_.source = peer.nid;
    if (!destinations_.empty()) {
      header_.destination = destinations_[random_.below(destinations_.size())];
    }
    rx.offer(peer, header_);
    ++offered;
  }
  stats_.add(NullTable::Id::kSourced, offered);
  return offered;
}

}  // namespace plnet::drivers
