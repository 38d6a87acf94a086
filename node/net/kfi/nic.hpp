// SPDX-License-Identifier: BSD-3-Clause
// One NIC that kfi networks can use, from the start of the node to its end: in hardware by the
// vendor's library, in software on a port of DPDK, or what a provider of libfabric is to us. NIs of
// different networks share it: each has a seat, with a part of the receive buffers, and is a
// process of its own there.
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
  // The receive buffers' memory is cut from the node's arenas before. `vendor` outlives the NIC;
  // null: the interface is none of its. What fails says where the interface was configured.
  [[nodiscard]] static Outcome<std::unique_ptr<KfiNic>> open(const KfiInterface& settings,
                                                             const KfiMemory& memory,
                                                             cassini::Backend* vendor,
                                                             runtime::Eal& eal);
  ~KfiNic();
  KfiNic(const KfiNic&) = delete;
  KfiNic& operator=(const KfiNic&) = delete;

  [[nodiscard]] const std::string& name() const { return settings_.name; }
  [[nodiscard]] const KfiInterface& settings() const { return settings_; }
  // Its receive buffers, for as many NIs as there are seats.
  [[nodiscard]] const KfiMemory& memory() const { return memory_; }
  [[nodiscard]] cassini::Backend& backend() { return *backend_; }  // of a Cassini
  [[nodiscard]] unsigned device_id() const { return device_id_; }
  // The admin thread. The NIC's on the fabric: by hardware, where a cable leads to just now.
  [[nodiscard]] Outcome<std::uint32_t> address();
  // The same, but nothing while no cable leads anywhere.
  [[nodiscard]] std::optional<std::uint32_t> settled_address();
  // Any shard: no NI is this process, nor one that goes.
  [[nodiscard]] bool is_free(unsigned process) const { return seat_of(process) == nullptr; }
  // Shard 0. Of a NIC in software: as if its cable led to this address now. kNotSupported: it is
  // none; kInvalid.
  [[nodiscard]] Outcome<void> set_address(std::uint32_t address, Instant now);

  // Shard 0. kAgain: it waits for an NI that goes; kBusy: another NI has the process, or the last
  // seat. Of the first NI there `keeper` has the NIC in its care from now on, until the last NI has
  // gone, whichever that is.
  [[nodiscard]] Outcome<void> prepare(const lnet::Nid& nid, const KfiOptions& options,
                                      const ArenaTable& arenas, const KfiLease::Start& start,
                                      const KfiPlace& keeper);
  // Shard 0: what was prepared of it was not needed.
  void unprepare(const lnet::Nid& nid);
  // Shard 0: it goes, or is gone already.
  void set_leaving(const lnet::Nid& nid);
  // The shards that serve it, each its own, once for each prepare().
  [[nodiscard]] std::unique_ptr<KfiContext> take(const lnet::Nid& nid, unsigned context);

  [[nodiscard]] bool is_kept_by(const KfiPlace& place) const {
    return keeper_.load(std::memory_order_acquire) == &place;
  }
  // The keeper, on each turn: what there is of the NIC in this process.
  unsigned keep(Instant now);
  // Null: it is hardware.
  [[nodiscard]] cassini::soft::NodeOnEthdev* soft() { return soft_.get(); }
  [[nodiscard]] KfiRetryLines& retry_lines() { return retry_lines_; }

 private:
  friend class KfiLease;
  static constexpr unsigned kNobody = ~0U;
  struct Seat {
    std::atomic<unsigned> process{kNobody};             // last of all set free
    std::atomic<bool> leaving{false};                   // shard 0's
    std::vector<std::unique_ptr<KfiContext>> prepared;  // by number; null: its shard has it
  };
  // Of those who have the NIC: the keeper, and each NI.
  static constexpr unsigned kFree = 0;
  static constexpr unsigned kKeeperOnly = 1;

  KfiNic(const KfiInterface& settings, const KfiMemory& memory);
  [[nodiscard]] Outcome<void> open_port(runtime::Eal& eal);
  [[nodiscard]] Outcome<cassini::DeviceInfo> find_device();
  [[nodiscard]] Outcome<void> open_contexts(unsigned seat, const lnet::Nid& nid,
                                            const KfiOptions& options, const ArenaTable& arenas,
                                            const KfiLease::Start& start);
  // Null: nobody is that process.
  [[nodiscard]] Seat* seat_of(unsigned process) const;
  // Of an NI that comes; as prepare().
  [[nodiscard]] Outcome<unsigned> find_seat(unsigned process) const;
  // One more has the NIC; false: the keeper is about to let go of it.
  [[nodiscard]] bool join();

  // Any shard: the lease is gone.
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
  // Made from kFree by shard 0, and kFree again by the keeper: in between nobody else steps it.
  std::atomic<unsigned> users_{kFree};
  std::atomic<const KfiPlace*> keeper_{nullptr};
  static constexpr std::uint32_t kStays = ~0U;
  std::atomic<std::uint32_t> next_address_{kStays};  // the keeper's to do
};

}  // namespace plnet::node
