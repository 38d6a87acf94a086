// SPDX-License-Identifier: BSD-3-Clause
// What the driver allocates, from software NICs of a fabric in this process. Several backends may
// share one fabric: each is a process of its own as far as objects go.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "drivers/net/cassini/backend.hpp"
#include "drivers/net/cassini/soft/fabric.hpp"

namespace plnet::cassini::soft {

class SoftBackend final : public Backend {
 public:
  // The devices are cxi0, cxi1, … in this order. The fabric lives longer.
  SoftBackend(Fabric& fabric, std::vector<Nic*> devices)
      : SoftBackend(fabric.gate(), std::move(devices)) {}
  // NICs that something else steps, behind this gate.
  SoftBackend(Gate& gate, std::vector<Nic*> devices) : gate_(gate), devices_(std::move(devices)) {}
  ~SoftBackend() override;
  SoftBackend(const SoftBackend&) = delete;
  SoftBackend& operator=(const SoftBackend&) = delete;

  [[nodiscard]] Allocated<std::vector<DeviceInfo>> devices() override;
  [[nodiscard]] Allocated<DeviceHandle> open_device(unsigned id) override;
  void close_device(DeviceHandle device) override;
  [[nodiscard]] Allocated<DeviceInfo> device_info(DeviceHandle device) override;
  [[nodiscard]] Allocated<LinkSeen> link(DeviceHandle device) override;

  [[nodiscard]] std::vector<Statistic> statistics(DeviceHandle device) override;
  // More that is counted beside a device and outlives this: by its retry handler, its wire, …
  void add_statistics(unsigned device, std::string group, const CounterView& counters) {
    groups_.push_back({device, std::move(group), counters});
  }

  [[nodiscard]] Allocated<LniHandle> alloc_lni(DeviceHandle device, unsigned service) override;
  [[nodiscard]] Allocated<void> destroy_lni(LniHandle lni) override;
  [[nodiscard]] Allocated<Profile> alloc_profile(LniHandle lni, unsigned vni,
                                                 TrafficClass traffic_class) override;
  [[nodiscard]] Allocated<void> destroy_profile(ProfileHandle profile) override;
  [[nodiscard]] Allocated<Domain> alloc_domain(LniHandle lni, unsigned vni, unsigned pid) override;
  [[nodiscard]] Allocated<void> destroy_domain(DomainHandle domain) override;

  [[nodiscard]] Allocated<Mapping> map(LniHandle lni, void* va, std::size_t length,
                                       std::uint32_t flags) override;
  [[nodiscard]] Allocated<void> unmap(MappingHandle mapping) override;

  [[nodiscard]] Allocated<EventQueueMemory> alloc_event_queue(
      LniHandle lni, MappingHandle mapping, const EventQueueOptions& options) override;
  [[nodiscard]] Allocated<void> destroy_event_queue(EventQueueHandle queue) override;
  [[nodiscard]] Allocated<void> adjust_reserved(EventQueueHandle queue, int slots) override;

  [[nodiscard]] Allocated<CommandQueueMemory> alloc_command_queue(
      LniHandle lni, EventQueueHandle errors, const CommandQueueOptions& options) override;
  [[nodiscard]] Allocated<void> destroy_command_queue(CommandQueueHandle queue) override;

  [[nodiscard]] Allocated<Portal> alloc_portal(LniHandle lni, EventQueueHandle events,
                                               const PortalOptions& options) override;
  [[nodiscard]] Allocated<void> destroy_portal(PortalHandle portal) override;
  [[nodiscard]] Allocated<PortalMapHandle> map_portal(PortalHandle portal, DomainHandle domain,
                                                      unsigned index) override;
  [[nodiscard]] Allocated<void> unmap_portal(PortalMapHandle map) override;
  [[nodiscard]] Allocated<void> invalidate_entry(PortalHandle portal, unsigned buffer_id,
                                                 unsigned list) override;
  [[nodiscard]] Allocated<PortalStatus> portal_status(PortalHandle portal) override;
  [[nodiscard]] Allocated<void> transition_software_managed(PortalHandle portal,
                                                            unsigned drop_count) override;

  // What libcxi has beyond what the driver asks for. An event queue that is being resized lies in
  // both mappings until that is complete.
  [[nodiscard]] Allocated<EventQueueMemory> make_event_queue(LniHandle lni, MappingHandle mapping,
                                                             const EventQueueSetup& setup);
  [[nodiscard]] Allocated<void> resize_event_queue(EventQueueHandle queue, MappingHandle mapping,
                                                   std::byte* memory, std::size_t bytes);
  [[nodiscard]] Allocated<void> complete_resize(EventQueueHandle queue);
  [[nodiscard]] Allocated<void> remap(MappingHandle mapping, void* va, std::size_t length);
  // Null: not open.
  [[nodiscard]] const Nic* nic_of(DeviceHandle device) const;

  // Objects that are not destroyed yet.
  [[nodiscard]] std::size_t objects() const { return live_.size(); }

 private:
  enum class Kind : std::uint8_t {
    kDevice = 1,
    kLni,
    kProfile,
    kDomain,
    kMapping,
    kEventQueue,
    kCommandQueue,
    kPortal,
    kPortalMap
  };
  // A handle names its kind, its device and a number of 48 bits: one taken for another is found.
  [[nodiscard]] static std::uintptr_t name(Kind kind, unsigned device, std::uint64_t number);
  struct Named {
    Nic* nic = nullptr;  // null: no such object of ours
    unsigned device = 0;
    std::uint64_t number = 0;
  };
  [[nodiscard]] Named find(Kind kind, std::uintptr_t handle) const;
  [[nodiscard]] DeviceInfo info_of(unsigned id) const;
  std::uintptr_t add(Kind kind, unsigned device, std::uint64_t number);
  Allocated<void> drop(std::uintptr_t handle);
  Made<void> destroy(std::uintptr_t handle);

  struct StatisticsGroup {
    unsigned device = 0;
    std::string name;
    CounterView counters;
  };
  std::vector<StatisticsGroup> groups_;
  Gate& gate_;
  std::vector<Nic*> devices_;
  std::vector<std::uintptr_t> live_;  // in the order of their making
};

}  // namespace plnet::cassini::soft
