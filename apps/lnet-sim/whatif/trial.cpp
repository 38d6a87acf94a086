// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/whatif/trial.hpp"

#include <algorithm>

#include "apps/lnet-sim/plan/route_bounds.hpp"
#include "apps/lnet-sim/site/site.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr Duration kTrialStep = std::chrono::milliseconds(100);
// After the last route is up again: long enough to measure loads, and for waiting clients to
// connect.
Duration afterwards(const RpcTimeouts& lustre) {
  constexpr Duration kLoadsMeasured = std::chrono::seconds(20);
  return std::max(kLoadsMeasured, lustre.between_connects() + lustre.of_request());
}

// More than a client can begin.
constexpr unsigned kEndless = 1'000'000;

// Waits and reroutes are no losses.
bool is_loss(std::string_view cause) {
  return (cause.starts_with("dropped_") || cause.starts_with("tx_") ||
          cause.starts_with("rejected_") || cause == "receive_failed" ||
          cause == "forward_failed") &&
         cause != "tx_other_way";
}

// A site that runs in steps, and is measured between them.
class Course {
 public:
  Course(const SiteConfig& site, const TrialTimes& times)
      : site_(site),
        times_(times),
        world_(site_.world()),
        book_(site.nodes, start() + times.from),
        longest_(site.faults.longest_outage()),
        bounds_(site.gateways) {
    world_.rpcs = &book_;
    site_.leave_routes_unwatched();
    drains_ = std::ranges::any_of(site.faults.events, is_drain);
    for (const PlannedEvent& event : site.faults.events)
      sights_.emplace(event.node, RouteSight(world_, event.node));
    for (const std::uint32_t router : world_.layout.routers())
      loads_.push_back({.router = router});
    base_.resize(loads_.size());
  }

  Trial run() {
    site_.start();
    site_.begin_faults();
    until(times_.from);
    begin_phase();
    until(times_.begin);
    end_phase(Phase::kBefore);
    until(times_.during);
    begin_phase();
    until(times_.end);
    // A drain takes as long as the router's messages and users do.
    if (!times_.restored && drains_) {
      await_routes();
      times_.end = times_.restored_at();
    }
    end_phase(Phase::kDuring);
    if (!times_.restored) await_routes();
    until(times_.restored_at());
    begin_phase();
    until(times_.over.value_or(now() + afterwards(world_.config.lustre)));
    end_phase(Phase::kAfter);
    times_.over = now();
    return finish();
  }

 private:
  [[nodiscard]] static Instant start() { return Instant{}; }
  [[nodiscard]] Duration now() const { return world_.loop.now() - start(); }

  void until(Duration end) {
    while (now() < end && site_.violation().empty()) {
      site_.run_for(std::min(kTrialStep, end - now()));
      for (auto& [router, sight] : sights_)
        sight.look(world_.loop.now());
    }
  }

  void await_routes() {
    const auto are_up = [this] {
      return std::ranges::all_of(sights_, [](const auto& each) { return each.second.all_up(); }) &&
             std::ranges::all_of(
                 world_.hosts, [](const auto& host) { return host->state() == Host::State::kUp; });
    };
    const Duration limit = now() + bounds_.up(longest_);
    do {
      until(now() + kTrialStep);
    } while (!are_up() && now() < limit && site_.violation().empty());
    times_.restored = now();
    times_.is_restored = are_up();
  }

  void begin_phase() {
    for (std::size_t i = 0; i < loads_.size(); ++i)
      base_[i] = world_.hosts[loads_[i].router]->relayed();
  }

  void end_phase(Phase phase) {
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      const Host::Relayed total = world_.hosts[loads_[i].router]->relayed();
      loads_[i].phases[static_cast<std::size_t>(phase)] = {
          .messages = total.messages - base_[i].messages, .bytes = total.bytes - base_[i].bytes};
    }
  }

  Trial finish() {
    const Instant end = world_.loop.now();
    world_.ledger.for_each_open([&](const Operation& operation) {
      book_.unanswered(operation.initiator, operation.begun, end);
    });
    book_.end(end);
    const SiteReport report = site_.report();
    Trial trial{.violation = report.violation,
                .times = times_,
                .trace = report.trace,
                .drains_begun = report.drains.begun,
                .loads = loads_,
                .rpcs = book_};
    for (const auto& [name, count] : report.causes) {
      if (is_loss(name)) trial.causes[name] = count;
    }
    for (const auto& host : world_.hosts) {
      trial.resent += host->counted(Statistic::kSuccessfulResends);
      trial.resent_in_vain += host->counted(Statistic::kFailedResends);
    }
    for (const auto& [router, sight] : sights_)
      trial.sights[router] = sight.seen();
    return trial;
  }

  Site site_;
  TrialTimes times_;
  World& world_;
  RpcBook book_;
  const Duration longest_;
  const RouteBounds bounds_;
  std::map<std::uint32_t, RouteSight> sights_;
  std::vector<RouterLoad> loads_;
  bool drains_ = false;
  std::vector<Host::Relayed> base_;  // of the routers, at the begin of the phase
};

// Operators may wait with a drain until `time` is over.
SiteConfig endless(SiteConfig site, const TrialTimes& times) {
  site.traffic.operations = kEndless;
  site.time = std::max(site.time, times.end);
  return site;
}

}  // namespace

TrialTimes times_of(const SiteConfig& site) {
  TrialTimes times{.begin = Duration::max()};
  for (const PlannedEvent& event : site.faults.events) {
    times.begin = std::min(times.begin, event.at);
    times.end = std::max(times.end, event.at + event.lasting);
  }
  times.from = times.begin / 2;
  // Users of a lost router need time to notice. Those of a drained one are told.
  const bool drains = std::ranges::all_of(site.faults.events, is_drain);
  times.during = drains ? times.begin : times.begin + (times.end - times.begin) / 2;
  return times;
}

Trial run_trial(const SiteConfig& site, const TrialTimes& times) {
  const SiteConfig config = endless(site, times);
  return Course(config, times).run();
}

}  // namespace plnet::sim
