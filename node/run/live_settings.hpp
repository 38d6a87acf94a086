// SPDX-License-Identifier: BSD-3-Clause
// Changes of settings on a running node: all of a change or none of it.
#pragma once

#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/admin/metrics_http.hpp"
#include "lib/runtime/admin/page_server.hpp"
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
  runtime::PageServer& status_page;
};

[[nodiscard]] runtime::ExchangeLoad exchange_load(const runtime::Settings& settings);

// Fails without any change if a restart is needed or a resource is missing (a port, a CPU for busy
// polling, tokens).
[[nodiscard]] Outcome<void> apply_live(const runtime::Settings& now,
                                       const runtime::Settings& wanted, const LiveParts& parts);

}  // namespace plnet::node
