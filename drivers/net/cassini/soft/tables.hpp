// SPDX-License-Identifier: BSD-3-Clause
// The objects that a NIC has allocated: each table with its limit. The parts that work on them
// (portals, initiator, command queues) share this and nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "drivers/net/cassini/soft/atomic.hpp"
#include "drivers/net/cassini/soft/codes.hpp"
#include "drivers/net/cassini/soft/event_queue.hpp"
#include "drivers/net/cassini/soft/lists.hpp"
#include "drivers/net/cassini/soft/memory.hpp"
#include "drivers/net/cassini/soft/message.hpp"
#include "drivers/net/cassini/soft/resources.hpp"
#include "drivers/net/cassini/soft/stats.hpp"

namespace plnet::cassini::soft {

// A communication profile: the meaning of an lcid.
struct ProfileEntry {
  bool allocated = false;
  std::uint16_t vni = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t type = 0;
  bool exclusive = false;
  unsigned references = 0;  // allocations of the same VNI, class and type share it
  unsigned queues = 0;      // that were made with it
};

// An LNI. Those of one service may share a resource group (RGID).
struct Group {
  Group(unsigned row, Random random) : service_row(row), space(random) {}
  unsigned service_row;  // row in the NIC's services
  unsigned resource_group = 0;
  unsigned sharing = 1;  // LNIs of its resource group, at most
  AddressSpace space;
  std::array<ProfileEntry, 16> profiles{};
  unsigned objects = 0;  // objects that must be destroyed first
};

struct DomainEntry {
  std::uint16_t group = 0;
  std::uint16_t vni = 0;
  std::uint16_t pid = 0;
  VniRange vnis;  // of messages that it receives
  unsigned maps = 0;
  std::array<std::uint16_t, kPidGranule> portals{};  // 0: not mapped
};

// Memory that a process stores into, in place of the doorbells of a counting event.
struct alignas(64) CountingDoorbell {
  static constexpr std::uint64_t kNotRung = ~std::uint64_t{0};  // of the two that reset
  struct alignas(64) Word {
    std::uint64_t value = 0;
  };
  Word success, failure;
  Word reset_success{kNotRung}, reset_failure{kNotRung};
};
static_assert(offsetof(CountingDoorbell, failure) == 64);
static_assert(offsetof(CountingDoorbell, reset_success) == 128);
static_assert(offsetof(CountingDoorbell, reset_failure) == 192);

struct CountingEvent {
  static constexpr std::uint64_t kSuccessMax = (std::uint64_t{1} << 48U) - 1;
  static constexpr std::uint64_t kFailureMax = (1U << 7U) - 1;
  // Shows the process both values, if it gave memory for them.
  void write_back() const;

  bool allocated = false;
  std::uint16_t group = 0;
  std::uint64_t success = 0;
  std::uint64_t failure = 0;
  std::byte* writeback = nullptr;
  std::unique_ptr<CountingDoorbell> doorbell;
};

// Freedom that the specification leaves to the device, drawn from a seed. All zero: the most
// predictable and fastest device.
struct Freedom {
  std::uint64_t seed = 0;
  double low_latency_rejected = 0;  // read from memory instead
  double link_failure = 0;          // APPEND fails for lack of space
  double torn_event = 0;            // all of it is visible before its last byte
  double torn_event_settles = 0.5;  // in each step
  double event_after_answer = 0;    // the target's event comes after the initiator's
  std::uint64_t delay_ns_max = 0;   // of a message, of its event, of its answer
  double acknowledgement_lost = 0;  // executed, but the initiator gets a failure
  double command_pause = 0;         // a step skips all command queues
  [[nodiscard]] bool any() const {
    return low_latency_rejected > 0 || link_failure > 0 || torn_event > 0 ||
           event_after_answer > 0 || delay_ns_max > 0 || acknowledgement_lost > 0 ||
           command_pause > 0;
  }
};

// Counters keep their cache lines; each NIC has one of these.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Tables {
  NicStats stats;

  Tables(const Limits& wanted, NicAddress own, const Freedom& chosen,
         std::span<const Service> services)
      : limits(wanted),
        address(own),
        freedom(chosen),
        random(chosen.seed ^ (std::uint64_t{own} << 32)),
        groups(std::size_t{wanted.resource_groups} * kAddressContextsPerGroup),
        eqs(wanted.event_queues),
        portals(wanted.portals),
        counters(wanted.counters),
        pool(wanted.list_entries),
        resources(wanted, services) {}

