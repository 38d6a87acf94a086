// SPDX-License-Identifier: BSD-3-Clause
// A minimal process on a software NIC: one object of each kind, commands made by hand with the
// model's own layouts, events read as a driver reads them.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/cassini/soft/fabric.hpp"
#include "drivers/net/cassini/soft/layout_command.hpp"
#include "drivers/net/cassini/soft/layout_event.hpp"

namespace plnet::cassini::soft::rigs {

inline constexpr unsigned kVni = 255;

struct alignas(64) Slots {
  std::byte bytes[256]{};
  std::byte* data() { return bytes; }
};

inline void head(std::byte* at, CommandType type, unsigned size_code, unsigned opcode) {
  layout::Command::CmdType::set(at, static_cast<std::uint64_t>(type));
  layout::Command::CmdSize::set(at, size_code);
  layout::Command::Opcode::set(at, opcode);
}
inline void head(std::byte* at, CommandType type, unsigned size_code, DmaOpcode opcode) {
  head(at, type, size_code, static_cast<unsigned>(opcode));
}
inline void head(std::byte* at, unsigned size_code, CqOpcode opcode) {
  head(at, CommandType::kCq, size_code, static_cast<unsigned>(opcode));
}

struct Event {
  EventType type{};
  ReturnCode code{};
  unsigned size = 0;
  std::byte bytes[64]{};
  template <class Field>
  [[nodiscard]] std::uint64_t get() const {
    return Field::get(bytes);
  }
};

class Arena {
 public:
  explicit Arena(std::size_t bytes) : bytes_(bytes) {
    memory_ = static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{4096}));
    std::memset(memory_, 0, bytes);
  }
  ~Arena() { ::operator delete[](memory_, std::align_val_t{4096}); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  [[nodiscard]] std::byte* data() { return memory_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::byte* memory_ = nullptr;
};

// Writes commands with the alignment that the device requires.
class Producer {
 public:
  void attach(CommandQueue& queue) {
    ring_ = queue.commands();
    launch_ = queue.launch_page();
    units_ = queue.slots() * 2;
  }
  [[nodiscard]] unsigned position() const { return unit_; }
  void skip_to(unsigned unit) { unit_ = unit; }
  // Without alignment, for commands that must be refused.
  void push_here(const std::byte* command, unsigned bytes) {
    std::memcpy(ring_ + std::size_t{unit_} * 32, command, bytes);
    unit_ += bytes / 32;
    if (unit_ >= units_) unit_ = kFirstUnit;
  }
  void push(const std::byte* command, unsigned size_code) {
    const unsigned units = 1U << size_code;
    constexpr std::byte kNoop[32]{};
    while (unit_ % units != 0)
      push_here(kNoop, 32);
    push_here(command, units * 32);
  }
  void ring() {
    constexpr std::byte kNoop[32]{};
    if (unit_ % 2 != 0) push_here(kNoop, 32);
    ring_value(unit_ / 2);
  }
  void ring_value(std::uint64_t slot) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(launch_))
        .store(slot, std::memory_order_release);
  }
  void window(std::size_t window, unsigned unit, unsigned bytes) {
    std::memcpy(launch_ + window + std::size_t{unit / 2 & 15} * 64, ring_ + std::size_t{unit} * 32,
                bytes);
  }
  [[nodiscard]] std::byte* memory() { return ring_; }

 private:
  std::byte* ring_ = nullptr;
  std::byte* launch_ = nullptr;
  unsigned units_ = 0;
  unsigned unit_ = kFirstUnit;
};

class Consumer {
 public:
  void attach(std::byte* memory, std::size_t bytes, std::uint64_t* state) {
    memory_ = memory;
    bytes_ = bytes;
    state_ = state;
  }
  std::optional<Event> next() {
    for (;;) {
      std::byte* at = memory_ + offset_;
      const auto code = static_cast<unsigned>(layout::EqSwitch::EventSize::get(at));
      if (code == 0) return {};
      const unsigned size = 8U << code;
      const auto last = std::atomic_ref(at[size - 1]).load(std::memory_order_acquire);
      if ((std::to_integer<unsigned>(last) & 63) == 0) return {};
      Event event;
      event.size = size;
      std::memcpy(event.bytes, at, size);
      event.type = static_cast<EventType>(layout::EqSwitch::EventKind::get(at));
      event.code = static_cast<ReturnCode>(std::to_integer<unsigned>(last) & 63);
      offset_ += size;
      if (offset_ == bytes_) offset_ = 64;
      if (acknowledge) this->ack();
      if (event.type != EventType::kNull) return event;
      ++nulls;
    }
  }
  void ack() {
    while (acked_ / 64 != offset_ / 64) {
      std::memset(memory_ + acked_, 0, 64);
      acked_ += 64;
      if (acked_ == bytes_) acked_ = 64;
    }
    std::atomic_ref(*state_).store(acked_ / 64, std::memory_order_release);
  }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::byte* memory() { return memory_; }
  bool acknowledge = true;
  unsigned nulls = 0;

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t* state_ = nullptr;
  std::size_t offset_ = 64;
  std::size_t acked_ = 64;
};

