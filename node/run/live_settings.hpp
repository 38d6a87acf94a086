// SPDX-License-Identifier: BSD-3-Clause
// Carries a change of settings out on a running node: all of it or none.
#pragma once

#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/admin/metrics_http.hpp"
#include "lib/runtime/config/settings.hpp"
#include "lib/runtime/poll/exchange.hpp"
#include "lib/runtime/poll/poller.hpp"
#include "node/host/machine.hpp"

namespace plnet::runtime {
class Schema;
}

namespace plnet::node {

struct LiveParts {
  const runtime::Schema& schema;
  Machine& machine;
  std::vector<runtime::Poller*> pollers;
  runtime::Exchange& exchange;
  runtime::Log& log;
  runtime::MetricsHttp& metrics_http;
};

[[nodiscard]] runtime::ExchangeLoad exchange_load(const runtime::Settings& settings);

// Fails, with nothing changed, if a change needs a restart or something cannot be had (a port, a
// CPU for busy polling, tokens).
[[nodiscard]] Outcome<void> apply_live(const runtime::Settings& now,
                                       const runtime::Settings& wanted, const LiveParts& parts);

}  // namespace plnet::node
