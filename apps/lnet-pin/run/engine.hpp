// SPDX-License-Identifier: BSD-3-Clause
// The traffic of one measurement: the benchmark engine of `lnet-selftest run`. It is a part of
// lnet-pin if the client is on this host, else a program on the client's host.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apps/lnet-pin/plan/sweep.hpp"
#include "apps/lnet-pin/run/child.hpp"
#include "apps/lnet-pin/run/figures.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace plnet::pin {

// The load between a client and a server.
struct EngineTask {
  Workload load{};
  std::string from{};  // their NIDs
  std::string to{};
};

class Engine {
 public:
  virtual ~Engine() = default;
  // One step of the measurement. Returns the time of the next one; nothing: the traffic has ended.
  [[nodiscard]] virtual Outcome<std::optional<Instant>> step() = 0;
  // Throughput, latency and errors; after the last step.
  [[nodiscard]] virtual Outcome<Figures> figures() const = 0;
  // CPU time of this host's processes other than lnet-pin; known after the last step.
  [[nodiscard]] virtual double cpu_seconds() const { return 0; }
};

// The client's node has its control socket on this host. `clock` outlives the engine.
[[nodiscard]] Outcome<std::unique_ptr<Engine>> engine_here(const EngineTask& task,
                                                           std::string socket, const Clock& clock);

// `engine` runs engine_script() on the client's host; its output goes to files of this host.
[[nodiscard]] Outcome<std::unique_ptr<Engine>> engine_there(const EngineTask& task,
                                                            ChildPlan engine, const Clock& clock);
// A script for sh: `program` is lnet-selftest, `folder` has the socket of the client's node.
[[nodiscard]] std::string engine_script(const EngineTask& task, const std::string& program,
                                        const std::string& folder);

}  // namespace plnet::pin
