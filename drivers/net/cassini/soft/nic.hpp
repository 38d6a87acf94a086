// SPDX-License-Identifier: BSD-3-Clause
// One software NIC: allocates the same objects as libcxi, with its limits and error numbers, and
// does bounded work in every step. Time is handed in; there is no clock and no thread here. The
// Fabric ensures that allocation and steps do not run at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "drivers/net/cassini/soft/command_queue.hpp"
#include "drivers/net/cassini/soft/host_files.hpp"
#include "drivers/net/cassini/soft/initiator.hpp"
#include "drivers/net/cassini/soft/made.hpp"
#include "drivers/net/cassini/soft/pid_owners.hpp"
#include "drivers/net/cassini/soft/portals.hpp"
#include "drivers/net/cassini/soft/services.hpp"
#include "drivers/net/cassini/soft/tables.hpp"
#include "lib/base/relaxed.hpp"

namespace plnet::cassini::soft {

struct NicOptions {
  NicAddress address = 0;
  Limits limits;
  Freedom freedom;
  std::vector<Service> services{Service{.id = kDefaultService, .vnis = {}}};
  unsigned version = 2;
  unsigned min_free_shift = 0;
  // A profile of another class is refused (cass_tc.c: cass_tc_find()).
  unsigned traffic_classes = kAllTrafficClasses;
  bool strict = true;  // see Tables
};

struct MappingEntry {
  bool used = false;
  std::uint16_t group = 0;
  std::uint8_t lac = 0;
  unsigned event_queues = 0;  // event queues in this mapping
  std::uint64_t iova = 0;
  std::byte* va = nullptr;
  std::size_t length = 0;
  std::uint32_t flags = 0;
};

// Which LCIDs a profile may have: triggered commands use number 0.
enum class ProfileKind : std::uint8_t { kTriggered, kNotTriggered, kAny };

struct ProfileRequest {
  unsigned type = 0;  // of traffic class
  ProfileKind kind = ProfileKind::kAny;
  Caller caller;
};

struct QueueRequest {
  unsigned slots = 0;
  bool transmit = false;
  bool triggered = false;
  unsigned lcid = 0;
  unsigned update_policy = 0;
  unsigned error_eq = 0;        // 0: none
  std::byte* memory = nullptr;  // of the process; null: the NIC's own
};

struct PortalRequest {
  bool matching = false;
  bool event_match = false;
  bool flow_control = false;
  bool use_long_event = false;
  bool clear_remote_offset = false;
  bool hybrid = false;  // en_sw_hw_st_chng
  bool space_check = false;
};

class Nic {
 public:
  explicit Nic(const NicOptions& options);
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  // Objects are named by small numbers: those that commands carry, or rows of a table.
  [[nodiscard]] Made<unsigned> make_group(unsigned service, const Caller& caller = {});
  [[nodiscard]] Made<void> drop_group(unsigned group);
  [[nodiscard]] Made<unsigned> make_profile(unsigned group, unsigned vni, unsigned traffic_class,
                                            const ProfileRequest& request = {});
  [[nodiscard]] Made<void> drop_profile(unsigned group, unsigned lcid);
  // Another VNI for an exclusive profile.
  [[nodiscard]] Made<void> change_profile(unsigned group, unsigned lcid, unsigned vni,
                                          const Caller& caller = {});
  struct DomainId {
    std::uint32_t key = 0;  // VNI and PID
    unsigned pid = 0;
  };
  [[nodiscard]] Made<DomainId> make_domain(unsigned group, unsigned vni, unsigned pid,
                                           const Caller& caller = {});
  // So many PIDs in a row that no other group may use. The first one; a domain that goes gives its
  // PID back, and so does the end of the group.
  [[nodiscard]] Made<unsigned> reserve_pids(unsigned group, unsigned vni, unsigned pid,
                                            unsigned count, const Caller& caller = {});
  [[nodiscard]] Made<void> drop_domain(std::uint32_t key);
  [[nodiscard]] Made<unsigned> map(unsigned group, void* va, std::size_t length,
                                   const MapRequest& request);
  [[nodiscard]] Made<unsigned> map(unsigned group, void* va, std::size_t length, bool read,
                                   bool write) {
    return map(group, va, length, {.read = read, .write = write});
  }
  [[nodiscard]] Made<void> unmap(unsigned mapping);
  // The NIC need not ask for these pages of a mapping on demand, which has them.
  void know_pages(unsigned mapping, std::uint64_t offset, std::uint64_t length);
  [[nodiscard]] const MappingEntry& mapping(unsigned number) const { return mappings_[number]; }
  // kNoMapping: the memory is not translated.
  static constexpr unsigned kNoMapping = ~0U;
  [[nodiscard]] Made<unsigned> make_event_queue(unsigned group, unsigned mapping,
                                                const EventQueueSetup& setup);
  [[nodiscard]] Made<void> drop_event_queue(unsigned number);
  // Events after the EQ_SWITCH go to the other buffer; the first is released on completion.
  [[nodiscard]] Made<void> resize_event_queue(unsigned number, unsigned mapping, std::byte* memory,
                                              std::size_t bytes);
  [[nodiscard]] Made<void> complete_resize(unsigned number);
  // Returns the number of reserved slots.
  [[nodiscard]] Made<unsigned> adjust_reserved(unsigned number, int slots);
  [[nodiscard]] EventQueue* event_queue(unsigned number) { return tables_.eq(number); }
  // As the driver rounds: whole pages, a power of two of them (cass_cq.c: get_order()). Not more
  // than kQueueSlotsMax.
  [[nodiscard]] static unsigned slots_for(unsigned wanted);
  [[nodiscard]] Made<unsigned> make_command_queue(unsigned group, const QueueRequest& request);
  [[nodiscard]] Made<void> drop_command_queue(unsigned index);
  [[nodiscard]] CommandQueue* command_queue(unsigned index);
  [[nodiscard]] Made<unsigned> make_portal(unsigned group, unsigned eq,
                                           const PortalRequest& request);
  [[nodiscard]] Made<void> drop_portal(unsigned number);
  [[nodiscard]] Made<void> map_portal(unsigned number, std::uint32_t domain, unsigned index);
  [[nodiscard]] Made<void> unmap_portal(std::uint32_t domain, unsigned index);
  [[nodiscard]] Made<void> invalidate(unsigned portal, unsigned buffer_id, unsigned list);
  [[nodiscard]] Made<void> to_software_managed(unsigned portal, unsigned drop_count);
  [[nodiscard]] Made<unsigned> make_counter(unsigned group, void* writeback);
  [[nodiscard]] Made<void> drop_counter(unsigned number);
  [[nodiscard]] Made<void> set_writeback(unsigned number, void* writeback);
  [[nodiscard]] CountingDoorbell* counter_doorbell(unsigned number);
  // Two stores to the doorbell of a counter between two steps count as one. Any thread may ask.
  [[nodiscard]] bool must_step_often() const { return has_doorbells_.get(); }

