// SPDX-License-Identifier: BSD-3-Clause
// The console of a simulated site as a run asks it: a question takes as long on the simulated clock
// as its transaction.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lst/console_calls.hpp"
#include "apps/selftest-run/conductor.hpp"
#include "apps/selftest-sim/selftest_site.hpp"

namespace plnet::sim {

class SimDesk final : public run::Desk {
 public:
  explicit SimDesk(SelftestSite& site) : site_(site) {}

  Asked begin_session(const Args& args) override;
  Asked ask(std::string_view verb, const Args& args) override;
  // Those of this machine say nothing of simulated nodes.
  run::CpuTimes cpu_times() override { return {}; }
  void begin_latency(const run::Point& point) override;
  std::optional<run::Latency> end_latency() override;

 private:
  Asked transact(SelftestSite::Begin begin);

  SelftestSite& site_;
  const std::vector<lst::ConsoleCall> calls_ = lst::console_calls();
  std::string operation_;
  lst::Json before_;
};

}  // namespace plnet::sim
