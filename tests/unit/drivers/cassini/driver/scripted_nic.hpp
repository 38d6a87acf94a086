// SPDX-License-Identifier: BSD-3-Clause
// A NIC without behaviour of its own: it creates objects, shows the commands whose doorbell was
// rung, and writes the events that a test asks for. It refuses invalid requests of a backend.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/cassini/endpoint.hpp"
#include "tests/unit/drivers/cassini/driver/queue_memory.hpp"
#include "tests/unit/drivers/cassini/driver/word_log.hpp"

namespace plnet::cassini {

using CommandWords = std::array<std::uint64_t, 8>;

class ScriptedNic final : public Backend {
 public:
  struct Events {
    EventQueueMemory memory;
    std::size_t write = 64;
    std::uint64_t software_state = 0;
  };
  struct Commands {
    Commands(unsigned slots, bool is_transmit) : memory(slots), transmit(is_transmit) {}
    CommandMemory memory;
    CommandQueueHandle handle;
    unsigned read = kFirstUnit;
    bool transmit;
  };

  Allocated<std::vector<DeviceInfo>> devices() override { return std::vector{info}; }
  Allocated<DeviceHandle> open_device(unsigned id) override {
    if (id != 0) return std::unexpected(Errno{ENODEV});
    return make<DeviceHandle>("device");
  }
  void close_device(DeviceHandle device) override { (void)drop("device", device.value); }
  Allocated<DeviceInfo> device_info(DeviceHandle /*device*/) override {
    if (failing == "device_info") return std::unexpected(Errno{EIO});
    return info;
  }
  Allocated<LinkSeen> link(DeviceHandle /*device*/) override {
    if (failing == "link") return std::unexpected(Errno{EIO});
    return LinkSeen{.up = info.link_up, .nic_address = info.nic_address};
  }
  Allocated<LniHandle> alloc_lni(DeviceHandle /*device*/, unsigned /*service*/) override {
    return make<LniHandle>("lni");
  }
  Allocated<void> destroy_lni(LniHandle lni) override { return drop("lni", lni.value); }
  Allocated<Profile> alloc_profile(LniHandle /*lni*/, unsigned /*vni*/, TrafficClass) override {
    const auto handle = make<ProfileHandle>("profile");
    if (!handle) return std::unexpected(handle.error());
    return Profile{.handle = *handle, .lcid = 3};
  }
  Allocated<void> destroy_profile(ProfileHandle profile) override {
    return drop("profile", profile.value);
  }
  Allocated<Domain> alloc_domain(LniHandle /*lni*/, unsigned /*vni*/, unsigned pid) override {
    const auto handle = make<DomainHandle>("domain");
    if (!handle) return std::unexpected(handle.error());
    return Domain{.handle = *handle, .pid = pid};
  }
  Allocated<void> destroy_domain(DomainHandle domain) override {
    return drop("domain", domain.value);
  }
  Allocated<Mapping> map(LniHandle /*lni*/, void* va, std::size_t length,
                         std::uint32_t /*flags*/) override {
    const auto handle = make<MappingHandle>("mapping");
    if (!handle) return std::unexpected(handle.error());
    // The IOVA never equals the address, so that a mix-up is visible.
    return Mapping{.handle = *handle,
                   .iova = 0x10'0000'0000ULL * handle->value,
                   .va = reinterpret_cast<std::uintptr_t>(va),
                   .length = length,
                   .lac = static_cast<unsigned>(handle->value % 8)};
  }
  Allocated<void> unmap(MappingHandle mapping) override { return drop("mapping", mapping.value); }
  Allocated<EventQueueMemory> alloc_event_queue(LniHandle /*lni*/, MappingHandle /*mapping*/,
                                                const EventQueueOptions& options) override {
    const auto handle = make<EventQueueHandle>("event_queue");
    if (!handle) return std::unexpected(handle.error());
    for (std::size_t i = 0; i < options.bytes; ++i)
      EXPECT_EQ(options.queue[i], std::byte{0});
    Events& queue = event_queues[++event_queue_number];
    queue.memory = {.handle = *handle,
                    .number = event_queue_number,
                    .queue = options.queue,
                    .bytes = options.bytes,
                    .software_state = &queue.software_state};
    return queue.memory;
  }
  Allocated<void> destroy_event_queue(EventQueueHandle queue) override {
    if (failing == "destroy_event_queue") return std::unexpected(Errno{EBUSY});
    return drop("event_queue", queue.value);
  }
  Allocated<void> adjust_reserved(EventQueueHandle /*queue*/, int /*slots*/) override { return {}; }
  Allocated<CommandQueueMemory> alloc_command_queue(LniHandle /*lni*/, EventQueueHandle errors,
                                                    const CommandQueueOptions& options) override {
    const auto handle = make<CommandQueueHandle>("command_queue");
    if (!handle) return std::unexpected(handle.error());
    auto& queue = options.transmit ? transmit : target;
    for (const auto& [number, events] : event_queues) {
      if (events.memory.handle.value == errors.value)
        (options.transmit ? transmit_queue_ : receive_queue_) = number;
    }
    queue = std::make_unique<Commands>(options.slots, options.transmit);
    queue->handle = *handle;
    CommandQueueMemory memory = queue->memory.queue();
    memory.handle = *handle;
    memory.hardware_index = options.transmit ? 5 : 1029;
    return memory;
  }
  Allocated<void> destroy_command_queue(CommandQueueHandle queue) override {
    // Its memory is freed with it, so a sanitizer detects later accesses.
    for (auto* const each : {&transmit, &target})
      if (*each && (*each)->handle.value == queue.value) each->reset();
    return drop("command_queue", queue.value);
  }
  Allocated<Portal> alloc_portal(LniHandle /*lni*/, EventQueueHandle /*events*/,
                                 const PortalOptions& options) override {
    const auto handle = make<PortalHandle>("portal");
    if (!handle) return std::unexpected(handle.error());
    EXPECT_TRUE(options.matching);
    return Portal{.handle = *handle, .number = 12};
  }
  Allocated<void> destroy_portal(PortalHandle portal) override {
    if (failing == "destroy_portal") return std::unexpected(Errno{EBUSY});
    return drop("portal", portal.value);
  }
  Allocated<PortalMapHandle> map_portal(PortalHandle /*portal*/, DomainHandle /*domain*/,
                                        unsigned index) override {
    const auto handle = make<PortalMapHandle>("portal_map");
    if (handle) indices.insert(index);
    return handle;
  }
  Allocated<void> unmap_portal(PortalMapHandle map) override {
    if (failing == "unmap_portal") return std::unexpected(Errno{EBUSY});
    return drop("portal_map", map.value);
  }
  Allocated<void> invalidate_entry(PortalHandle /*portal*/, unsigned buffer_id,
                                   unsigned /*list*/) override {
    if (failing == "invalidate") return std::unexpected(Errno{EIO});
    invalidated.push_back(buffer_id);
    return {};
  }
  Allocated<PortalStatus> portal_status(PortalHandle /*portal*/) override {
    return PortalStatus{.drop_count = drops};
  }
  Allocated<void> transition_software_managed(PortalHandle /*portal*/, unsigned) override {
    return {};
  }

