// SPDX-License-Identifier: BSD-3-Clause
// What somebody from outside does again and again is said once: a line for each of them and cause,
// then a sum now and then while it goes on. Who they are is theirs to choose, so there is a bound
// on how many are remembered, and the log's own limit holds for their lines: one that it has no
// room for waits.
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

// The admin thread's.
class OnceLog {
 public:
  // Of somebody and a cause; beyond that those that were quiet for longest are forgotten.
  static constexpr std::size_t kToldMax = 1024;
  // Between two lines about the same.
  static constexpr Duration kSumInterval = std::chrono::seconds(60);
  // Of one sum_up(), so that the log's own limit does not swallow any.
  static constexpr unsigned kSumsAtOnce = 5;

  // What is said first of them, and then. Their keys are who and cause, of `goes_on` repeated too.
  struct Sites {
    const LogSite& first;
    const LogSite& goes_on;
  };

  // All outlive it.
  OnceLog(Log& log, const Sites& sites, const Clock& clock)
      : log_(log), sites_(sites), clock_(clock) {}

  void tell(std::string_view who, std::string_view cause);
  // Every second or so: lines that wait, and what has gone on meanwhile.
  void sum_up();

  [[nodiscard]] std::size_t remembered() const { return told_.size(); }

 private:
  struct Told {
    std::string who;
    std::string cause;
    Instant said{};     // its last line
    bool waits = true;  // for its first line
    std::uint64_t repeated = 0;
  };
  using Place = std::list<Told>::iterator;

  // False: it waits on.
  [[nodiscard]] bool say_first(Told& told, Instant now);
  void say_waiting(Instant now);
  void say_sum(Told& told, Instant now);
  void forget_oldest(Instant now);

  Log& log_;
  const Sites sites_;
  const Clock& clock_;
  std::size_t waiting_ = 0;
  std::list<Told> told_;  // who has been quiet for longest is first
  std::map<std::pair<std::string_view, std::string_view>, Place> places_;  // views of theirs
};

}  // namespace plnet::runtime
