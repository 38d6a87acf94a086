// SPDX-License-Identifier: BSD-3-Clause
// What `lst stat` makes of two answers of the same nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/selftest/console/transaction_result.hpp"

namespace plnet::lst {

// Of one direction, over the nodes.
struct Spread {
  float average = 0;
  float least = 0;
  float most = 0;
};
struct Rates {
  Spread received;  // messages a second
  Spread sent;
  Spread received_bytes;  // MiB or MB a second
  Spread sent_bytes;
  std::uint32_t nodes = 0;   // that both answers are good of
  std::uint32_t failed = 0;  // the others
  bool changed = false;      // not the same nodes: what follows the first other one is left out
};
// As lst reckons it: in single precision, counters that wrap, a least of 0 gives way to the next.
[[nodiscard]] Rates rates_between(const selftest::TransactionResult& before,
                                  const selftest::TransactionResult& after, bool decimal);

struct RateColumns {
  bool rates = true;
  bool bandwidth = true;
  bool received = true;
  bool sent = true;
  bool average = true;
  bool least = true;
  bool most = true;
  bool decimal = false;  // MB instead of MiB
};
// Both blocks, or what is left of them. Nothing without nodes.
[[nodiscard]] std::string text_of_rates(const Rates& rates, const RateColumns& columns,
                                        std::string_view name);

}  // namespace plnet::lst
