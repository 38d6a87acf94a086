// SPDX-License-Identifier: BSD-3-Clause
// Allocation by libcxi's functions: of the vendor's library, loaded at run time (a build needs
// nothing of it), or of the software Cassini.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "drivers/net/cassini/backend.hpp"
#include "drivers/net/cassini/libcxi_abi.hpp"
#include "lib/base/result.hpp"

namespace plnet::cassini {

class LibcxiBackend : public Backend {
 public:
  // kNotFound: no such library; kNotSupported: it lacks a function that we need. The message names
  // it.
  [[nodiscard]] static Outcome<std::unique_ptr<LibcxiBackend>> load(
      const std::string& library = "libcxi.so.1");
  // The library counts its objects and releases the remaining ones when the process ends.
  ~LibcxiBackend() override;
  LibcxiBackend(const LibcxiBackend&) = delete;
  LibcxiBackend& operator=(const LibcxiBackend&) = delete;

  [[nodiscard]] Allocated<std::vector<DeviceInfo>> devices() override;
  [[nodiscard]] Allocated<DeviceHandle> open_device(unsigned id) override;
  void close_device(DeviceHandle device) override;
  [[nodiscard]] Allocated<DeviceInfo> device_info(DeviceHandle device) override;
  // Reads system files.
  void refresh() override { (void)devices(); }
  [[nodiscard]] Allocated<LinkSeen> link(DeviceHandle device) override;
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

 protected:
  explicit LibcxiBackend(const libcxi::Functions& functions) : call_(functions) {}
  // Calls without an object argument, for a backend with devices of its own.
  [[nodiscard]] virtual int get_device_list(libcxi::DeviceList** list) {
    return call_.get_device_list(list);
  }
  [[nodiscard]] virtual int open_by_id(std::uint32_t id, libcxi::Device** device) {
    return call_.open_device(id, device);
  }
  // Nothing: the device is not open.
  [[nodiscard]] std::optional<unsigned> id_of(DeviceHandle device);

 private:
  static constexpr unsigned kDevicesMax = 64;  // of a host, indexed by id
  static constexpr unsigned kOpenMax = 256;    // at the same time; one for each NI
  static constexpr std::uintptr_t kClaimed = 1;
  struct Open {
    std::atomic<std::uintptr_t> handle{0};  // 0: free; kClaimed: not filled in yet
    std::atomic<unsigned> id{0};
  };

  LibcxiBackend() = default;
  void note(const DeviceInfo& info);
  [[nodiscard]] Open* claim();
  [[nodiscard]] Open* find(DeviceHandle device);

  void* library_ = nullptr;
  libcxi::Functions call_;
  // Without a lock, since any thread may call, pollers included.
  std::array<Open, kOpenMax> open_{};
  // For each id: whether the device exists, whether its link is up, its address.
  std::array<std::atomic<std::uint64_t>, kDevicesMax> links_{};
};

}  // namespace plnet::cassini
