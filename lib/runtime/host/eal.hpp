// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment (EAL) for a plan: one pinned lcore per shard. A process can start it once.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "lib/base/result.hpp"
#include "lib/runtime/host/eal_arguments.hpp"

namespace plnet::runtime {

class Eal {
 public:
  // Binds the calling thread to request.main_cpus. `pools` are the free hugepages, as HostFacts
  // has them. kExists if this process started it before.
  [[nodiscard]] static Outcome<std::unique_ptr<Eal>> start(const EalRequest& request,
                                                           std::span<const HugepagePool> pools);
  // Joins all lcores, then releases all resources. The caller has told launched functions to stop.
  ~Eal();
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;

  // Runs `body` on the shard's lcore, once at a time. kNotFound for a shard not in the plan, kBusy
  // while an earlier body runs. The thread that started the EAL calls this and join().
  [[nodiscard]] Outcome<void> launch(unsigned shard, std::function<void()> body);
  void join(unsigned shard);
  void join_all();

  // Attaches a device in the form of --vdev: "net_memif0,role=server". Called by the thread that
  // started the EAL. Messages of its driver go to the log.
  [[nodiscard]] Outcome<void> attach(const std::string& device);

  [[nodiscard]] bool hugepages() const;
  // One line for the log and lnetctl.
  [[nodiscard]] const std::string& memory_line() const;

 private:
  struct State;
  explicit Eal(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace plnet::runtime
