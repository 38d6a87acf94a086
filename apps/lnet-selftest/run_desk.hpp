// SPDX-License-Identifier: BSD-3-Clause
// The console of a run: of the node on this host, or a started one; and this machine.
#pragma once

#include <array>
#include <map>
#include <string>

#include "apps/lnet-selftest/console_starter.hpp"
#include "apps/lnet-selftest/run/conductor.hpp"
#include "lib/runtime/admin/system_clock.hpp"

namespace plnet::run {

class ConsoleDesk final : public Desk {
 public:
  // The clock outlives the desk.
  ConsoleDesk(std::string run_folder, std::string instance, lst::ConsoleStart start,
              const Clock& clock);

  Asked begin_session(const Args& args) override;
  Asked ask(std::string_view verb, const Args& args) override;
  CpuTimes cpu_times() override;
  PollerTimes poller_times() override;
  Asked set_pace(const Point& point) override;
  void begin_latency(const Point& point) override;
  Latencies end_latency() override;

  std::optional<Floor> measure_floor(const Point& point) override;

  // CPUs for measuring floors; the default is the first two that this process may use.
  void use_cpus(std::array<unsigned, 2> cpus) { floor_cpus_ = cpus; }
  // An explanation of floors, or the reason for missing ones; "": not requested.
  [[nodiscard]] const std::string& floor_note() const { return floor_note_; }
  // Finds the plan's nodes with known control sockets. The error: a named socket is unusable, or a
  // client of an open loop cannot be paced.
  [[nodiscard]] Outcome<void> meet(const Plan& plan);
  // The configuration of each node found, as `lnetctl export --backup` prints it.
  [[nodiscard]] std::map<std::string, std::string> configurations() const;
  // The CPTs of the nodes found.
  [[nodiscard]] const std::vector<NodeCpt>& cpts() const { return cpts_; }
  // NIDs of the nodes found.
  [[nodiscard]] std::vector<std::string> nids() const;
  // The clients behind percentiles, or the reason for missing ones.
  [[nodiscard]] std::string latency_note() const;

 private:
  // A node with a known control socket.
  struct Known {
    std::string node;  // its name for consoles
    std::string socket;
    Role role = Role::kClient;
    std::optional<lst::Json> before{};  // its latencies

    [[nodiscard]] bool is_client() const { return role == Role::kClient; }
  };
  [[nodiscard]] Outcome<lst::Json> ask_node(const std::string& socket, std::string_view verb,
                                            const Args& args) const;
  [[nodiscard]] Outcome<std::vector<std::string>> nodes_at(const std::string& socket) const;
  void learn_cpts(const Known& known);
  void know(const Plan& plan, const std::string& node, const std::string& socket);
  [[nodiscard]] Outcome<void> meet_router(const std::string& socket);
  [[nodiscard]] Outcome<void> meet_nodes(const Plan& plan);

  lst::Consoles consoles_;
  const std::string instance_;
  const lst::ConsoleStart start_;
  bool started_ = false;
  const Clock& clock_;
  std::vector<Known> known_;
  std::vector<NodeCpt> cpts_;
  std::size_t clients_ = 0;  // of the plan
  selftest::Arrivals arrivals_ = selftest::Arrivals::kPoisson;
  std::string operation_;
  std::optional<std::array<unsigned, 2>> floor_cpus_;
  std::string floor_note_;
  double most_disturbed_ = 0;      // of the floors measured, per cent
  std::vector<std::string> told_;  // nodes that have reported latencies
};

}  // namespace plnet::run
