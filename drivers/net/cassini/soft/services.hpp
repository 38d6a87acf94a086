// SPDX-License-Identifier: BSD-3-Clause
// The services of one NIC (shs-cxi-driver: cass_svc.c). Each has a row, which is also its row of
// Resources; a row without a service has the id 0. All processes that share the NIC have the same
// services: a service belongs to the NIC until it is removed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drivers/net/cassini/soft/made.hpp"
#include "drivers/net/cassini/soft/resources.hpp"
#include "drivers/net/cassini/soft/service.hpp"
#include "drivers/net/cassini/soft/sharing.hpp"

namespace plnet::cassini::soft {

// The reason why a service could not be made.
struct Shortage {
  std::array<unsigned, kResources> available{};  // of each kind that was asked for
  bool entry_pools = false;
  bool triggered_pools = false;
};

class Services {
 public:
  // The device has this many pools of list entries and of triggered operations; a service that
  // keeps some has a pool of its own.
  static constexpr unsigned kEntryPools = 16;
  static constexpr unsigned kTriggeredPools = 4;
  static constexpr unsigned kTriggeredLeast = 8;  // of a pool
  static constexpr unsigned kServicesMax = 256;   // resource groups of the device

  Services(const Limits& limits, Resources& resources, std::span<const Service> first);

  // The services are from now on those that other processes have, too; none is in use yet. `with`
  // outlives this object.
  void share(Sharing* with);
  // Takes over changes by other processes.
  void refresh();

  [[nodiscard]] std::optional<unsigned> row_of(unsigned id);
  [[nodiscard]] const Service& at(unsigned row) const { return rows_[row].service; }
  [[nodiscard]] std::vector<unsigned> rows();

  // Resource groups that this process uses; the sum over all processes is the result.
  unsigned use_resource_groups(unsigned number);

  // Calls of an administrator; EAGAIN while another process changes services for too long. The id
  // of the new one.
  [[nodiscard]] Made<unsigned> add(const Service& wanted, Shortage& shortage);
  [[nodiscard]] Made<void> remove(unsigned id);
  // Everything but its resources.
  [[nodiscard]] Made<void> update(const Service& wanted);
  [[nodiscard]] Made<void> enable(unsigned id, bool enabled);
  [[nodiscard]] Made<void> set_range(unsigned id, VniRange range);
  [[nodiscard]] Made<void> set_exclusive(unsigned id, bool exclusive);
  [[nodiscard]] Made<void> set_groups_per_id(unsigned id, unsigned groups);
  [[nodiscard]] Made<void> set_network(unsigned id, unsigned network);

  // An LNI of the service: it may not change meanwhile. Its row.
  [[nodiscard]] Made<unsigned> open(unsigned id, const Caller& caller);
  void close(unsigned row);

  // The service that lets an LNI of row `own` use a VNI: its own, or another that has the VNI and
  // admits the caller (cxi_tx_profile.c: cxi_dev_get_tx_profile()).
  [[nodiscard]] Made<const Service*> of_vni(unsigned vni, const Caller& caller, unsigned own);
  // Some service that admits the caller has it (cxi_rxtx_profile.c: cxi_valid_vni()).
  [[nodiscard]] bool has_vni(unsigned vni, const Caller& caller);

 private:
  struct Row {
    Service service;
    unsigned users = 0;
  };
  // The turn of this process to change services.
  class Turn {
   public:
    explicit Turn(Services& services);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return is_ours_; }

   private:
    Services& services_;
    bool is_ours_;
  };
  void load();
  void publish(unsigned row);
  void tell_users(unsigned row);
  [[nodiscard]] std::optional<unsigned> find(unsigned id) const;
  [[nodiscard]] bool is_idle(unsigned row);
  [[nodiscard]] int check(const Service& wanted) const;  // 0 or an errno
  [[nodiscard]] bool overlaps(const Service& wanted) const;
  [[nodiscard]] Made<unsigned> idle(unsigned id);
  [[nodiscard]] bool has_pool(Resource what, unsigned pools) const;

  const Limits& limits_;
  Resources& resources_;
  std::vector<Row> rows_;
  Sharing* sharing_ = nullptr;
  std::uint32_t version_ = 0;  // of the services that other processes see
};

}  // namespace plnet::cassini::soft
