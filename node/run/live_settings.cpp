// SPDX-License-Identifier: BSD-3-Clause
#include "node/run/live_settings.hpp"

#include "lib/runtime/config/settings_diff.hpp"

namespace plnet::node {
namespace {

using runtime::Settings;

// The order of changes: those that may fail come first and can be undone, those that cannot fail
// come last.
Outcome<void> change_idle(const Settings& now, const Settings& wanted, const LiveParts& parts) {
  if (now.pollers.idle == wanted.pollers.idle) return {};
  const auto idle = parts.machine.change_idle(wanted.pollers.idle);
  if (!idle) return std::unexpected(idle.error());
  for (auto* poller : parts.pollers) {
    poller->set_idle_policy(*idle);
    poller->wake();  // a sleeping poller reads its policy only when it wakes
  }
  return {};
}

void set_turn_limit(const Settings& wanted, const LiveParts& parts) {
  for (auto* poller : parts.pollers) {
    poller->set_turn_limit(std::chrono::microseconds(wanted.pollers.turn_limit_usec));
  }
}

}  // namespace

runtime::ExchangeLoad exchange_load(const Settings& settings) {
  return {.enable = settings.exchange.enable,
          .in_flight = settings.exchange.in_flight,
          .work = Duration(settings.exchange.work_nsec)};
}

Outcome<void> apply_live(const Settings& now, const Settings& wanted, const LiveParts& parts) {
  const auto changes = runtime::diff_settings(parts.schema, now, wanted);
  if (auto live = runtime::require_live(changes); !live) return live;
  if (auto able = parts.exchange.validate(exchange_load(wanted)); !able) return able;

  if (auto changed = change_idle(now, wanted, parts); !changed) return changed;
  if (auto listening = parts.metrics_http.set_listen(wanted.metrics.listen); !listening) {
    (void)change_idle(wanted, now, parts);
    return listening;
  }
  const auto undo = [&] {
    (void)parts.metrics_http.set_listen(now.metrics.listen);
    (void)change_idle(wanted, now, parts);
  };
  if (auto listening = parts.status_page.set_listen(wanted.status_page.listen); !listening) {
    undo();
    return listening;
  }
  if (now.exchange != wanted.exchange) {
    auto applied = parts.exchange.apply(exchange_load(wanted), parts.pollers);
    if (!applied) {
      (void)parts.status_page.set_listen(now.status_page.listen);
      undo();
      return applied;
    }
  }
  set_turn_limit(wanted, parts);
  parts.log.set_level(wanted.log.level);
  return {};
}

}  // namespace plnet::node
