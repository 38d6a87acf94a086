// SPDX-License-Identifier: BSD-3-Clause
// One NIC of several processes: each has a model of its own, and all have the same services,
// limits and counters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drivers/net/cassini/soft/service.hpp"

namespace plnet::cassini::soft {

class Sharing {
 public:
  // Kinds of use: those of Resource, and these.
  static constexpr unsigned kGroups = kResources;  // LNIs
  static constexpr unsigned kResourceGroups = kGroups + 1;
  static constexpr unsigned kUses = kResourceGroups + 1;
  static constexpr unsigned kRows = 256;  // of services
  static constexpr unsigned kCountersMax = 64;

  virtual ~Sharing() = default;

  // One process at a time changes services. False: another one does so for too long.
  [[nodiscard]] virtual bool lock() = 0;
  virtual void unlock() = 0;
  // Differs after each change.
  [[nodiscard]] virtual std::uint32_t version() const = 0;
  // The services by their rows, and their replacement. The lock is held.
  [[nodiscard]] virtual std::vector<Service> load() const = 0;
  virtual void store(unsigned row, const Service& service) = 0;

  // Objects that this process uses in a row, told to the others, and those of the others.
  virtual void tell(unsigned row, unsigned use, unsigned number) = 0;
  [[nodiscard]] virtual unsigned others(unsigned row, unsigned use) const = 0;
  // Drops the use by processes that have ended. True: there was some.
  virtual bool forget_ended() = 0;

  // Counters of this process since its start, told to the others, and a sum: those of the others
  // and of processes that have ended.
  virtual void tell_counters(std::span<const std::uint64_t> counts) = 0;
  [[nodiscard]] virtual std::uint64_t counted_by_others(unsigned counter) const = 0;
};

}  // namespace plnet::cassini::soft
