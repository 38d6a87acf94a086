// SPDX-License-Identifier: BSD-3-Clause
// The messages that an LND has offered and that have not ended yet, by the number that it gives
// them, with the data needed at their end.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/lnet/api/lnd.hpp"

namespace plnet::sim {

struct OpenReceive {
  std::uint32_t generation = 0;
  bool live = false;
  bool parked = false;
  bool for_others = false;  // to be forwarded
  lnet::Nid from;           // the previous hop
  lnet::Nid destination;
  std::uint64_t operation = 0;
};

class OpenReceives {
 public:
  // Allocates the usual number at the start; there may be more.
  explicit OpenReceives(std::size_t usual) : all_(usual) {}

  void open(lnet::RxHandle rx, const OpenReceive& receive) {
    if (rx.index >= all_.size()) all_.resize(rx.index + 1);
    all_[rx.index] = receive;
    all_[rx.index].generation = rx.generation;
    all_[rx.index].live = true;
  }
  // Null: the message has ended.
  [[nodiscard]] OpenReceive* find(lnet::RxHandle rx) {
    if (rx.index >= all_.size()) return nullptr;
    OpenReceive& receive = all_[rx.index];
    return receive.live && receive.generation == rx.generation ? &receive : nullptr;
  }

 private:
  std::vector<OpenReceive> all_;
};

}  // namespace plnet::sim