  // Holds the operations that are under way to or from this NIC outside of it.
  class Carrier {
   public:
    virtual ~Carrier() = default;
    // Cuts each delivery through this entry: from now on it accesses no memory.
    virtual void cut(Nic& nic, unsigned portal, unsigned buffer_id, ListKind list) = 0;
  };
  void attach(Transport* transport, Carrier* carrier);
  // Other processes share this NIC; `owners` outlives it.
  void set_pid_owners(PidOwners* owners) { pid_owners_ = owners; }
  // Other processes share this NIC, its services and limits; before any use. `with` outlives it.
  void share(Sharing* with) {
    sharing_ = with;
    services_.share(with);
  }
  [[nodiscard]] Sharing* sharing() const { return sharing_; }
  // Files of the host that belong to this NIC; `files` outlives it.
  void set_host_files(HostFiles* files) { host_files_ = files; }
  void show_resource_groups();
  // The operation of atomic_remap (tables.hpp) that the host has chosen now.
  int read_atomic_remap();
  [[nodiscard]] Services& services() { return services_; }
  [[nodiscard]] const Services& services() const { return services_; }
  [[nodiscard]] const Resources& resources() const { return tables_.resources; }

  // Looks at each queue once and executes a bounded number of commands. Returns their number. If
  // the transport lacked room, the next step begins with another queue.
  unsigned step(std::uint64_t now_ns);

  // For the transport.
  [[nodiscard]] Portals& portals() { return portals_; }
  void completed(const Message& message, const Completion& completion, const Outcome& outcome);
  [[nodiscard]] Translated local_memory(const LocalBuffer& local, Operation operation,
                                        std::uint64_t offset, std::uint64_t length);

  [[nodiscard]] Tables& tables() { return tables_; }
  [[nodiscard]] const Tables& tables() const { return tables_; }
  [[nodiscard]] NicAddress address() const { return tables_.address; }
  void set_address(NicAddress address) { tables_.address = address; }
  [[nodiscard]] unsigned version() const { return version_; }
  [[nodiscard]] CounterView counters() const { return tables_.stats.view(); }

 private:
  unsigned run(CommandQueue& queue, bool& waits);
  Initiator::Done run_one(CommandQueue& queue, const CommandView& command);
  void report_failure(CommandQueue& queue);
  void settle_events();
  void poll_doorbells();
  [[nodiscard]] Made<const Service*> service_for(unsigned group, unsigned vni,
                                                 const Caller& caller);
  [[nodiscard]] std::optional<unsigned> resource_group_for(unsigned service_row,
                                                           unsigned sharing) const;
  [[nodiscard]] bool pid_is_free(unsigned group, unsigned vni, unsigned pid) const;
  [[nodiscard]] bool claim_pids(unsigned vni, unsigned first, unsigned count);
  [[nodiscard]] Group* group_of(unsigned number) { return tables_.group(number); }

  Tables tables_;
  Portals portals_;
  Initiator initiator_;
  Carrier* carrier_ = nullptr;
  PidOwners* pid_owners_ = nullptr;
  Sharing* sharing_ = nullptr;
  HostFiles* host_files_ = nullptr;
  Services services_;
  unsigned version_;
  unsigned traffic_classes_;
  std::vector<MappingEntry> mappings_;
  std::vector<std::unique_ptr<CommandQueue>> queues_;  // by hardware index
  std::vector<CommandQueue*> active_;
  std::vector<unsigned> doorbells_;  // counting events that have one
  Relaxed<bool> has_doorbells_;
  std::size_t first_ = 0;  // of them: the one whose turn it is
  struct EqHome {
    unsigned mapping = 0;
    unsigned before = 0;  // the earlier mapping during a resize
    bool resizing = false;
  };
  [[nodiscard]] bool queue_fits(unsigned group, unsigned mapping, const std::byte* memory,
                                std::size_t bytes) const;
  [[nodiscard]] bool take(unsigned group, Resource what) {
    services_.refresh();
    return tables_.resources.take(group_of(group)->service_row, what);
  }
  void give(unsigned group, Resource what) {
    tables_.resources.give(group_of(group)->service_row, what);
  }
  void leave(unsigned mapping) {
    if (mapping != kNoMapping) --mappings_[mapping].event_queues;
  }
  std::vector<EqHome> eq_home_;          // of each event queue
  std::vector<EventQueue*> waited_for_;  // event queues that wake their reader
  std::uint32_t generation_ = 0;
};

}  // namespace plnet::cassini::soft