  Limits limits;
  NicAddress address;
  Freedom freedom;
  Random random;
  std::uint64_t now_ns = 0;
  bool link_up = true;
  bool retry_handler = true;  // reported in the NIC's description
  unsigned min_free_shift = 0;
  // An AtomicOperation that the target hands to the CPU as a fetching addition (cass_ixe.c:
  // cass_ixe_set_amo_remap_to_pcie_fadd()); -1: none.
  int atomic_remap = -1;
  // Refuse also what hardware lets pass, and what a process only does by mistake: mappings end with
  // the last byte instead of the last page, unrestricted PUTs go to the lower half of the portal
  // indices and GETs to the upper one.
  bool strict = true;

  std::vector<std::unique_ptr<Group>> groups;
  std::vector<std::unique_ptr<EventQueue>> eqs;  // 0 is none
  std::vector<std::uint16_t> eq_group = std::vector<std::uint16_t>(2048);
  std::vector<PortalTable> portals;
  std::vector<CountingEvent> counters;
  std::unordered_map<std::uint32_t, std::unique_ptr<DomainEntry>> domains;  // by VNI and PID
  std::unordered_map<std::uint32_t, std::uint16_t> reserved_pids;  // by VNI and PID: the group
  EntryPool pool;
  Resources resources;

  [[nodiscard]] static std::uint32_t domain_key(unsigned vni, unsigned pid) {
    return vni << 16 | pid;
  }
  [[nodiscard]] static unsigned vni_of(std::uint32_t key) { return key >> 16; }
  [[nodiscard]] static unsigned pid_of(std::uint32_t key) { return key & 0xffffU; }
  // Nothing: no domain receives messages to this VNI and PID.
  [[nodiscard]] DomainEntry* domain(unsigned vni, unsigned pid) const {
    if (const auto own = domains.find(domain_key(vni, pid)); own != domains.end())
      return own->second.get();
    for (const auto& [key, one] : domains)
      if (pid_of(key) == pid && one->vnis.has(vni)) return one.get();
    return nullptr;
  }
  [[nodiscard]] EventQueue* eq(unsigned number) const {
    return number < eqs.size() ? eqs[number].get() : nullptr;
  }
  [[nodiscard]] Group* group(unsigned number) const {
    return number < groups.size() ? groups[number].get() : nullptr;
  }
  // kNoEntry: the NIC or the portal's service has none left.
  [[nodiscard]] std::uint32_t take_entry(const PortalTable& portal) {
    if (!resources.take(portal.service, Resource::kListEntries)) return kNoEntry;
    return pool.take();
  }
  void give_entry(const PortalTable& portal, std::uint32_t index) {
    pool.give_back(index);
    resources.give(portal.service, Resource::kListEntries);
  }
  // An atomic operation that was checked, on memory of this NIC.
  void execute(const AtomicRequest& request, bool fetches, std::byte* value, AtomicValue& before) {
    stats.add(NicStats::Id::kAtomicsDone);
    if (!is_for_cpu(request, atomic_remap)) return run_atomic(request, value, before);
    stats.add(NicStats::Id::kCpuAtomics);
    if (fetches) stats.add(NicStats::Id::kCpuFetchingAtomics);
    run_cpu_addition(request, value, before);
  }
  void write(EventQueue& queue, EventBuffer& event, unsigned size) {
    if (freedom.torn_event > 0) queue.set_tearing(random.chance(freedom.torn_event));
    queue.write(event, size, now_ns);
  }
  [[nodiscard]] CountingEvent* counter(unsigned number) {
    const bool there = number != 0 && number < counters.size() && counters[number].allocated;
    return there ? &counters[number] : nullptr;
  }
  void count(unsigned ct, bool ok, std::uint64_t amount) {
    CountingEvent* const one = counter(ct);
    if (one == nullptr) return;
    if (ok) {
      one->success = (one->success + amount) & CountingEvent::kSuccessMax;
    } else {
      add_failures(*one, 1);
    }
  }
  // The device writes a failure back at once.
  static void add_failures(CountingEvent& counter, std::uint64_t amount) {
    counter.failure = (counter.failure + amount) & CountingEvent::kFailureMax;
    counter.write_back();
  }
};

}  // namespace plnet::cassini::soft
