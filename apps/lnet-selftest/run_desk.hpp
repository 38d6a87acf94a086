// SPDX-License-Identifier: BSD-3-Clause
// The console of a run: that of the node that is here, or one that is started; and this machine.
#pragma once

#include <string>

#include "apps/lnet-selftest/console_starter.hpp"
#include "apps/selftest-run/conductor.hpp"
#include "lib/runtime/admin/system_clock.hpp"

namespace plnet::run {

class ConsoleDesk final : public Desk {
 public:
  // The clock outlives this.
  ConsoleDesk(std::string run_folder, std::string instance, lst::ConsoleStart start,
              const Clock& clock);

  Asked begin_session(const Args& args) override;
  Asked ask(std::string_view verb, const Args& args) override;
  CpuTimes cpu_times() override;
  void begin_latency(const Point& point) override;
  std::optional<Latency> end_latency() override;

  // Of whom percentiles are, or why there are none.
  [[nodiscard]] std::string latency_note() const;

 private:
  [[nodiscard]] std::optional<lst::Json> ask_latency();

  lst::Consoles consoles_;
  const std::string instance_;
  const lst::ConsoleStart start_;
  bool started_ = false;
  const Clock& clock_;
  std::uint32_t key_ = 0;      // of the session
  bool tells_latency_ = true;  // until it turns out that it does not know the question
  bool was_client_ = false;
  std::string operation_;
  std::optional<lst::Json> before_;
};

}  // namespace plnet::run
