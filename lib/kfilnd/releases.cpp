// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/releases.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::kfilnd {

Releases::Releases(Environment& environment, Transactions& transactions, Machine& machine)
    : environment_(environment), transactions_(transactions), machine_(machine) {
  links_.reserve(environment.config.peers_max);
}

void Releases::start(lnet::PeerLink& link) {
  PLNET_CHECK(!is_releasing(link), "a peer is released once");
  links_.push_back(&link);
  started_ = true;
}

bool Releases::is_releasing(const lnet::PeerLink& link) const {
  return std::ranges::find(links_, &link) != links_.end();
}

void Releases::abandon_all(const lnet::PeerLink* link) {
  transactions_.for_each([&](Transaction& one) {
    if (link == nullptr || (one.transmit != nullptr && one.transmit->next_hop == link))
      abandon(one);
  });
}

void Releases::abandon(Transaction& one) {
  if (one.parked) {
    one.parked = false;
    PLNET_CHECK(one.peer != nullptr && one.peer->parked > 0, "a parked message is counted");
    --one.peer->parked;
    one.update(std::unexpected(Errc::kShutdown), Health::kLocalAborted);
    environment_.core.on_parked_gone(transactions_.handle_of(one), Errc::kShutdown);
    return transactions_.end(one);
  }
  if (one.abandoned) return;
  one.abandoned = true;
  one.abandon_cause = Errc::kShutdown;
  switch (one.state) {
    case State::kIdle: transactions_.run_soon(one); break;
    case State::kWaitComp:
    case State::kWaitTagComp:
      if (!one.initiator) break;
      if (one.linked()) one.unlink();  // it waited for room to take its buffer back
      one.update(std::unexpected(Errc::kShutdown), Health::kLocalAborted);
      machine_.run(one, TransactionEvent::kTimeout);
      break;
    default: break;  // a transaction that waits for room looks at `abandoned` itself
  }
}

bool Releases::is_busy(const lnet::PeerLink& link) {
  bool busy = false;
  transactions_.for_each([&](const Transaction& one) {
    busy = busy || (one.transmit != nullptr && one.transmit->next_hop == &link);
  });
  return busy;
}

void Releases::serve() {
  if (std::exchange(started_, false)) {
    for (const lnet::PeerLink* const link : links_)
      abandon_all(link);
    (void)machine_.run_turn();
  }
  transactions_.clear_ended();
  environment_.report();  // the core learns the ends of a peer's messages before its release
  std::erase_if(links_, [this](lnet::PeerLink* link) {
    if (is_busy(*link)) return false;
    if (auto* const peer = static_cast<Peer*>(link->lnd_peer)) Peers::bind(*peer, nullptr);
    link->lnd_peer = nullptr;
    environment_.core.on_peer_released(*link);
    return true;
  });
}

}  // namespace plnet::kfilnd
