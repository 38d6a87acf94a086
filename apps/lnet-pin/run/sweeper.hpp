// SPDX-License-Identifier: BSD-3-Clause
// The sequence of a sweep: rounds in which each placement is measured once, each in its own random
// order, so that drift of the machine affects all alike; and the decision to stop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/lnet-pin/plan/plan.hpp"
#include "apps/lnet-pin/run/figures.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace plnet::pin {

// Tests implement it with invented figures.
class Stage {
 public:
  virtual ~Stage() = default;
  // kCancelled: the sweep shall end.
  [[nodiscard]] virtual Outcome<Figures> measure(std::size_t placement) = 0;
};

// Attempts of a disturbed or failed measurement in one round. A placement that fails in so many
// consecutive attempts is failed and not measured again.
inline constexpr unsigned kAttempts = 3;

// The outcome of a placement in a round.
struct Entry {
  std::size_t round = 0;
  std::size_t placement = 0;
  unsigned attempt = 0;  // from 0: disturbed and failed measurements are repeated
  std::optional<Figures> figures{};
  std::string disturbed{};  // reason; "": undisturbed
  std::string failed{};     // reason for missing figures
};

// The entries of a journal.
class Ledger {
 public:
  void add(const Entry& entry);
  // The figures of the last attempt that has some; null: no attempt has.
  [[nodiscard]] const Figures* find(std::size_t placement, std::size_t round) const;
  // Undisturbed figures exist, or all attempts are used.
  [[nodiscard]] bool is_settled(std::size_t placement, std::size_t round) const;
  [[nodiscard]] unsigned attempts(std::size_t placement, std::size_t round) const;  // so far
  [[nodiscard]] std::size_t rounds() const { return rounds_; }                      // begun
  // Figures by round, without failed rounds.
  [[nodiscard]] std::vector<double> throughput(std::size_t placement) const;
  // The last kAttempts attempts have failed, so it is not measured again.
  [[nodiscard]] bool has_failed(std::size_t placement) const;
  // The reason of the last attempt; "": it has not failed.
  [[nodiscard]] std::string why_failed(std::size_t placement) const;
  [[nodiscard]] std::size_t disturbed(std::size_t placement) const;
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_{};
  using Place = std::pair<std::size_t, std::size_t>;  // placement, round
  std::map<Place, std::size_t> last_{};               // entry of the last attempt
  std::map<Place, std::size_t> measured_{};           // of the last one with figures
  std::size_t rounds_ = 0;
};

// A placement without the figures that its plan asks for.
struct Gap {
  std::size_t placement = 0;
  std::size_t rounds = 0;  // with figures
  bool failed = false;     // else the sweep ended before its first measurement
  std::string why;
};
// Placements that failed or have no figures at all.
[[nodiscard]] std::vector<Gap> gaps_of(const Plan& plan, const Ledger& ledger);
// "p3 (idle=sleep) has no figures: …"
[[nodiscard]] std::string text_of(const Gap& gap, const Plan& plan);

enum class Ending : std::uint8_t { kPrecise, kRounds, kBudget, kStopped, kNothing };
[[nodiscard]] std::string_view text_of(Ending ending);

struct SweeperHooks {
  std::function<Outcome<void>(const Entry&)> keep;  // must be safe on disk when it returns
  std::function<void(const Entry&)> show = [](const Entry&) {};
};

// Continues after the ledger's entries. The error: the journal cannot be written.
[[nodiscard]] Outcome<Ending> sweep_all(const Plan& plan, Ledger& ledger, Stage& stage,
                                        const SweeperHooks& hooks, const Clock& clock);

// The order of placements in a round.
[[nodiscard]] std::vector<std::size_t> order_of(const Plan& plan, std::size_t round);

}  // namespace plnet::pin