struct HostOptions {
  NicAddress address = 1;
  unsigned pid = 7;
  unsigned vni = kVni;
  std::size_t arena = std::size_t{1} << 22;
  std::size_t eq_bytes = 65536;
  std::uint64_t eq_flags = 0;
  unsigned policy = 0;
  unsigned slots = 256;
  PortalRequest portal{.matching = true};
  Limits limits;
  bool enable = true;
};

class Host {
 public:
  Host(Fabric& fabric, const HostOptions& options)
      : Host(
            fabric.add({.address = options.address, .limits = options.limits}),
            [&fabric](std::uint64_t now) { fabric.step(now); }, options) {}
  Host(Nic& one, std::function<void(std::uint64_t)> step, const HostOptions& options)
      : step_(std::move(step)),
        options_(options),
        nic(one),
        arena(options.arena),
        eq_memory(options.eq_bytes) {
    group = nic.make_group(kDefaultService).value();
    lcid = nic.make_profile(group, options.vni, 1).value();
    domain = nic.make_domain(group, options.vni, options.pid).value();
    mapping = nic.map(group, arena.data(), arena.size(), true, true).value();
    eq_mapping = nic.map(group, eq_memory.data(), eq_memory.size(), true, true).value();
    eq = nic.make_event_queue(
                group, eq_mapping,
                {.memory = eq_memory.data(), .bytes = eq_memory.size(), .flags = options.eq_flags})
             .value();
    txq = nic.make_command_queue(group, {.slots = options.slots,
                                         .transmit = true,
                                         .lcid = lcid,
                                         .update_policy = options.policy,
                                         .error_eq = eq})
              .value();
    tgq = nic.make_command_queue(group, {.slots = options.slots, .error_eq = eq}).value();
    portal = nic.make_portal(group, eq, options.portal).value();
    EXPECT_TRUE(nic.map_portal(portal, domain.key, 0));
    EXPECT_TRUE(nic.map_portal(portal, domain.key, 128));
    tx.attach(*nic.command_queue(txq));
    target.attach(*nic.command_queue(tgq));
    events.attach(eq_memory.data(), eq_memory.size(), nic.event_queue(eq)->software_state());
    if (options.enable) {
      set_state(PortalState::kEnabled);
      const Event changed = expect(EventType::kStateChange);
      EXPECT_EQ(changed.get<layout::StateChange::PtlteState>(), 2U);
    }
  }

  [[nodiscard]] std::uint64_t iova(const std::byte* at) const {
    const MappingEntry& one = nic.mapping(mapping);
    return one.iova + static_cast<std::uint64_t>(at - one.va);
  }
  [[nodiscard]] unsigned lac() const { return nic.mapping(mapping).lac; }
  [[nodiscard]] std::uint32_t id() const { return match_id(options_.pid, nic.address()); }