  // The 64-byte commands whose doorbell was rung and that were not taken yet, without NOOPs.
  std::vector<CommandWords> take(Commands& queue) {
    std::vector<CommandWords> taken;
    const unsigned until = queue.memory.doorbell() == 0 ? kFirstUnit : queue.memory.doorbell() * 2;
    while (queue.read != until) {
      CommandWords words{};
      std::memcpy(words.data(), queue.memory.unit(queue.read), 64);
      taken.push_back(words);
      queue.read += 2;
      if (queue.read == queue.memory.words.size() / 4) queue.read = kFirstUnit;
    }
    queue.memory.set_read(queue.read / 2);
    return taken;
  }
  std::vector<DmaCommand> sent() {
    std::vector<DmaCommand> commands;
    for (const CommandWords& words : take(*transmit))
      commands.push_back(DmaCommand::decode(words));
    return commands;
  }
  std::vector<TargetCommand> targets() {
    std::vector<TargetCommand> commands;
    for (const CommandWords& words : take(*target))
      commands.push_back(TargetCommand::decode(words));
    return commands;
  }

  template <class Layout>
  void event(unsigned queue, Layout event, EventType type, ReturnCode code = ReturnCode::kOk) {
    Events& to = event_queues.at(queue);
    event.type = static_cast<std::uint8_t>(type);
    event.size = Layout::kBytes == 16 ? 1 : (Layout::kBytes == 32 ? 2 : 3);
    event.return_code = static_cast<std::uint8_t>(code);
    while (to.write % Layout::kBytes != 0)
      put(to,
          PlainEvent{
              .size = 1, .type = static_cast<std::uint8_t>(EventType::kNull), .return_code = 1});
    put(to, event);
  }
  void answer(const DmaCommand& command, ReturnCode code = ReturnCode::kOk) {
    const bool get = opcode_of(command.command) == opcode::kGet;
    event(command.eq,
          InitiatorEvent{.user_ptr = command.user_ptr,
                         .mlength = code == ReturnCode::kOk ? command.request_len : 0},
          get ? EventType::kReply : EventType::kAck, code);
  }
  [[nodiscard]] unsigned receive_queue() const { return receive_queue_; }
  [[nodiscard]] unsigned transmit_queue() const { return transmit_queue_; }
  void portal_state(PortalState state) {
    event(receive_queue(),
          StateChangeEvent{.ptlte_state = static_cast<std::uint8_t>(state), .ptlte_index = 12},
          EventType::kStateChange);
  }

  DeviceInfo info{.name = "cxi0", .nic_address = 0x1a2, .retry_handler = true, .link_up = true};
  std::string failing;  // the call that fails
  std::map<std::string, unsigned> alive;
  std::vector<unsigned> invalidated;
  std::set<unsigned> indices;
  std::uint32_t drops = 7;
  std::map<unsigned, Events> event_queues;
  unsigned event_queue_number = 0;
  std::unique_ptr<Commands> transmit;
  std::unique_ptr<Commands> target;

