// SPDX-License-Identifier: BSD-3-Clause
// Two nodes of this machine that talk over its loopback interface, for as long as this lives: a
// run needs no configuration and no other program. Each is a child of this process, since DPDK is
// there once for each.
#pragma once

#include <array>
#include <memory>
#include <string>

#include <sys/types.h>

#include "apps/lnet-selftest/run/plan.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/poll/idle.hpp"

namespace plnet::run {

class Loopback {
 public:
  static constexpr const char* kClient = "127.0.0.1@tcp";
  static constexpr const char* kServer = "127.0.0.2@tcp";
  static constexpr const char* kClientName = "client";
  static constexpr const char* kServerName = "server";
  static constexpr std::array kNames{kClientName, kServerName};

  // Returns when both serve, or why they do not. Before this process has a second thread. The clock
  // outlives this.
  [[nodiscard]] static Outcome<std::unique_ptr<Loopback>> start(const std::string& lock_directory,
                                                                runtime::IdlePolicy idle,
                                                                const Clock& clock);
  // The nodes have ended, and their folder is gone.
  ~Loopback();
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  // Of the client and the server; the same if there is one only.
  [[nodiscard]] const std::array<unsigned, 2>& cpus() const { return cpus_; }
  // With the control sockets of both.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string socket_of(const std::string& name) const;

 private:
  explicit Loopback(const Clock& clock) : clock_(clock) {}
  [[nodiscard]] Outcome<void> make_folder();
  [[nodiscard]] Outcome<void> launch(const std::string& lock_directory, runtime::IdlePolicy idle);
  [[nodiscard]] Outcome<void> await(std::size_t which);

  const Clock& clock_;
  std::string folder_;
  std::array<pid_t, 2> children_{};
  std::array<unsigned, 2> cpus_{};
};

// Between the two, about half a minute of it.
[[nodiscard]] Plan loopback_plan();
// How the nodes idle. Where requests do not wait for answers a node that sleeps would be late for
// them; otherwise nodes are not to be in the way of a floor.
[[nodiscard]] runtime::IdlePolicy loopback_idle(const Plan& plan);

}  // namespace plnet::run
