// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/allocations.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "drivers/net/cassini/soft/libcxi_objects.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr std::size_t kLinkMtu = 9000;
constexpr std::size_t kLinkMbps = 200'000;
constexpr unsigned kVendor = 0x17db;
constexpr unsigned kDevice = 0x0501;
constexpr unsigned kStepping = 1;
constexpr unsigned kRetryHandlerEq = 1;

template <std::size_t Size>
void put_text(char (&field)[Size], std::string_view text) {
  std::ranges::copy(text.substr(0, Size), field);
}

}  // namespace

int Allocation::destroy() {
  const Gate::Held held(all_.gate_);
  if (const Made<void> gone = release(); !gone) return -gone.error();
  std::erase_if(all_.live_, [this](const auto& one) { return one.get() == this; });
  return 0;
}

Allocations::Allocations(Gate& gate, std::vector<Nic*> devices)
    : gate_(gate), devices_(std::move(devices)) {}

Allocations::~Allocations() {
  const Gate::Held held(gate_);
  // In reverse order of creation: each object is then unused. An exception is the memory that an
  // event queue has moved to, which waits for the next round.
  while (!live_.empty()) {
    const std::size_t before = live_.size();
    for (std::size_t i = before; i-- > 0;) {
      if (live_[i]->release()) live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    PLNET_CHECK(live_.size() < before, "some object can always be destroyed");
  }
}

libcxi::DeviceInfo Allocations::info_of(unsigned id) const {
  const Nic& nic = *devices_[id];
  const Tables& tables = nic.tables();
  const Limits& limits = tables.limits;
  libcxi::DeviceInfo info{};
  info.id = id;
  info.nic_address = nic.address();
  info.pci_device = static_cast<std::uint8_t>(id);  // 0000:00:ID.0: devices differ, as on a bus
  info.pid_bits = kPidBits;
  info.pid_count = kPidAnyValue;
  info.pid_granule = kPidGranule;
  info.min_free_shift = tables.min_free_shift;
  info.rendezvous_index = kPidGranule - 1;
  put_text(info.device_name, "cxi" + std::to_string(id));
  put_text(info.driver_name, "soft");
  info.vendor = kVendor;
  info.device = kDevice;
  info.portals = narrow(limits.portals);
  info.transmit_queues = narrow(limits.transmit_queues);
  info.target_queues = narrow(limits.target_queues);
  info.event_queues = narrow(limits.event_queues);
  info.counters = narrow(limits.counters);
  info.address_contexts = narrow(limits.address_contexts);
  info.triggered_entries = narrow(limits.triggered);
  info.list_entries = narrow(limits.list_entries);
  info.link_mtu = kLinkMtu;
  info.link_speed = kLinkMbps;
  info.link_state = tables.link_up ? 1 : 0;
  info.pct_eq = tables.retry_handler ? kRetryHandlerEq : 0;
  info.version = nic.version() << libcxi::kGenerationShift | kStepping;
  put_text(info.description, "software Cassini");
  info.system_type = nic.version();
  return info;
}

int Allocations::get_device_list(libcxi::DeviceList** list) {
  if (list == nullptr) return -EINVAL;
  const Gate::Held held(gate_);
  const auto count = static_cast<unsigned>(devices_.size());
  auto* const made = make_list<libcxi::DeviceList, libcxi::DeviceInfo>(
      count, libcxi::kDeviceListHead, [this](unsigned id) { return info_of(id); });
  if (made == nullptr) return -ENOMEM;
  *list = made;
  return 0;
}

int Allocations::open_device(std::uint32_t id, libcxi::Device** device) {
  if (device == nullptr) return -EINVAL;
  const Gate::Held held(gate_);
  if (id >= devices_.size()) return -ENOENT;
  auto made = std::make_unique<DeviceObject>(*this, *devices_[id], id);
  made->info = info_of(id);
  *device = made.get();
  live_.push_back(std::move(made));
  return 0;
}

}  // namespace plnet::cassini::soft
