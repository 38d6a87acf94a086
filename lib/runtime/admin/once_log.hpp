// SPDX-License-Identifier: BSD-3-Clause
// Logs repeated events from outside once: a line for each sender and cause, then periodic sums
// while they continue. Senders choose their own identity, so the number of remembered ones is
// bounded, and the log's limit applies to their lines: a line without room waits.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/runtime/admin/log.hpp"

namespace plnet::runtime {

// For the admin thread.
class OnceLog {
 public:
  // Pairs of sender and cause; beyond that the longest quiet ones are forgotten.
  static constexpr std::size_t kToldMax = 1024;
  // Between two lines about the same pair.
  static constexpr Duration kSumInterval = std::chrono::seconds(60);
  // Sums in one sum_up(), so that the log's own limit suppresses none.
  static constexpr unsigned kSumsAtOnce = 5;

  // The sites of the first line and of sums. Their keys are who and cause; `goes_on` also has
  // repeated.
  struct Sites {
    const LogSite& first;
    const LogSite& goes_on;
  };

  // All outlive this object.
  OnceLog(Log& log, const Sites& sites, const Clock& clock)
      : log_(log), sites_(sites), clock_(clock) {}

  void tell(std::string_view who, std::string_view cause);
  // Every second or so: writes waiting lines, and sums of repeated events.
  void sum_up();

  [[nodiscard]] std::size_t remembered() const { return told_.size(); }

 private:
  struct Told {
    std::string who;
    std::string cause;
    Instant said{};     // the time of its last line
    bool waits = true;  // its first line is not written yet
    std::uint64_t repeated = 0;
  };
  using Place = std::list<Told>::iterator;

  // False: the line still waits.
  [[nodiscard]] bool log_first(Told& told, Instant now);
  void log_waiting(Instant now);
  void log_sum(Told& told, Instant now);
  void forget_oldest(Instant now);

  Log& log_;
  const Sites sites_;
  const Clock& clock_;
  std::size_t waiting_ = 0;
  std::list<Told> told_;  // the longest quiet pair is first
  std::map<std::pair<std::string_view, std::string_view>, Place> places_;  // views into told_
};

}  // namespace plnet::runtime
