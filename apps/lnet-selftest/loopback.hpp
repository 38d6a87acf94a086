// SPDX-License-Identifier: BSD-3-Clause
// Two nodes on this machine that communicate over its loopback interface, as long as this object
// lives: a run without configuration and other programs. Each is a child process, since DPDK can be
// started once per process.
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

  // Returns when both serve, or with an error. Call before this process has a second thread. The
  // clock outlives the object.
  [[nodiscard]] static Outcome<std::unique_ptr<Loopback>> start(const std::string& lock_directory,
                                                                runtime::IdlePolicy idle,
                                                                const Clock& clock);
  // Ends the nodes and removes their folder.
  ~Loopback();
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  // The CPUs of the client and the server; equal if only one CPU is usable.
  [[nodiscard]] const std::array<unsigned, 2>& cpus() const { return cpus_; }
  // The folder of both control sockets.
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

// A plan for the two nodes that takes about half a minute.
[[nodiscard]] Plan loopback_plan();
// The nodes' idle policy. Requests of an open loop would be late on a node that sleeps; otherwise
// the nodes must not disturb the measurement of a floor.
[[nodiscard]] runtime::IdlePolicy loopback_idle(const Plan& plan);

}  // namespace plnet::run
