// SPDX-License-Identifier: BSD-3-Clause
// The computation of `lst stat` from two answers of the same nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/selftest/console/transaction_result.hpp"

namespace plnet::lst {

// Figures of one direction over the nodes.
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
  std::uint32_t nodes = 0;   // nodes with two valid answers
  std::uint32_t failed = 0;  // other nodes
  bool changed = false;      // the nodes differ: the first difference and everything after it is
                             // left out
};
// Computed as in lst: in single precision, with wrapping counters, and a minimum of 0 is replaced
// by the next value.
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
// Both blocks, or the requested one. Empty without nodes.
[[nodiscard]] std::string text_of_rates(const Rates& rates, const RateColumns& columns,
                                        std::string_view name);

}  // namespace plnet::lst
