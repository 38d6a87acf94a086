// SPDX-License-Identifier: BSD-3-Clause
// Files that the driver of a Slingshot NIC has in /sys (shs-cxi-driver: cass_sysfs.c, cass_telem.c)
// and that change while programs run. plnet-cxi-lab makes them; processes that share the NIC keep
// them up to date.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "drivers/net/cassini/soft/driver_counters.hpp"
#include "drivers/net/cassini/soft/host_files.hpp"
#include "drivers/net/cassini/soft/local_handles.hpp"

namespace plnet::cassini::soft {

class DriverFiles final : public HostFiles {
 public:
  // Files of the device cxi`id` in the directory `state`. One that is not there shows nothing.
  DriverFiles(const std::string& state, unsigned id);
  void show_resource_groups(unsigned used) override;
  [[nodiscard]] int atomic_remap() override;
  // The next file whose counter has changed: a call costs microseconds. `wall_ns` is the time of
  // day.
  void show_next_counter(const Nic& nic, std::uint64_t wall_ns);
  void show_all_counters(const Nic& nic, std::uint64_t wall_ns);

 private:
  static constexpr std::size_t kCounters = kDriverCounters.size();
  // False: it has not changed.
  bool show_counter(const Nic& nic, std::size_t which, std::uint64_t wall_ns);

  LocalDescriptor groups_;
  LocalDescriptor remap_;
  int last_remap_ = -1;
  struct Telemetry {
    LocalDescriptor file;
    std::uint64_t shown = 0;
  };
  std::array<Telemetry, kCounters> telemetry_;
  std::size_t next_ = 0;
};

}  // namespace plnet::cassini::soft
