// SPDX-License-Identifier: BSD-3-Clause
// A NIC of kfi networks, from the start of the node to its end: hardware through the vendor's
// library, software on a port of DPDK, or a provider of libfabric. NIs of different networks share
// it. Each NI has a seat: a part of the receive buffers, and a process number of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/net/cassini/soft/link/node_on_ethdev.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/runtime/host/eal.hpp"
#include "node/net/kfi/lease.hpp"
#include "node/net/kfi/options.hpp"
#include "node/net/kfi/retry_lines.hpp"
#include "node/net/kfi/room.hpp"
#include "node/net/kfi/settings.hpp"

namespace plnet::node {

class KfiPlace;

class KfiNic {
 public:
  // `memory` is part of the node's arenas. `vendor` outlives the NIC; null: no interface needs the
  // vendor's library. Errors name the place of the interface in the configuration.
  [[nodiscard]] static Outcome<std::unique_ptr<KfiNic>> open(const KfiInterface& settings,
                                                             const KfiMemory& memory,
                                                             cassini::Backend* vendor,
                                                             runtime::Eal& eal);
  ~KfiNic();
  KfiNic(const KfiNic&) = delete;
  KfiNic& operator=(const KfiNic&) = delete;

  [[nodiscard]] const std::string& name() const { return settings_.name; }
  [[nodiscard]] const KfiInterface& settings() const { return settings_; }
  // The receive buffers, with a part for each seat.
  [[nodiscard]] const KfiMemory& memory() const { return memory_; }
  [[nodiscard]] cassini::Backend& backend() { return *backend_; }  // of a Cassini
  [[nodiscard]] unsigned device_id() const { return device_id_; }
  // The admin thread. The NIC's address on the fabric; that of hardware depends on the port at the
  // other end of the cable.
  [[nodiscard]] Outcome<std::uint32_t> address();
  // The same, but nullopt while the link is down.
  [[nodiscard]] std::optional<std::uint32_t> settled_address();
  // Any shard. Whether no NI has this process number, not even one that is being removed.
  [[nodiscard]] bool is_free(unsigned process) const { return seat_of(process) == nullptr; }
  // Shard 0. Gives a NIC in software another address, as another cable would. kNotSupported: the
  // NIC is not software; kInvalid: the address is out of range.
  [[nodiscard]] Outcome<void> set_address(std::uint32_t address, Instant now);

  // Shard 0. kAgain: an NI that is being removed still uses the NIC; kBusy: another NI has the
  // process number, or all seats are taken. The first NI makes `keeper` the shard that steps the
  // NIC, until the last NI has gone.
  [[nodiscard]] Outcome<void> prepare(const lnet::Nid& nid, const KfiOptions& options,
                                      const ArenaTable& arenas, const KfiLease::Start& start,
                                      const KfiPlace& keeper);
  // Shard 0: releases the contexts that no shard has taken.
  void unprepare(const lnet::Nid& nid);
  // Shard 0: the NI is being removed, or has been already.
  void set_leaving(const lnet::Nid& nid);
  // Each shard that serves the NI takes its own context, once for each prepare().
  [[nodiscard]] std::unique_ptr<KfiContext> take(const lnet::Nid& nid, unsigned context);

  [[nodiscard]] bool is_kept_by(const KfiPlace& place) const {
    return keeper_.load(std::memory_order_acquire) == &place;
  }
  // The keeper, on each turn: steps a NIC in software.
  unsigned keep(Instant now);
  // Null: the NIC is not software.
  [[nodiscard]] cassini::soft::NodeOnEthdev* soft() { return soft_.get(); }
  [[nodiscard]] KfiRetryLines& retry_lines() { return retry_lines_; }

 private:
  friend class KfiLease;
  static constexpr unsigned kNobody = ~0U;
  struct Seat {
    std::atomic<unsigned> process{kNobody};  // written last when the seat is freed
    std::atomic<bool> leaving{false};        // shard 0 writes it, and the lease that frees the seat
    std::vector<std::unique_ptr<KfiContext>> prepared;  // by number; null: its shard has taken it
  };
  // Values of users_: the keeper and each NI count.
  static constexpr unsigned kFree = 0;
  static constexpr unsigned kKeeperOnly = 1;

  KfiNic(const KfiInterface& settings, const KfiMemory& memory);
  [[nodiscard]] Outcome<void> open_port(runtime::Eal& eal);
  [[nodiscard]] Outcome<cassini::DeviceInfo> find_device();
  [[nodiscard]] Outcome<void> open_contexts(unsigned seat, const lnet::Nid& nid,
                                            const KfiOptions& options, const ArenaTable& arenas,
                                            const KfiLease::Start& start);
  // Null: no NI has this process number.
  [[nodiscard]] Seat* seat_of(unsigned process) const;
  // A seat for a new NI; errors as of prepare().
  [[nodiscard]] Outcome<unsigned> find_seat(unsigned process) const;
  // Counts one more user; false: the keeper is about to release the NIC.
  [[nodiscard]] bool join();

  // Any shard: the lease has ended.
  void take_back(unsigned seat);
  void move_to(std::uint32_t address);

  const KfiInterface settings_;
  const KfiMemory memory_;
  cassini::Backend* backend_ = nullptr;
  unsigned device_id_ = 0;
  std::atomic<std::uint32_t> soft_address_{0};
  KfiRetryLines retry_lines_;
  std::unique_ptr<cassini::soft::NodeOnEthdev> soft_;
  std::vector<std::unique_ptr<Seat>> seats_;
  // Shard 0 changes it from kFree, and the keeper back to kFree. In between only the keeper steps
  // the NIC.
  std::atomic<unsigned> users_{kFree};
  std::atomic<const KfiPlace*> keeper_{nullptr};
  static constexpr std::uint32_t kStays = ~0U;
  std::atomic<std::uint32_t> next_address_{kStays};  // for the keeper to apply
};

}  // namespace plnet::node
