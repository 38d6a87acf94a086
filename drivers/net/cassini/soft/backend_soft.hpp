// SPDX-License-Identifier: BSD-3-Clause
// The driver's backend on software NICs of this process. Several backends may share one fabric:
// each has its objects like a process of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "drivers/net/cassini/backend_libcxi.hpp"
#include "drivers/net/cassini/soft/allocations.hpp"
#include "drivers/net/cassini/soft/fabric.hpp"

namespace plnet::cassini::soft {

class SoftBackend final : public LibcxiBackend {
 public:
  // The devices are cxi0, cxi1, … in this order. The fabric outlives the backend.
  SoftBackend(Fabric& fabric, std::vector<Nic*> devices)
      : SoftBackend(fabric.gate(), std::move(devices)) {}
  // For NICs that are stepped elsewhere, behind this gate.
  SoftBackend(Gate& gate, std::vector<Nic*> devices);

  void refresh() override {}
  [[nodiscard]] Allocated<LinkSeen> link(DeviceHandle device) override;
  [[nodiscard]] std::vector<Statistic> statistics(DeviceHandle device) override;
  // Further counters of a device, which outlive this object: of its retry handler, its wire, …
  void add_statistics(unsigned device, std::string group, const CounterView& counters) {
    groups_.push_back({device, std::move(group), counters});
  }

  // Objects not yet destroyed.
  [[nodiscard]] std::size_t objects() const { return allocations_.count(); }

 private:
  struct StatisticsGroup {
    unsigned device = 0;
    std::string name;
    CounterView counters;
  };
  [[nodiscard]] int get_device_list(libcxi::DeviceList** list) override {
    return allocations_.get_device_list(list);
  }
  [[nodiscard]] int open_by_id(std::uint32_t id, libcxi::Device** device) override {
    return allocations_.open_device(id, device);
  }

  std::vector<StatisticsGroup> groups_;
  Allocations allocations_;
};

}  // namespace plnet::cassini::soft
