// SPDX-License-Identifier: BSD-3-Clause
// The console of a simulated site for a run: a request takes as long on the simulated clock as its
// transaction.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lnet-selftest/lst/console_calls.hpp"
#include "apps/lnet-selftest/run/conductor.hpp"
#include "apps/lnet-selftest/sim/selftest_site.hpp"

namespace plnet::sim {

class SimDesk final : public run::Desk {
 public:
  // Both outlive the desk.
  SimDesk(SelftestSite& site, const run::Plan& plan) : site_(site), plan_(plan) {}

  Asked begin_session(const Args& args) override;
  Asked ask(std::string_view verb, const Args& args) override;
  // The CPU times of this machine mean nothing for simulated nodes.
  run::CpuTimes cpu_times() override { return {}; }
  Asked set_pace(const run::Point& point) override;
  void begin_latency(const run::Point& point) override;
  run::Latencies end_latency() override;
  // There is no machine to compare with.
  std::optional<run::Floor> measure_floor(const run::Point& /*point*/) override { return {}; }

 private:
  Asked transact(SelftestSite::Begin begin);

  SelftestSite& site_;
  const run::Plan& plan_;
  const std::vector<lst::ConsoleCall> calls_ = lst::console_calls();
  std::string operation_;
  lst::Json before_;
};

}  // namespace plnet::sim
