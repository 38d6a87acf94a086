// SPDX-License-Identifier: BSD-3-Clause
// The answer to "what if": the trial with the events beside that without them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lnet-sim/plan/site_config.hpp"
#include "apps/lnet-sim/whatif/trial.hpp"
#include "lib/base/result.hpp"

namespace plnet::sim {

// The longest outage of each client that had one.
struct OutageFigures {
  std::size_t clients = 0;
  std::size_t waits = 0;  // a client may have several
  Duration median{};
  Duration longest{};
  std::size_t lasting = 0;  // of these, still without an answer at the end
};
[[nodiscard]] OutageFigures figures_of(const std::vector<Outage>& outages);

// Times between an event and the moment at which the users of a router saw it.
struct SightFigures {
  std::size_t users = 0;
  std::size_t count = 0;  // of these, the users that saw it
  Duration first{};
  Duration median{};
  Duration last{};
};

struct Answer {
  SiteConfig site;
  Trial with;
  Trial without;

  [[nodiscard]] std::size_t clients() const;
  // A client's view of the event's begin, and of its end.
  [[nodiscard]] SightFigures seen_down(const PlannedEvent& event) const;
  [[nodiscard]] SightFigures seen_up(const PlannedEvent& event) const;
  // Losses beyond those without the events.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::uint64_t>> losses() const;
  [[nodiscard]] Duration length_of(Phase phase) const;
};

// The error is a violation of a rule of the simulator, which makes the answer void.
[[nodiscard]] Outcome<Answer> answer_to(const SiteConfig& site);

// Sentences and tables for people, and the same as data.
[[nodiscard]] std::string text_of(const Answer& answer);
[[nodiscard]] std::string json_of(const Answer& answer);

// "no answer in time": a failure as a client sees it.
[[nodiscard]] std::string_view words_of(Errc why);
// The help of the core's counter.
[[nodiscard]] std::string_view words_of_cause(std::string_view cause);

}  // namespace plnet::sim
