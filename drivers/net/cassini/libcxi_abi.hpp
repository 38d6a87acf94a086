// SPDX-License-Identifier: BSD-3-Clause
// libcxi's structures and functions: offsets, sizes and argument lists measured with shs-libcxi
// c147b9eb (libcxi.h), shs-cassini-headers 06f69b00 (cxi_prov_hw.h) and shs-cxi-driver 9ce667e4
// (cxi-abi.h) on x86-64. The driver calls them, the software Cassini implements them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plnet::cassini::libcxi {

struct DeviceInfo {
  unsigned id;
  unsigned nic_address;
  unsigned pid_bits;
  unsigned pid_count;
  unsigned pid_granule;
  unsigned min_free_shift;
  unsigned rendezvous_index;
  char device_name[14];
  char driver_name[9];
  unsigned vendor, device, revision, protocol, platform;
  std::uint16_t portals, transmit_queues, target_queues, event_queues;
  std::uint16_t counters, address_contexts, triggered_entries, list_entries;
  std::uint16_t pci_domain;
  std::uint8_t pci_bus, pci_device, pci_function;
  std::size_t link_mtu;
  std::size_t link_speed;
  std::uint8_t link_state;
  int uc_nic;
  unsigned pct_eq;
  unsigned version;
  char description[16];  // 16 characters without a terminating zero
  bool is_vf;
  unsigned system_type;
};
static_assert(sizeof(DeviceInfo) == 152);
static_assert(offsetof(DeviceInfo, rendezvous_index) == 24);
static_assert(offsetof(DeviceInfo, device_name) == 28 && offsetof(DeviceInfo, driver_name) == 42);
static_assert(offsetof(DeviceInfo, vendor) == 52 && offsetof(DeviceInfo, portals) == 72);
static_assert(offsetof(DeviceInfo, list_entries) == 86 && offsetof(DeviceInfo, link_mtu) == 96);
static_assert(offsetof(DeviceInfo, link_state) == 112 && offsetof(DeviceInfo, pct_eq) == 120);
static_assert(offsetof(DeviceInfo, version) == 124 && offsetof(DeviceInfo, description) == 128);
static_assert(offsetof(DeviceInfo, is_vf) == 144);
// `version`: the generation above the stepping.
inline constexpr unsigned kGenerationShift = 4;

struct DeviceList {  // followed by the devices
  unsigned count;
};
inline constexpr std::size_t kDeviceListHead = 8;

struct Device {
  DeviceInfo info;
};
struct Lni {
  unsigned id;
};
struct Domain {
  unsigned vni;
  unsigned pid;
};
struct Portal {
  unsigned number;
};
struct PortalMap {};
struct WaitObject {};

struct Profile {
  unsigned vni_pcp;
  unsigned traffic_class, traffic_class_type;
  unsigned lcid;
};
static_assert(sizeof(Profile) == 16 && offsetof(Profile, lcid) == 12);

struct Mapping {
  std::uint64_t iova;
  std::uint64_t va;
  std::size_t length;
  std::uint8_t lac;
  int page_shift, huge_shift;
  unsigned id;
};
static_assert(sizeof(Mapping) == 40 && offsetof(Mapping, lac) == 24);
static_assert(offsetof(Mapping, id) == 36);
inline constexpr std::uint32_t kMapPin = 1U << 0U, kMapTranslated = 1U << 1U, kMapWrite = 1U << 2U,
                               kMapRead = 1U << 3U, kMapFault = 1U << 4U, kMapNoCache = 1U << 5U,
                               kMapUserAddress = 1U << 6U, kMapDevice = 1U << 9U,
                               kMapAllocateOnly = 1U << 11U, kMapPrefetch = 1U << 12U;

struct MapHints {
  int page_shift, huge_shift;
  int table_mode;
  bool table_mode_valid;
  int dma_buffer;
  unsigned long dma_buffer_offset;
  bool dma_buffer_valid;
};
static_assert(sizeof(MapHints) == 40 && offsetof(MapHints, dma_buffer) == 16);
static_assert(offsetof(MapHints, dma_buffer_valid) == 32);
inline constexpr int kTableModes = 4;  // modes that may be asked for

struct CommandQueue {
  unsigned size;
  std::uint64_t* write_pointer;  // start of the launch page
  std::byte* window_64;
  std::byte* window_128_aligned;
  std::byte* window_128;
  std::byte* commands;
  std::uint64_t read_unit;
  unsigned index;
  unsigned units;  // of 32 bytes
  std::uint64_t write_unit, rung_unit;
};
static_assert(sizeof(CommandQueue) == 80 && offsetof(CommandQueue, write_pointer) == 8);
static_assert(offsetof(CommandQueue, commands) == 40 && offsetof(CommandQueue, index) == 56);
static_assert(offsetof(CommandQueue, window_128) == 32 && offsetof(CommandQueue, units) == 60);
static_assert(offsetof(CommandQueue, rung_unit) == 72);

struct EventQueue {
  unsigned bytes;
  std::uint64_t state;
  std::uint64_t* state_address;
  std::uint64_t last_seconds, last_nanoseconds;
  unsigned read_offset, previous_offset;
  unsigned number;
  void* context;
  std::byte* events;
};
static_assert(sizeof(EventQueue) == 72 && offsetof(EventQueue, state_address) == 16);
static_assert(offsetof(EventQueue, read_offset) == 40 && offsetof(EventQueue, number) == 48);
static_assert(offsetof(EventQueue, context) == 56 && offsetof(EventQueue, events) == 64);
// `state`, the doorbell's word: the slot to be read next, and which of two buffers it is in.
inline constexpr std::uint64_t kReadingSecond = std::uint64_t{1} << 31U;

