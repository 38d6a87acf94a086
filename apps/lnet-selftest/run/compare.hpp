// SPDX-License-Identifier: BSD-3-Clause
// `lnet-selftest compare`: what differs between two reports, and whether more than their repeats.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::run {

enum class Verdict : std::uint8_t {
  kSame,    // within what repeats differ by
  kBetter,  // all repeats of the second are better than all of the first
  kWorse,
  kUnknown,  // one repeat tells nothing of their spread
};
[[nodiscard]] std::string_view text_of(Verdict verdict);

struct Difference {
  std::string point;   // "write 1M, concurrency 8"
  std::string figure;  // "MiB/s"
  double before = 0;   // medians
  double after = 0;
  double percent = 0;
  double spread_percent = 0;  // the larger one
  Verdict verdict = Verdict::kSame;
};
struct Comparison {
  std::vector<Difference> differences;
  std::vector<std::string> only_one;  // points that only one of them has
  std::vector<std::string> notes;     // what else is not the same
  [[nodiscard]] bool any_worse() const;
};

// Reports as `lnet-selftest run` wrote them.
[[nodiscard]] Outcome<Comparison> compare(const runtime::Json& before, const runtime::Json& after);
[[nodiscard]] std::string text_of(const Comparison& comparison);

}  // namespace plnet::run
