// SPDX-License-Identifier: BSD-3-Clause
// `lnet-selftest compare`: differences of two reports, each with the interval that it lies in.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::run {

enum class Verdict : std::uint8_t {
  kSame,    // the interval includes zero: no difference is shown
  kBetter,  // it excludes zero
  kWorse,
  kUnknown,  // a single repeat has no interval
};
[[nodiscard]] std::string_view text_of(Verdict verdict);

struct Difference {
  std::string point;   // "write 1M, concurrency 8"
  std::string figure;  // "MiB/s"
  double before = 0;   // medians
  double after = 0;
  double percent = 0;  // of means, relative to the first
  // The 95 % confidence interval of `percent`.
  double percent_low = 0;
  double percent_high = 0;
  Verdict verdict = Verdict::kSame;
};
struct Comparison {
  std::vector<Difference> differences;
  std::vector<std::string> only_one;  // points in only one report
  std::vector<std::string> notes;     // differences of plan, machines, and nodes' configuration
  [[nodiscard]] bool any_worse() const;
};

// Compares reports written by `lnet-selftest run`.
[[nodiscard]] Outcome<Comparison> compare(const runtime::Json& before, const runtime::Json& after);
[[nodiscard]] std::string text_of(const Comparison& comparison);

}  // namespace plnet::run