 private:
  template <class Layout>
  static void put(Events& to, const Layout& event) {
    store_words({to.memory.queue + to.write, Layout::kBytes}, event.encode());
    to.write += Layout::kBytes;
    if (to.write == to.memory.bytes) to.write = 64;
  }
  template <class Handle>
  Allocated<Handle> make(const char* what) {
    if (failing == what) return std::unexpected(Errno{ENOSPC});
    ++alive[what];
    const Handle handle{.value = ++last_};
    handles_[handle.value] = what;
    return handle;
  }
  Allocated<void> drop(const std::string& what, std::uintptr_t value) {
    EXPECT_EQ(handles_[value], what) << "given back what was not made, or twice";
    handles_.erase(value);
    EXPECT_GT(alive[what], 0U);
    // Objects that depend on it must be destroyed first.
    const std::map<std::string, std::vector<std::string>> hangs_on{
        {"device", {"lni"}},
        {"lni", {"profile", "domain", "mapping", "event_queue", "command_queue", "portal"}},
        {"domain", {"portal_map"}},
        {"portal", {"portal_map"}}};
    if (hangs_on.contains(what)) {
      for (const std::string& other : hangs_on.at(what))
        EXPECT_EQ(alive[other], 0U) << what << " goes before " << other;
    }
    --alive[what];
    return {};
  }

  unsigned receive_queue_ = 0, transmit_queue_ = 0;
  std::uintptr_t last_ = 0;
  std::map<std::uintptr_t, std::string> handles_;
};

class Upper final : public kfilnd::EndpointEvents {
 public:
  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override {
    log.insert(log.end(), burst.begin(), burst.end());
  }
  void on_link(bool usable, std::uint64_t nic_address) override {
    links.emplace_back(usable, nic_address);
  }
  std::deque<kfilnd::FabricCompletion> log;
  std::vector<std::pair<bool, std::uint64_t>> links;
};

class EndpointTest : public testing::Test {
 public:
  static constexpr std::size_t kArenaBytes = 1U << 20U;
  EndpointTest() : arena_bytes(kArenaBytes), foreign_bytes(kArenaBytes) {
    (void)arenas.add({.base = arena_bytes.data(), .size = kArenaBytes}).value();
    config.limits = {.receive_contexts = 4, .receive_context = 2, .operations_max = 64};
    config.bulk_blocks = 2;
    config.bulk_bytes_max = 8192;
    config.receive_event_bytes = 8192;
    config.buffers_max = 4;
  }
  void TearDown() override {
    endpoint.reset();
    device.reset();
    for (const auto& [what, count] : nic.alive)
      EXPECT_EQ(count, 0U) << what << " is left over";
    if (HasFailure()) std::fputs(words.lines().c_str(), stderr);
  }
  // Creates an endpoint with an enabled portal.
  void start() {
    open();
    poll();
    const auto commands = nic.take(*nic.target);
    ASSERT_EQ(commands.size(), 1U);
    const auto enable = SetStateCommand::decode(commands[0]);
    EXPECT_EQ(opcode_of(enable.command), opcode::kSetState);
    EXPECT_EQ(enable.ptlte_state, 2);
    EXPECT_EQ(enable.ptlte_index, 12);
    EXPECT_EQ(enable.drop_count, kIgnoreDrops);
    nic.portal_state(PortalState::kEnabled);
    poll();
    peer = {endpoint->resolve(0x2b3, 1).value(), 1};
  }
  void open() {
    device = Device::open(nic, {.pid = 1}, arenas).value();
    endpoint = Endpoint::create(*device, config, upper, &words).value();
  }
  void poll(Duration step = std::chrono::microseconds(1)) {
    now += step;
    (void)endpoint->poll(now);
  }
  kfilnd::FabricCompletion next() {
    poll();
    EXPECT_FALSE(upper.log.empty());
    if (upper.log.empty()) return {};
    const auto first = upper.log.front();
    upper.log.pop_front();
    return first;
  }
  DmaCommand only_sent() {
    poll();
    const auto commands = nic.sent();
    EXPECT_EQ(commands.size(), 1U);
    return commands.empty() ? DmaCommand{} : commands[0];
  }
  TargetCommand only_target() {
    poll();
    const auto commands = nic.targets();
    EXPECT_EQ(commands.size(), 1U);
    return commands.empty() ? TargetCommand{} : commands[0];
  }
  [[nodiscard]] std::uint64_t counted(CassiniCounters::Id id) const {
    return endpoint->stats().get(id);
  }

  std::vector<std::byte> arena_bytes, foreign_bytes;
  ArenaTable arenas;
  ScriptedNic nic;
  EndpointConfig config;
  Upper upper;
  WordLog words;
  std::unique_ptr<Device> device;
  std::unique_ptr<Endpoint> endpoint;
  kfilnd::Target peer;
  Instant now{};
};

}  // namespace plnet::cassini