struct EventQueueAttributes {
  void* queue;
  std::size_t bytes;
  std::uint64_t flags;
  unsigned threshold_base, threshold_delta, threshold_count;
  unsigned combining_delay_ns;
  unsigned cpu_affinity;
  unsigned reserved_slots;
};
static_assert(sizeof(EventQueueAttributes) == 48);
static_assert(offsetof(EventQueueAttributes, threshold_base) == 24);
static_assert(offsetof(EventQueueAttributes, combining_delay_ns) == 36);
static_assert(offsetof(EventQueueAttributes, reserved_slots) == 44);
inline constexpr std::uint64_t kUserEvents = 1U << 0U, kPassthrough = 1U << 1U,
                               kInitiatorLong = 1U << 2U, kTargetLong = 1U << 3U,
                               kNoDropStatus = 1U << 4U, kTimestampEvents = 1U << 5U,
                               kNoCombining = 1U << 6U, kRetryHandlerEvents = 1U << 7U;

struct CommandQueueOptions {
  unsigned slots;
  unsigned update_policy;
  unsigned counter_pool;
  std::uint32_t flags;
  unsigned lcid;
  unsigned credit_threshold;
};
static_assert(sizeof(CommandQueueOptions) == 24 && offsetof(CommandQueueOptions, flags) == 12);
static_assert(offsetof(CommandQueueOptions, lcid) == 16);
inline constexpr std::uint32_t kUserQueue = 1U << 0U, kTransmitQueue = 1U << 1U,
                               kEthernetQueue = 1U << 2U, kTriggeredQueue = 1U << 3U;
inline constexpr unsigned kCreditThresholds = 4;

// One word of flags.
struct PortalOptions {
  std::uint64_t flags;
};
inline constexpr std::uint64_t kEventMatch = 1U << 0U, kClearRemoteOffset = 1U << 1U,
                               kFlowControl = 1U << 2U, kUseLongEvent = 1U << 3U,
                               kLossless = 1U << 4U, kRestrictedUnicast = 1U << 5U,
                               kLogical = 1U << 6U, kMatching = 1U << 7U, kSpaceCheck = 1U << 8U,
                               kAlign = 1U << 9U, kSoftwareState = 1U << 10U, kEthernet = 1U << 11U,
                               kSignalInvalid = 1U << 12U, kSignalUnderflow = 1U << 13U,
                               kSignalOverflow = 1U << 14U, kSignalInexact = 1U << 15U,
                               kMatchVni = 1U << 16U;

struct PortalStatus {
  std::uint32_t drop_count;
  std::uint8_t state;
  std::uint16_t reserved, allocated, maximum;
  std::uint64_t* unexpected_offsets;
  std::uint16_t unexpected_count;
};
static_assert(sizeof(PortalStatus) == 32 && offsetof(PortalStatus, reserved) == 6);
static_assert(offsetof(PortalStatus, maximum) == 10);

// X(member, result, arguments): cxil_<member>. Results are 0 or a negative errno. First the two
// without an object argument.
#define PLNET_LIBCXI_ENTRIES(X)           \
  X(get_device_list, int, (DeviceList**)) \
  X(open_device, int, (std::uint32_t, Device**))

#define PLNET_LIBCXI_FUNCTIONS(X)                                                                \
  X(free_device_list, void, (DeviceList*))                                                       \
  X(close_device, void, (Device*))                                                               \
  X(alloc_lni, int, (Device*, Lni**, unsigned))                                                  \
  X(destroy_lni, int, (Lni*))                                                                    \
  X(alloc_cp, int, (Lni*, unsigned, unsigned, unsigned, Profile**))                              \
  X(destroy_cp, int, (Profile*))                                                                 \
  X(alloc_domain, int, (Lni*, unsigned, unsigned, Domain**))                                     \
  X(destroy_domain, int, (Domain*))                                                              \
  X(map, int, (Lni*, void*, std::size_t, std::uint32_t, MapHints*, Mapping**))                   \
  X(unmap, int, (Mapping*))                                                                      \
  X(alloc_evtq, int,                                                                             \
    (Lni*, const Mapping*, const EventQueueAttributes*, WaitObject*, WaitObject*, EventQueue**)) \
  X(destroy_evtq, int, (EventQueue*))                                                            \
  X(evtq_adjust_reserved_fc, int, (EventQueue*, int))                                            \
  X(alloc_cmdq, int, (Lni*, EventQueue*, const CommandQueueOptions*, CommandQueue**))            \
  X(destroy_cmdq, int, (CommandQueue*))                                                          \
  X(alloc_pte, int, (Lni*, EventQueue*, PortalOptions*, Portal**))                               \
  X(destroy_pte, int, (Portal*))                                                                 \
  X(map_pte, int, (Portal*, Domain*, unsigned, bool, PortalMap**))                               \
  X(unmap_pte, int, (PortalMap*))                                                                \
  X(invalidate_pte_le, int, (Portal*, unsigned, unsigned))                                       \
  X(pte_status, int, (Portal*, PortalStatus*))                                                   \
  X(pte_transition_sm, int, (Portal*, unsigned))

// The functions that the driver calls.
struct Functions {
// NOLINTBEGIN(bugprone-macro-parentheses): declarators take none
#define PLNET_X(name, result, arguments) result(*name) arguments = nullptr;
  PLNET_LIBCXI_ENTRIES(PLNET_X)
  PLNET_LIBCXI_FUNCTIONS(PLNET_X)
#undef PLNET_X
  // NOLINTEND(bugprone-macro-parentheses)
};

}  // namespace plnet::cassini::libcxi
