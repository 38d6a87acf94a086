// SPDX-License-Identifier: BSD-3-Clause
// Links that the core wants released: their messages end, then the core is told.
#pragma once

#include <vector>

#include "lib/kfilnd/environment.hpp"
#include "lib/kfilnd/machine.hpp"
#include "lib/kfilnd/peers.hpp"
#include "lib/kfilnd/transactions.hpp"

namespace plnet::kfilnd {

class Releases {
 public:
  Releases(Environment& environment, Transactions& transactions, Machine& machine);

  void start(lnet::PeerLink& link);
  [[nodiscard]] bool is_releasing(const lnet::PeerLink& link) const;
  [[nodiscard]] bool empty() const { return links_.empty(); }
  // Something has ended that a release may have waited for.
  [[nodiscard]] bool due() const {
    return !links_.empty() && (started_ || transactions_.any_ended());
  }
  void serve();

  // Ends the messages of one link, or all transactions if null: those that can be taken back now,
  // the others when the NIC reports their end.
  void abandon_all(const lnet::PeerLink* link);

 private:
  using State = TransactionState;

  void abandon(Transaction& one);
  [[nodiscard]] bool is_busy(const lnet::PeerLink& link);

  Environment& environment_;
  Transactions& transactions_;
  Machine& machine_;
  std::vector<lnet::PeerLink*> links_;
  bool started_ = false;  // a link is new in the list
};

}  // namespace plnet::kfilnd
