// SPDX-License-Identifier: BSD-3-Clause
// An RDMA device of this process: its context, a protection domain, and the registrations of the
// arenas. All shards share it. Cold, except for keys().
//
// A removed device is released: its users close all their objects on it and leave(), then
// release_removed() closes the rest. The system may wait for that with the removal.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "drivers/net/mlx/event_desk.hpp"
#include "drivers/net/mlx/memory.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/check.hpp"
#include "lib/base/result.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::mlx {

class Adapter {
 public:
  // The device behind the interface with this IPv4 address (host order). The arenas outlive it. One
  // thread opens, releases and destroys the adapters of a desk.
  [[nodiscard]] static Outcome<std::unique_ptr<Adapter>> open(std::uint32_t address,
                                                              const ArenaTable& arenas,
                                                              std::shared_ptr<EventDesk> desk);
  ~Adapter();
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  [[nodiscard]] ibv_context* context() const { return id_->verbs; }
  [[nodiscard]] ibv_pd* domain() const { return domain_; }
  [[nodiscard]] std::uint8_t port() const { return port_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // kAnyNumaNode: the system does not say.
  [[nodiscard]] int numa_node() const;
  [[nodiscard]] const o2iblnd::DeviceLimits& limits() const { return limits_; }
  [[nodiscard]] unsigned completions_max() const { return completions_max_; }

  // Whether requests may be posted by ibv_wr_*.
  [[nodiscard]] bool writes_requests() const { return writes_requests_; }

  // Hot.
  [[nodiscard]] Keys keys(const Fragment& fragment) const { return memory_.keys(fragment); }
  [[nodiscard]] const Memory& memory() const { return memory_; }
  [[nodiscard]] const ArenaTable& arenas() const { return arenas_; }

  // Any thread. Users of the context or the domain; false: the device is gone.
  [[nodiscard]] bool enter();
  void leave() {
    const std::uint32_t users = users_.fetch_sub(1);
    PLNET_CHECK(users > 0, "each user leaves once");
  }
  // The thread that opened it. False: the device is there, or has users.
  bool release_removed();

  [[nodiscard]] EventDesk& desk() const { return *desk_; }
  // Called by the desk. Reads the device's asynchronous events for all adapters on its context and
  // returns their number.
  unsigned read_events(std::span<const std::atomic<Adapter*>> all);

  // Any shard. Changes with each change of the two that follow.
  [[nodiscard]] std::uint32_t changes() const { return changes_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_usable() const { return usable_.load(std::memory_order_acquire); }
  // The device has failed or was removed: it does not come back.
  [[nodiscard]] bool is_gone() const { return gone_.load(std::memory_order_acquire); }
  // Called by the desk: an event reported that the device was removed.
  void note_removal() {
    gone_.store(true);
    set_usable(false);
  }

 private:
  Adapter(const ArenaTable& arenas, std::shared_ptr<EventDesk> desk)
      : arenas_(arenas), desk_(std::move(desk)), memory_(arenas) {}

  [[nodiscard]] Outcome<void> bind(std::uint32_t address);
  [[nodiscard]] Outcome<void> find_limits();
  void set_usable(bool usable);
  void on_event(const ibv_async_event& event);
  [[nodiscard]] static bool is_of_port(const ibv_async_event& event);
  void close();

  const ArenaTable& arenas_;
  const std::shared_ptr<EventDesk> desk_;
  rdma_cm_id* id_ = nullptr;  // bound to the interface: keeps the device open
  ibv_pd* domain_ = nullptr;
  std::string name_;
  std::uint8_t port_ = 0;
  Memory memory_;
  o2iblnd::DeviceLimits limits_;
  unsigned completions_max_ = 0;
  bool writes_requests_ = false;
  std::atomic<bool> usable_{false};
  std::atomic<bool> gone_{false};
  std::atomic<std::uint32_t> changes_{0};
  std::atomic<std::uint32_t> users_{0};
};

}  // namespace plnet::mlx
