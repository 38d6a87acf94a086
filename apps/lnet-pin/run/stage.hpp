// SPDX-License-Identifier: BSD-3-Clause
// Measures one placement once: sets the machine, starts the nodes, generates traffic with the
// engine, ends the nodes. Everything is undone when a measurement ends.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "apps/lnet-pin/plan/plan.hpp"
#include "apps/lnet-pin/run/changes.hpp"
#include "apps/lnet-pin/run/child.hpp"
#include "apps/lnet-pin/run/engine.hpp"
#include "apps/lnet-pin/run/figures.hpp"
#include "apps/lnet-pin/run/lab.hpp"
#include "apps/lnet-pin/run/node_watch.hpp"
#include "apps/lnet-pin/run/sweeper.hpp"
#include "lib/base/clock.hpp"

namespace plnet::pin {

struct StageSetup {
  std::string programs{};  // folder of lnet-router and lnet-selftest; "": use PATH
  std::string root{};      // of /proc and /sys; "" except in tests
};

class LabStage final : public Stage {
 public:
  using Stopped = std::function<bool()>;

  // All arguments outlive the stage.
  LabStage(const Plan& plan, const Machine& machine, Lab& lab, Changes& changes, StageSetup setup,
           const Clock& clock, Stopped stopped);

  Outcome<Figures> measure(std::size_t placement) override;
  [[nodiscard]] const std::string& counters_note() const { return counters_note_; }

 private:
  struct RunningNode {
    std::unique_ptr<Child> child;
    std::string log;
    pid_t pid = 0;  // on its own host
  };
  using Nodes = std::map<Role, RunningNode>;

  // Waits longer after each consecutive failure of a placement.
  [[nodiscard]] Outcome<void> await_next_attempt(std::size_t placement);
  [[nodiscard]] Outcome<Figures> measure_once(const Placement& placement);
  [[nodiscard]] Outcome<void> start_node(Role role, const Placement& placement, Nodes& nodes);
  [[nodiscard]] Outcome<void> await_node(Role role, RunningNode& node);
  [[nodiscard]] Outcome<Figures> drive(const Placement& placement, Nodes& nodes);
  [[nodiscard]] Outcome<std::unique_ptr<Engine>> start_engine() const;
  // The error: one has ended.
  [[nodiscard]] static Outcome<void> check_nodes(Nodes& nodes);
  [[nodiscard]] Outcome<void> await_engine(Engine& engine, Nodes& nodes, NodeWatch* watch) const;
  void ask_node(Figures& figures) const;
  void end_nodes(Nodes& nodes);
  [[nodiscard]] std::string program(const char* name) const;

  const Plan& plan_;
  const Machine& machine_;
  Lab& lab_;
  Changes& changes_;
  const StageSetup setup_;
  const Clock& clock_;
  const Stopped stopped_;
  std::string counters_note_;
  std::size_t failed_ = 0;  // the last placement ...
  unsigned failures_ = 0;   // ... and its consecutive failures
  unsigned number_ = 0;     // of this measurement, for names of logs
};

}  // namespace plnet::pin
