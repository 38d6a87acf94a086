// SPDX-License-Identifier: BSD-3-Clause
// Allocation by the vendor's library, which is looked for when the program runs: a build needs
// nothing of it.
#pragma once

#include <memory>
#include <string>

#include "drivers/net/cassini/backend.hpp"
#include "drivers/net/cassini/libcxi_abi.hpp"
#include "lib/base/result.hpp"

namespace plnet::cassini {

class LibcxiBackend final : public Backend {
 public:
  // kNotFound: no such library; kNotSupported: it lacks a function that we need. The words name it.
  [[nodiscard]] static Outcome<std::unique_ptr<LibcxiBackend>> load(
      const std::string& library = "libcxi.so.1");
  // What was allocated and not given back goes with the process: the library keeps count.
  ~LibcxiBackend() override;
  LibcxiBackend(const LibcxiBackend&) = delete;
  LibcxiBackend& operator=(const LibcxiBackend&) = delete;

  [[nodiscard]] Allocated<std::vector<DeviceInfo>> devices() override;
  [[nodiscard]] Allocated<DeviceHandle> open_device(unsigned id) override;
  void close_device(DeviceHandle device) override;
  [[nodiscard]] Allocated<DeviceInfo> device_info(DeviceHandle device) override;
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

 private:
  LibcxiBackend() = default;

  void* library_ = nullptr;
  libcxi::Functions call_;
};

}  // namespace plnet::cassini
