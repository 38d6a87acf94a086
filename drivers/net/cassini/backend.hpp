// SPDX-License-Identifier: BSD-3-Clause
// Allocation of everything that the driver needs before its message path, which is memory only:
// libcxi's objects, call by call and argument by argument. Two backends: backend_libcxi calls the
// vendor's library, backend_soft the software Cassini. The driver cannot tell them apart.
//
// Every call but link() is cold and may block; the message path makes none. Any thread may call
// devices(), device_info(), statistics() and refresh() while others open, use and close devices;
// the other calls are for the owner of the object. Failures return libcxi's errno. Handles belong
// to the backend; a destroyed one must not be used again. Objects are destroyed in the reverse
// order of their creation; destroying a backend releases the remaining ones.
//
// Layouts of commands and events are not here on purpose: the driver and the model each have their
// own, written from the specification, so that one mistake cannot be in both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace plnet::cassini {

// An errno of libcxi, positive: ENOSPC when a table is full, EEXIST when a PID is in use, …
struct Errno {
  int value = 0;
  friend bool operator==(Errno, Errno) = default;
};
template <class T>
using Allocated = std::expected<T, Errno>;

template <class Tag>
struct Handle {
  std::uintptr_t value = 0;
  friend bool operator==(Handle, Handle) = default;
};
using DeviceHandle = Handle<struct DeviceTag>;
using LniHandle = Handle<struct LniTag>;
using ProfileHandle = Handle<struct ProfileTag>;
using DomainHandle = Handle<struct DomainTag>;
using MappingHandle = Handle<struct MappingTag>;
using EventQueueHandle = Handle<struct EventQueueTag>;
using CommandQueueHandle = Handle<struct CommandQueueTag>;
using PortalHandle = Handle<struct PortalTag>;
using PortalMapHandle = Handle<struct PortalMapTag>;

struct DeviceInfo {
  unsigned id = 0;
  std::string name;         // cxi0
  std::string description;  // the board
  std::uint32_t nic_address = 0;
  unsigned pid_bits = 9;
  unsigned pid_granule = 256;
  unsigned min_free_shift = 0;
  unsigned version = 0;        // of Cassini: 1 or 2
  bool retry_handler = false;  // without one, lost packets are not sent again
  bool link_up = false;
  bool virtual_function = false;
  std::size_t link_mtu = 0;
  std::size_t link_mbps = 0;
  unsigned portals = 0, transmit_queues = 0, target_queues = 0, event_queues = 0;
  unsigned counters = 0, address_contexts = 0, list_entries = 0;
};

// The properties that change with the cable.
struct LinkSeen {
  bool up = false;
  std::uint32_t nic_address = 0;
};

enum class TrafficClass : std::uint8_t { kDedicated, kLowLatency, kBulkData, kBestEffort };

struct Profile {
  ProfileHandle handle;
  unsigned lcid = 0;
};
struct Domain {
  DomainHandle handle;
  unsigned pid = 0;  // the assigned one if kPidAny was requested
};
inline constexpr unsigned kPidAny = 511;

// Device address of p = iova + (p - va).
struct Mapping {
  MappingHandle handle;
  std::uint64_t iova = 0;
  std::uint64_t va = 0;
  std::size_t length = 0;
  unsigned lac = 0;
};
enum MapFlags : std::uint32_t {
  kMapPin = 1U << 0,
  kMapWrite = 1U << 2,
  kMapRead = 1U << 3,
};

struct EventQueueOptions {
  std::byte* queue = nullptr;       // page-aligned and inside `mapping`; all zero
  std::size_t bytes = 0;            // a multiple of the page size
  std::uint64_t flags = 0;          // EQ attribute flags with libcxi's bit numbers
  unsigned status_percent = 0;      // of the first threshold; 0: none
  unsigned combining_delay_ns = 0;  // 0: the device's default
};
struct EventQueueMemory {
  EventQueueHandle handle;
  unsigned number = 0;  // EQ number in commands; never 0
  std::byte* queue = nullptr;
  std::size_t bytes = 0;
  std::uint64_t* software_state = nullptr;  // doorbell: write-only
};

struct CommandQueueOptions {
  unsigned slots = 0;  // of 64 bytes, status block included
  bool transmit = false;
  unsigned lcid = 0;           // transmit only
  unsigned update_policy = 0;  // how often the status block is written: 0 always … 3 rarely
};
struct CommandQueueMemory {
  CommandQueueHandle handle;
  unsigned hardware_index = 0;       // 0…1023 transmit, 1024…1535 target
  unsigned slots = 0;                // may be more than requested
  std::byte* commands = nullptr;     // slots × 64 bytes; the first four slots are the status block
  std::byte* launch_page = nullptr;  // doorbell and low-latency windows: write-only
};

