// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/peers/peer_accounts.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::lnet {

bool PeerAccounts::in_time(std::uint32_t payer, Duration each, Instant now) {
  PLNET_CHECK(payer < accounts_.size() && each <= std::chrono::seconds(1),
              "a peer that names others has a rate");
  Account& account = accounts_[payer];
  account.next = std::max(account.next, now);
  if (account.next - now > std::chrono::seconds(1) - each) return false;
  account.next += each;
  return true;
}

void PeerAccounts::charge(std::uint32_t peer, std::uint32_t payer) {
  PLNET_CHECK(peer < accounts_.size() && payer < accounts_.size(), "numbers of peers are dense");
  PLNET_CHECK(peer != payer, "a peer does not pay for itself");
  Account& account = accounts_[peer];
  PLNET_CHECK(account.payer == kNobody, "a peer has one payer");
  account.payer = payer;
  account.payer_owner = accounts_[payer].owner;
  ++accounts_[payer].held;
}

std::uint32_t PeerAccounts::payer_of(std::uint32_t peer) const {
  PLNET_CHECK(peer < accounts_.size(), "numbers of peers are dense");
  const Account& account = accounts_[peer];
  const bool is_there =
      account.payer != kNobody && accounts_[account.payer].owner == account.payer_owner;
  return is_there ? account.payer : kNobody;
}

void PeerAccounts::discharge(std::uint32_t peer) {
  PLNET_CHECK(peer < accounts_.size(), "numbers of peers are dense");
  const std::uint32_t payer = payer_of(peer);
  accounts_[peer].payer = kNobody;
  if (payer == kNobody) return;
  PLNET_CHECK(accounts_[payer].held > 0, "its payer has it on the account");
  --accounts_[payer].held;
}

void PeerAccounts::close(std::uint32_t peer) {
  PLNET_CHECK(peer < accounts_.size(), "numbers of peers are dense");
  discharge(peer);
  Account& account = accounts_[peer];
  account = {.owner = account.owner + 1};
}

}  // namespace plnet::lnet
