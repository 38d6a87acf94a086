// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/backend_soft.hpp"

#include <cerrno>

#include "drivers/net/cassini/soft/libcxi_functions.hpp"

namespace plnet::cassini::soft {
namespace {

// All functions but the entries, which belong to this process.
libcxi::Functions functions() {
  libcxi::Functions call;
#define PLNET_X(name, result, arguments) call.name = libcxi::cxil_##name;
  PLNET_LIBCXI_FUNCTIONS(PLNET_X)
#undef PLNET_X
  return call;
}

}  // namespace

SoftBackend::SoftBackend(Gate& gate, std::vector<Nic*> devices)
    : LibcxiBackend(functions()), allocations_(gate, std::move(devices)) {}

Allocated<LinkSeen> SoftBackend::link(DeviceHandle device) {
  const Gate::Held held(allocations_.gate());
  const auto id = id_of(device);
  if (!id) return std::unexpected(Errno{EINVAL});
  const Nic& nic = allocations_.nic(*id);
  return LinkSeen{.up = nic.tables().link_up, .nic_address = nic.address()};
}

std::vector<Statistic> SoftBackend::statistics(DeviceHandle device) {
  const Gate::Held held(allocations_.gate());
  std::vector<Statistic> all;
  const auto id = id_of(device);
  if (!id) return all;
  const auto append = [&](const std::string& group, const CounterView& counters) {
    for (std::size_t i = 0; i < counters.info.size(); ++i)
      all.push_back({group + "." + std::string(counters.info[i].name),
                     counters.values[i].load(std::memory_order_relaxed)});
  };
  append("nic", allocations_.nic(*id).counters());
  for (const StatisticsGroup& group : groups_) {
    if (group.device == *id) append(group.name, group.counters);
  }
  return all;
}

}  // namespace plnet::cassini::soft