struct PortalOptions {
  bool matching = false;
  bool event_match = false;
  bool flow_control = false;
  bool use_long_event = false;
  bool clear_remote_offset = false;
};
struct Portal {
  PortalHandle handle;
  unsigned number = 0;  // PtlTE number in target commands
};
struct PortalStatus {
  std::uint32_t drop_count = 0;
  unsigned state = 0;
  unsigned entries_reserved = 0, entries_allocated = 0, entries_max = 0;
};

// One counter of a device.
struct Statistic {
  std::string name;  // "nic.translation_faults", "retry_handler.timeouts", …
  std::uint64_t value = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual Allocated<std::vector<DeviceInfo>> devices() = 0;
  [[nodiscard]] virtual Allocated<DeviceHandle> open_device(unsigned id) = 0;
  virtual void close_device(DeviceHandle device) = 0;
  // The present state. EINVAL: the device is not open.
  [[nodiscard]] virtual Allocated<DeviceInfo> device_info(DeviceHandle device) = 0;
  // Reads the devices' state for link(): call it every second or so.
  virtual void refresh() {}
  // Memory only. As of the last refresh(), or the present state where that is available.
  [[nodiscard]] virtual Allocated<LinkSeen> link(DeviceHandle device) = 0;

  // Counters of the NIC and its retry handler; empty if not available.
  [[nodiscard]] virtual std::vector<Statistic> statistics(DeviceHandle /*device*/) { return {}; }

  [[nodiscard]] virtual Allocated<LniHandle> alloc_lni(DeviceHandle device, unsigned service) = 0;
  [[nodiscard]] virtual Allocated<void> destroy_lni(LniHandle lni) = 0;
  [[nodiscard]] virtual Allocated<Profile> alloc_profile(LniHandle lni, unsigned vni,
                                                         TrafficClass traffic_class) = 0;
  [[nodiscard]] virtual Allocated<void> destroy_profile(ProfileHandle profile) = 0;
  [[nodiscard]] virtual Allocated<Domain> alloc_domain(LniHandle lni, unsigned vni,
                                                       unsigned pid) = 0;
  [[nodiscard]] virtual Allocated<void> destroy_domain(DomainHandle domain) = 0;

  [[nodiscard]] virtual Allocated<Mapping> map(LniHandle lni, void* va, std::size_t length,
                                               std::uint32_t flags) = 0;
  [[nodiscard]] virtual Allocated<void> unmap(MappingHandle mapping) = 0;

  [[nodiscard]] virtual Allocated<EventQueueMemory> alloc_event_queue(
      LniHandle lni, MappingHandle mapping, const EventQueueOptions& options) = 0;
  [[nodiscard]] virtual Allocated<void> destroy_event_queue(EventQueueHandle queue) = 0;
  // Slots reserved for events that must not be dropped; positive to reserve, negative to release.
  [[nodiscard]] virtual Allocated<void> adjust_reserved(EventQueueHandle queue, int slots) = 0;

  // `errors` may be {}: a failed command then appears only in the status block.
  [[nodiscard]] virtual Allocated<CommandQueueMemory> alloc_command_queue(
      LniHandle lni, EventQueueHandle errors, const CommandQueueOptions& options) = 0;
  [[nodiscard]] virtual Allocated<void> destroy_command_queue(CommandQueueHandle queue) = 0;

  [[nodiscard]] virtual Allocated<Portal> alloc_portal(LniHandle lni, EventQueueHandle events,
                                                       const PortalOptions& options) = 0;
  [[nodiscard]] virtual Allocated<void> destroy_portal(PortalHandle portal) = 0;
  [[nodiscard]] virtual Allocated<PortalMapHandle> map_portal(PortalHandle portal,
                                                              DomainHandle domain,
                                                              unsigned index) = 0;
  [[nodiscard]] virtual Allocated<void> unmap_portal(PortalMapHandle map) = 0;
  // After its return the NIC writes nothing more by this entry, not even the rest of a message.
  [[nodiscard]] virtual Allocated<void> invalidate_entry(PortalHandle portal, unsigned buffer_id,
                                                         unsigned list) = 0;
  [[nodiscard]] virtual Allocated<PortalStatus> portal_status(PortalHandle portal) = 0;
  [[nodiscard]] virtual Allocated<void> transition_software_managed(PortalHandle portal,
                                                                    unsigned drop_count) = 0;
};

}  // namespace plnet::cassini
