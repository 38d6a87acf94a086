// SPDX-License-Identifier: BSD-3-Clause
// Figures of the shown messages, and assertions about them: "count<=10", "latency_p99<5ms". Each
// sighting counts: on a router, or within one host, a message is seen twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/histogram.hpp"
#include "lib/base/result.hpp"
#include "lib/trace/filter/expression.hpp"
#include "lib/trace/show/sighting.hpp"

namespace plnet::trace {

class Tally {
 public:
  void add(const Sighting& sighting);

  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // of payloads
  std::uint64_t bulk_bytes = 0;
  std::uint64_t requests = 0;
  std::uint64_t replies = 0;
  std::uint64_t errors = 0;  // replies with a status that is not 0
  std::uint64_t drops = 0;
  std::uint64_t resends = 0;
  std::uint64_t first_ns = ~0ULL;
  std::uint64_t last_ns = 0;
  Histogram latencies_ns;  // of replies whose requests were seen
};

class Assertion {
 public:
  // NAME OPERATOR NUMBER; errors name what was expected.
  [[nodiscard]] static Outcome<Assertion> parse(std::string_view text);
  // "count, bytes, …": for --help.
  [[nodiscard]] static std::string names();

  // The quantity of the assertion. Latencies are in microseconds.
  [[nodiscard]] double value(const Tally& tally) const;
  [[nodiscard]] bool holds(const Tally& tally) const;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t quantity_ = 0;
  Comparison comparison_ = Comparison::kEqual;
  double wanted_ = 0;
};

}  // namespace plnet::trace
