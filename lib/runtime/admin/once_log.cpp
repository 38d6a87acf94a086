// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/once_log.hpp"

namespace plnet::runtime {

void OnceLog::tell(std::string_view who, std::string_view cause) {
  if (const auto known = places_.find({who, cause}); known != places_.end()) {
    ++known->second->repeated;
    told_.splice(told_.end(), told_, known->second);
    return;
  }
  const Instant now = clock_.now();
  if (told_.size() == kToldMax) forget_oldest(now);
  Told& told = told_.emplace_back(Told{.who = std::string(who), .cause = std::string(cause)});
  places_.emplace(std::pair<std::string_view, std::string_view>(told.who, told.cause),
                  std::prev(told_.end()));
  ++waiting_;
  // New lines wait behind older ones.
  if (waiting_ == 1) (void)log_first(told, now);
}

bool OnceLog::log_first(Told& told, Instant now) {
  if (!log_.write_if_room(sites_.first, {told.who, told.cause})) return false;
  told.waits = false;
  told.said = now;
  --waiting_;
  return true;
}

void OnceLog::log_waiting(Instant now) {
  if (waiting_ == 0) return;
  for (Told& told : told_) {
    if (told.waits && !log_first(told, now)) return;
  }
}

// The log keeps the count of an entry that never had its line, and reports it in its own sum.
void OnceLog::forget_oldest(Instant now) {
  Told& oldest = told_.front();
  if (oldest.waits) {
    log_.write(sites_.first, {oldest.who, oldest.cause});
    --waiting_;
  } else if (oldest.repeated > 0) {
    log_sum(oldest, now);
  }
  places_.erase({oldest.who, oldest.cause});
  told_.pop_front();
}

void OnceLog::sum_up() {
  const Instant now = clock_.now();
  log_waiting(now);
  unsigned sums = 0;
  for (Told& told : told_) {
    if (told.waits || told.repeated == 0 || now - told.said < kSumInterval) continue;
    if (sums++ == kSumsAtOnce) return;
    log_sum(told, now);
  }
}

void OnceLog::log_sum(Told& told, Instant now) {
  log_.write(sites_.goes_on, {told.who, told.cause, std::to_string(told.repeated)});
  told.repeated = 0;
  told.said = now;
}

}  // namespace plnet::runtime
