// SPDX-License-Identifier: BSD-3-Clause
// The part of libcxi's interface that the driver does not use: structures of services, counting
// events and hardware, and the functions. Measured like libcxi_abi.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>

#include "drivers/net/cassini/libcxi_abi.hpp"

namespace plnet::cassini::libcxi {

// A service limits portals, transmit, target and event queues, counters, list entries, triggered
// entries and address contexts, in this order.
inline constexpr unsigned kResourceKinds = 8;
inline constexpr unsigned kServiceClasses = 5;
inline constexpr unsigned kServiceVnis = 4;
inline constexpr unsigned kServiceMembers = 2;

struct ResourceLimits {
  std::uint16_t most;
  std::uint16_t kept;
};
struct ServiceMember {
  unsigned id;
  unsigned kind;
};
inline constexpr unsigned kNoMember = 0, kUserMember = 1, kGroupMember = 2, kMemberKinds = 4;
struct Service {
  std::uint8_t flags;
  std::uint8_t vni_count;
  std::uint16_t vnis[kServiceVnis];
  bool traffic_classes[kServiceClasses];
  ServiceMember members[kServiceMembers];
  ResourceLimits limits[kResourceKinds];
  unsigned id;
};
static_assert(sizeof(Service) == 68 && offsetof(Service, traffic_classes) == 10);
static_assert(offsetof(Service, members) == 16 && offsetof(Service, limits) == 32);
static_assert(offsetof(Service, id) == 64);
inline constexpr std::uint8_t kRestrictedMembers = 1U << 0U, kRestrictedVnis = 1U << 1U,
                              kRestrictedTrafficClasses = 1U << 2U, kResourceLimits = 1U << 3U,
                              kServiceEnabled = 1U << 4U, kSystemService = 1U << 5U;
inline constexpr unsigned kCounterPoolShift = 6;  // two bits

struct ServiceList {  // the services follow
  unsigned count;
};
inline constexpr std::size_t kServiceListHead = 4;

struct ResourceUse {
  unsigned service;
  unsigned triggered_pool;
  std::uint16_t in_use[kResourceKinds];
};
static_assert(sizeof(ResourceUse) == 24 && offsetof(ResourceUse, in_use) == 8);

struct ResourceUseList {  // the uses follow
  unsigned count;
};
inline constexpr std::size_t kResourceUseListHead = 4;

// The reason why a service was not made.
struct ServiceFailure {
  std::uint16_t available[kResourceKinds];
  bool no_entry_pools, no_triggered_pools, no_counter_pools;
};
static_assert(sizeof(ServiceFailure) == 20 && offsetof(ServiceFailure, no_entry_pools) == 16);

struct CommandQueueBuffer {
  CommandQueueOptions options;
  void* buffer;
  bool is_host_memory;
  int dma_buffer;
  unsigned long dma_buffer_offset;
};
static_assert(sizeof(CommandQueueBuffer) == 48 && offsetof(CommandQueueBuffer, buffer) == 24);
static_assert(offsetof(CommandQueueBuffer, dma_buffer) == 36);

struct CountingEvent {
  std::uint64_t* doorbell;
  unsigned number;
  void* writeback;
};
static_assert(sizeof(CountingEvent) == 24 && offsetof(CountingEvent, writeback) == 16);

inline constexpr unsigned kCounterIds = 2528;    // a counter's number is below
inline constexpr unsigned kCountersRead = 1426;  // at most, by one call

struct SbusRequest {
  std::uint32_t data;
  std::uint8_t data_address, receiver, command;
  unsigned delay_us, timeout_ms, poll_interval_ms;
};
static_assert(sizeof(SbusRequest) == 20 && offsetof(SbusRequest, delay_us) == 8);

// Not called by the driver. The last ones are in the version script and in no header any more.
#define PLNET_LIBCXI_FURTHER(X)                                                                 \
  X(get_svc_list, int, (Device*, ServiceList**))                                                \
  X(free_svc_list, void, (ServiceList*))                                                        \
  X(get_svc, int, (Device*, unsigned, Service*))                                                \
  X(get_svc_rsrc_use, int, (Device*, unsigned, ResourceUse*))                                   \
  X(get_svc_rsrc_list, int, (Device*, ResourceUseList**))                                       \
  X(free_svc_rsrc_list, void, (ResourceUseList*))                                               \
  X(alloc_svc, int, (Device*, const Service*, ServiceFailure*))                                 \
  X(destroy_svc, int, (Device*, unsigned))                                                      \
  X(update_svc, int, (Device*, const Service*, ServiceFailure*))                                \
  X(svc_enable, int, (Device*, unsigned, bool))                                                 \
  X(set_svc_lpr, int, (Device*, unsigned, unsigned))                                            \
  X(get_svc_lpr, int, (Device*, unsigned))                                                      \
  X(svc_set_exclusive_cp, int, (Device*, unsigned, bool))                                       \
  X(svc_get_exclusive_cp, int, (Device*, unsigned, bool*))                                      \
  X(svc_set_vni_range, int, (Device*, unsigned, std::uint16_t, std::uint16_t))                  \
  X(svc_get_vni_range, int, (Device*, unsigned, std::uint16_t*, std::uint16_t*))                \
  X(svc_set_netns, int, (Device*, unsigned, unsigned))                                          \
  X(svc_get_netns, int, (Device*, unsigned, unsigned*))                                         \
  X(alloc_trig_cp, int, (Lni*, unsigned, unsigned, unsigned, unsigned, Profile**))              \
  X(modify_cp, int, (Lni*, Profile*, unsigned))                                                 \
  X(reserve_domain, int, (Lni*, unsigned, unsigned, unsigned))                                  \
  X(alloc_buf_cmdq, int, (Lni*, EventQueue*, const CommandQueueBuffer*, CommandQueue**))        \
  X(cmdq_ack_counter, int, (CommandQueue*, unsigned*))                                          \
  X(alloc_wait_obj, int, (Lni*, WaitObject**))                                                  \
  X(destroy_wait_obj, int, (WaitObject*))                                                       \
  X(get_wait_obj_fd, int, (WaitObject*))                                                        \
  X(clear_wait_obj, void, (WaitObject*))                                                        \
  X(evtq_resize, int, (EventQueue*, void*, std::size_t, Mapping*))                              \
  X(evtq_resize_complete, int, (EventQueue*))                                                   \
  X(update_md, int, (Mapping*, void*, std::size_t, std::uint32_t))                              \
  X(page_size, std::size_t, (void*))                                                            \
  X(is_copy_on_fork, bool, ())                                                                  \
  X(alloc_ct, int, (Lni*, void*, CountingEvent**))                                              \
  X(ct_wb_update, int, (CountingEvent*, void*))                                                 \
  X(destroy_ct, int, (CountingEvent*))                                                          \
  X(read_cntr, int, (Device*, unsigned, std::uint64_t*, timespec*))                             \
  X(read_n_cntrs, int, (Device*, unsigned, const unsigned*, std::uint64_t*, timespec*))         \
  X(read_all_cntrs, int, (Device*, std::uint64_t*, timespec*))                                  \
  X(inbound_wait, int, (Device*))                                                               \
  X(get_amo_remap_to_pcie_fadd, int, (Device*, int*))                                           \
  X(map_csr, int, (Device*))                                                                    \
  X(read_csr, int, (Device*, unsigned, void*, std::size_t))                                     \
  X(write_csr, int, (Device*, unsigned, const void*, std::size_t))                              \
  X(write8_csr, int, (Device*, unsigned, unsigned, const void*, std::size_t))                   \
  X(sbus_op, int, (Device*, const SbusRequest*, std::uint32_t*, std::uint8_t*, std::uint8_t*))  \
  X(sbus_op_compat, int,                                                                        \
    (Device*, int, std::uint32_t, std::uint8_t, std::uint8_t, std::uint8_t, std::uint32_t*,     \
     std::uint8_t*, std::uint8_t*, int, unsigned))                                              \
  X(sbus_op_reset, int, (Device*))                                                              \
  X(sbus_op_reset_compat, int, (Device*, int))                                                  \
  X(serdes_op, int,                                                                             \
    (Device*, int, std::uint64_t, std::uint64_t, std::uint64_t, std::uint16_t*, int, unsigned)) \
  X(read_n_cntrs_with_hdr, int, ())                                                             \
  X(get_telemetry, int, ())                                                                     \
  X(reserve_cntr_pool_id, int, ())                                                              \
  X(release_cntr_pool_id, int, ())                                                              \
  X(get_telemetry_refresh_interval, int, ())                                                    \
  X(set_telemetry_refresh_interval, int, ())

}  // namespace plnet::cassini::libcxi