  void set_state(PortalState state, std::uint32_t drops = kDropCountIgnored) {
    Slots slot;
    head(slot.data(), 1, CqOpcode::kSetstate);
    layout::SetState::PtlteState::set(slot.data(), static_cast<std::uint64_t>(state));
    layout::SetState::PtlteIndex::set(slot.data(), portal);
    layout::SetState::DropCount::set(slot.data(), drops);
    target.push(slot.data(), 1);
    target.ring();
  }
  // A list entry over [at, at + length) with kfilnd's settings; `change` modifies it.
  template <class Change>
  void append(const std::byte* at, std::uint64_t length, unsigned buffer, std::uint64_t bits,
              Change change) {
    Slots slot;
    using Le = layout::Target;
    head(slot.data(), 1, CqOpcode::kAppend);
    Le::PtlteIndex::set(slot.data(), portal);
    Le::EventUnlinkDisable::set(slot.data(), 1);
    Le::EventLinkDisable::set(slot.data(), 1);
    Le::UseOnce::set(slot.data(), 1);
    Le::OpGet::set(slot.data(), 1);
    Le::OpPut::set(slot.data(), 1);
    Le::BufferId::set(slot.data(), buffer);
    Le::Lac::set(slot.data(), lac());
    Le::Start::set(slot.data(), iova(at));
    Le::Length::set(slot.data(), length);
    Le::MatchId::set(slot.data(), 0xffffffff);
    Le::MatchBits::set(slot.data(), bits);
    change(slot.data());
    target.push(slot.data(), 1);
    target.ring();
    step_(now_ns += 1000);  // before any peer sends
  }
  void append(const std::byte* at, std::uint64_t length, unsigned buffer, std::uint64_t bits) {
    append(at, length, buffer, bits, [](std::byte*) {});
  }
  void unlink(unsigned buffer, ListKind list = ListKind::kPriority) {
    Slots slot;
    head(slot.data(), 1, CqOpcode::kUnlink);
    layout::Target::PtlList::set(slot.data(), static_cast<std::uint64_t>(list));
    layout::Target::PtlteIndex::set(slot.data(), portal);
    layout::Target::BufferId::set(slot.data(), buffer);
    target.push(slot.data(), 1);
    target.ring();
  }
  // A full DMA command with kfilnd's settings.
  template <class Change>
  void dma(DmaOpcode opcode, const Host& to, const std::byte* at, std::uint32_t length,
           std::uint64_t bits, std::uint64_t user, Change change) {
    Slots slot;
    using Dma = layout::FullDma;
    head(slot.data(), CommandType::kDma, 1, opcode);
    const unsigned index = opcode == DmaOpcode::kGet ? 128 : 0;
    Dma::IndexExt::set(slot.data(), index & 31);
    Dma::EndpointDefined::set(slot.data(), endpoint_defined(to.options_.pid, index));
    Dma::Nid::set(slot.data(), to.nic.address());
    Dma::Lac::set(slot.data(), lac());
    Dma::EventSendDisable::set(slot.data(), 1);
    Dma::LocalAddr::set(slot.data(), iova(at));
    Dma::RequestLen::set(slot.data(), length);
    Dma::Eq::set(slot.data(), eq);
    Dma::Initiator::set(slot.data(), id());
    Dma::MatchBits::set(slot.data(), bits);
    Dma::UserPtr::set(slot.data(), user);
    change(slot.data());
    tx.push(slot.data(), 1);
    tx.ring();
  }
  void put(const Host& to, const std::byte* at, std::uint32_t length, std::uint64_t bits,
           std::uint64_t user = 1) {
    dma(DmaOpcode::kPut, to, at, length, bits, user, [](std::byte*) {});
  }
  void get(const Host& to, const std::byte* at, std::uint32_t length, std::uint64_t bits,
           std::uint64_t user = 1) {
    dma(DmaOpcode::kGet, to, at, length, bits, user, [](std::byte*) {});
  }

  // Returns the next event; steps until there is one.
  std::optional<Event> wait() {
    for (int i = 0; i < 1000; ++i) {
      if (auto event = events.next()) return event;
      step_(now_ns += 1000);
    }
    return {};
  }
  Event expect(EventType type, ReturnCode code = ReturnCode::kOk) {
    const auto event = wait();
    if (!event) {
      ADD_FAILURE() << "no event";
      return {};
    }
    EXPECT_EQ(static_cast<int>(event->type), static_cast<int>(type));
    EXPECT_EQ(static_cast<int>(event->code), static_cast<int>(code));
    return *event;
  }
  void expect_silence() {
    for (int i = 0; i < 4; ++i)
      step_(now_ns += 1000);
    const auto event = events.next();
    EXPECT_FALSE(event.has_value()) << "event of type " << static_cast<int>(event->type);
  }
  [[nodiscard]] std::uint64_t cq_status(unsigned queue) {
    std::uint64_t word = 0;
    std::memcpy(&word, nic.command_queue(queue)->commands(), sizeof word);
    return word;
  }

 private:
  std::function<void(std::uint64_t)> step_;
  HostOptions options_;

 public:
  Nic& nic;
  Arena arena;
  Arena eq_memory;
  unsigned group = 0, lcid = 0, mapping = 0, eq_mapping = 0, eq = 0, txq = 0, tgq = 0, portal = 0;
  Nic::DomainId domain;
  Producer tx, target;
  Consumer events;
  static inline std::uint64_t now_ns = 0;
};

}  // namespace plnet::cassini::soft::rigs
