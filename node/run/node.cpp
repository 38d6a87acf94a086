// SPDX-License-Identifier: BSD-3-Clause
// A running node: signals, changes, and its end. The start is in node_start.cpp.
#include "node/run/node.hpp"

#include <csignal>
#include <utility>

#include <unistd.h>

#include "lib/runtime/admin/event_loop.hpp"
#include "lib/runtime/control/server.hpp"
#include "lib/runtime/poll/orders.hpp"
#include "node/admin/audit_log.hpp"
#include "node/admin/lnet_admin.hpp"
#include "node/admin/router_options.hpp"
#include "node/capture/captures.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/machine.hpp"
#include "node/host/open_families.hpp"
#include "node/net/families.hpp"
#include "node/run/live_settings.hpp"
#include "node/run/node_documents.hpp"
#include "node/run/status_page.hpp"
#include "node/watch/drain_log.hpp"
#include "node/watch/recent_activity.hpp"
#include "node/watch/recent_lines.hpp"

namespace plnet::node {
namespace {

using runtime::LogLevel;
using runtime::LogSite;

constexpr LogSite kReady{LogLevel::kInfo, "ready", {"pid"}};
constexpr LogSite kReloaded{LogLevel::kInfo, "reloaded", {}};
constexpr LogSite kNotReloaded{LogLevel::kError, "not_reloaded", {"why"}};
constexpr LogSite kStuck{LogLevel::kError, "exchange_not_drained", {"waited_ms"}};
constexpr LogSite kLnetStuck{LogLevel::kError, "lnet_not_down", {"why"}};
constexpr LogSite kStopped{LogLevel::kInfo, "stopped", {"turns"}};

// A turn ends in microseconds; all tokens are back a few turns later.
constexpr Duration kExchangeDrainMax = std::chrono::seconds(5);
// The same for LNet, where another change may come first.
constexpr Duration kLnetDownMax = std::chrono::seconds(8);

}  // namespace

void Node::run() {
  log_->write(kReady, {std::to_string(::getpid())});
  loop_->run();
  end_pollers();
}

void Node::sample_activity() {
  if (!launched_) return;
  using runtime::PollerCounter;
  ActivitySample sample{.at = clock_.now()};
  for (const auto& poller : pollers_) {
    const runtime::PollerCounters& counters = poller->counters();
    sample.shards.push_back({.busy_nsec = counters.get(PollerCounter::kBusyNsec),
                             .idle_nsec = counters.get(PollerCounter::kIdleNsec),
                             .asleep_nsec = counters.get(PollerCounter::kAsleepNsec),
                             .messages = counters.get(PollerCounter::kTokens)});
  }
  lnet_->sample_activity(sample);
  activity_->take(std::move(sample));
}

void Node::stop() {
  loop_->stop();
}

const std::string& Node::links_unwatched() const {
  return lnet_->links_unwatched();
}

void Node::on_signal(int number) {
  if (number == SIGHUP && options_.reread && !has_terminal_ && launched_ && !draining_)
    return reload();
  const bool may_drain = number == SIGTERM && launched_ && !draining_;
  if (may_drain && options_.drain) return drain(*options_.drain);
  if (draining_) draining_->break_off();
  loop_->stop();
}

void Node::reload() {
  reload_settings(*this, [this](Outcome<void>&& done) {
    if (done) {
      log_->write(kReloaded, {});
    } else {
      log_->write(kNotReloaded, {done.error().what});
    }
  });
}

void Node::drain(const lnet::DrainOrder& order) {
  draining_ = std::make_unique<DrainLog>(*log_, system_clock_);
  lnet_->leave(
      order, [this](const lnet::StandingReport& report) { draining_->say(report); },
      [this](const lnet::StandingReport& report) {
        if (draining_->end(report)) loop_->stop();
      });
}

// The order of the end: no more requests and scrapes, tokens back, pollers out of their loops,
// lcores joined.
void Node::end_pollers() {
  control_.reset();
  status_page_.reset();
  metrics_http_.reset();  // its threads read the pollers' counters
  if (!launched_) return;
  launched_ = false;
  end_lnet();
  end_exchange();
  stopping_.store(true, std::memory_order_relaxed);
  std::uint64_t turns = 0;
  for (auto* poller : pollers())
    poller->wake();
  machine_->eal().join_all();
  lnet_->close();
  captures_.reset();
  for (auto* poller : pollers())
    turns += poller->counters().get(runtime::PollerCounter::kTurns);
  log_->drain();
  log_->write(kStopped, {std::to_string(turns)});
}

void Node::end_lnet() {
  const auto down = std::make_shared<std::optional<Outcome<void>>>();
  lnet_->shut_down([down](Outcome<void> outcome) { *down = std::move(outcome); });
  const Instant begun = system_clock_.now();
  const std::optional<Outcome<void>>& ended = *down;
  while (!ended && system_clock_.now() - begun < kLnetDownMax)
    loop_->run_once(std::chrono::milliseconds(1));
  if (!ended) {
    log_->write(kLnetStuck, {"no answer"});
  } else if (!*ended) {
    log_->write(kLnetStuck, {ended->error().what});
  }
}

void Node::end_exchange() {
  if (!exchange_->apply({}, pollers())) return;
  const Instant begun = system_clock_.now();
  while (!exchange_->drained() && system_clock_.now() - begun < kExchangeDrainMax) {
    loop_->run_once(std::chrono::milliseconds(1));
  }
  if (!exchange_->drained()) {
    log_->write(kStuck, {std::to_string(kExchangeDrainMax / std::chrono::milliseconds(1))});
  }
}

std::vector<runtime::Poller*> Node::pollers() const {
  std::vector<runtime::Poller*> all;
  all.reserve(pollers_.size());
  for (const auto& poller : pollers_)
    all.push_back(poller.get());
  return all;
}

Outcome<void> Node::apply(const runtime::Settings& wanted, const runtime::Caller& caller) {
  if (is_ending()) return failure(Errc::kShutdown, "this process is ending");
  const LiveParts parts{.schema = schema_,
                        .machine = *machine_,
                        .pollers = pollers(),
                        .exchange = *exchange_,
                        .log = *log_,
                        .metrics_http = *metrics_http_,
                        .status_page = status_page_->server()};
  const runtime::Settings now = settings();
  runtime::Settings but_for_options = now;  // includes the options that LNet applies live
  if (differ_live_only(now.lnet, wanted.lnet, network_families()))
    but_for_options.lnet.module_options = wanted.lnet.module_options;
  if (auto applied = apply_live(but_for_options, wanted, parts); !applied) return applied;
  settings_ = wanted;
  log_changed(now, settings(), caller);
  return {};
}

runtime::Settings Node::settings() const {
  runtime::Settings now = settings_;
  now.lnet = lnet_->config();
  return now;
}

void Node::log_lnet_changed(const lnet::NodeConfig& before, const runtime::Caller& caller) {
  const runtime::Settings now = settings();
  runtime::Settings then = now;
  then.lnet = before;
  log_changed(then, now, caller);
}

void Node::log_changed(const runtime::Settings& before, const runtime::Settings& after,
                       const runtime::Caller& caller) {
  log_changes(runtime::diff_settings(schema_, before, after), caller, *log_);
}

Outcome<void> Node::reset_counters() {
  const auto pollers = this->pollers();
  return runtime::order_all(pollers, [&](std::size_t i) {
    return runtime::make_command(
        [poller = pollers[i], reset = exchange_->reset_work(static_cast<unsigned>(i))] {
          reset();
          poller->reset_high_water_owner();
        });
  });
}

}  // namespace plnet::node
