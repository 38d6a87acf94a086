// SPDX-License-Identifier: BSD-3-Clause
// A process on a NIC: one object of each kind, with the driver's own queues and layouts but without
// its endpoint. Events may come in any order that the device is free to choose, so a test asks for
// them by kind.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/cassini/address.hpp"
#include "drivers/net/cassini/command_queue.hpp"
#include "drivers/net/cassini/commands.hpp"
#include "drivers/net/cassini/event_queue.hpp"
#include "tests/unit/drivers/cassini/joint/ground.hpp"

namespace plnet::cassini {

struct RawOptions {
  unsigned vni = 255;
  std::size_t event_bytes = 65536;
};

class RawProcess {
 public:
  static constexpr std::size_t kDataBytes = std::size_t{4} << 20U;
  struct Seen {
    EventType type = EventType::kNull;
    ReturnCode code = ReturnCode::kNoEvent;
    unsigned bytes = 0;
    std::array<std::byte, 64> at{};
    template <class Layout>
    [[nodiscard]] Layout as() const {
      return Layout::decode(load_words<Layout::kBytes>(at.data()));
    }
  };

  RawProcess(Ground& ground, unsigned side, const RawOptions& options = {})
      : ground_(ground), backend_(ground.backend(side)), memory_(options.event_bytes + kDataBytes) {
    device_ = backend_.open_device(ground.device(side)).value();
    own = {.nic = backend_.device_info(device_).value().nic_address, .pid = 20 + side};
    lni_ = backend_.alloc_lni(device_, 1).value();
    profile_ = backend_.alloc_profile(lni_, options.vni, TrafficClass::kBestEffort).value();
    domain_ = backend_.alloc_domain(lni_, options.vni, own.pid).value();
    const std::span<std::byte> bytes = memory_.bytes();
    std::ranges::fill(bytes, std::byte{0});
    mapping_ =
        backend_.map(lni_, bytes.data(), bytes.size(), kMapPin | kMapRead | kMapWrite).value();
    queue_ = backend_
                 .alloc_event_queue(lni_, mapping_.handle,
                                    {.queue = bytes.data(), .bytes = options.event_bytes})
                 .value();
    transmit_ = backend_
                    .alloc_command_queue(lni_, queue_.handle,
                                         {.slots = 256, .transmit = true, .lcid = profile_.lcid})
                    .value();
    target_ = backend_.alloc_command_queue(lni_, queue_.handle, {.slots = 256}).value();
    portal_ = backend_.alloc_portal(lni_, queue_.handle, {.matching = true}).value();
    maps_[0] = backend_.map_portal(portal_.handle, domain_.handle, put_index(0)).value();
    maps_[1] = backend_.map_portal(portal_.handle, domain_.handle, get_index(0)).value();
    data = bytes.subspan(options.event_bytes);
    events = EventQueue(queue_);
    tx = CommandQueue(transmit_);
    targets = CommandQueue(target_);
    set_state(PortalState::kEnabled);
  }
  ~RawProcess() {
    EXPECT_TRUE(backend_.unmap_portal(maps_[1]));
    EXPECT_TRUE(backend_.unmap_portal(maps_[0]));
    EXPECT_TRUE(backend_.destroy_portal(portal_.handle));
    EXPECT_TRUE(backend_.destroy_command_queue(target_.handle));
    EXPECT_TRUE(backend_.destroy_command_queue(transmit_.handle));
    EXPECT_TRUE(backend_.destroy_event_queue(queue_.handle));
    EXPECT_TRUE(backend_.unmap(mapping_.handle));
    EXPECT_TRUE(backend_.destroy_domain(domain_.handle));
    EXPECT_TRUE(backend_.destroy_profile(profile_.handle));
    EXPECT_TRUE(backend_.destroy_lni(lni_));
    backend_.close_device(device_);
  }
  RawProcess(const RawProcess&) = delete;
  RawProcess& operator=(const RawProcess&) = delete;

  void set_state(PortalState state) {
    const SetStateCommand command{
        .command = command_byte(CommandType::kQueue, SizeCode::k64, opcode::kSetState),
        .ptlte_state = static_cast<std::uint8_t>(state),
        .ptlte_index = static_cast<std::uint16_t>(portal_.number),
        .drop_count = kIgnoreDrops};
    ASSERT_TRUE(targets.push(command));
    targets.ring();
    const auto changed = expect(EventType::kStateChange);
    EXPECT_EQ(changed.as<StateChangeEvent>().ptlte_state, static_cast<unsigned>(state));
  }
  // An entry with kfi_cxi's settings, for any peer, used once; its LINK event confirms it.
  [[nodiscard]] TargetCommand entry(std::uint16_t id, std::size_t offset, std::uint64_t length,
                                    std::uint64_t bits) const {
    return {.command = command_byte(CommandType::kQueue, SizeCode::k64, opcode::kAppend),
            .ptlte_index = static_cast<std::uint16_t>(portal_.number),
            .event_unlink_disable = 1,
            .unrestricted_end_ro = 1,
            .unrestricted_body_ro = 1,
            .use_once = 1,
            .op_get = 1,
            .op_put = 1,
            .buffer_id = id,
            .lac = static_cast<std::uint8_t>(mapping_.lac),
            .start = iova(offset),
            .length = length,
            .match_id = kMatchAny,
            .match_bits = bits};
  }
  void append(const TargetCommand& command) {
    ASSERT_TRUE(targets.push(command));
    targets.ring();
    EXPECT_EQ(expect(EventType::kLink).code, ReturnCode::kOk);
  }
  void unlink(std::uint16_t id) {
    const TargetCommand command{
        .command = command_byte(CommandType::kQueue, SizeCode::k64, opcode::kUnlink),
        .ptlte_index = static_cast<std::uint16_t>(portal_.number),
        .buffer_id = id};
    ASSERT_TRUE(targets.push(command));
    targets.ring();
  }
  [[nodiscard]] DmaCommand dma(unsigned operation, Process to, std::size_t offset,
                               std::uint32_t length, std::uint64_t bits, std::uint64_t user,
                               unsigned index) const {
    const FabricAddress address = fabric_address(to, index, 9);
    return {.command = command_byte(CommandType::kDma, SizeCode::k64, operation),
            .index_ext = address.index_ext,
            .lac = static_cast<std::uint8_t>(mapping_.lac),
            .event_send_disable = 1,
            .dfa = address.dfa,
            .local_addr = iova(offset),
            .request_len = length,
            .eq = static_cast<std::uint16_t>(queue_.number),
            .initiator = match_id(own, 9),
            .match_bits = bits,
            .user_ptr = user};
  }
  void put(Process to, std::size_t offset, std::uint32_t length, std::uint64_t bits,
           std::uint64_t user = 1, unsigned index = put_index(0)) {
    ASSERT_TRUE(tx.push(dma(opcode::kPut, to, offset, length, bits, user, index)));
    tx.ring();
  }
  [[nodiscard]] std::uint64_t iova(std::size_t offset) const {
    return mapping_.iova + (reinterpret_cast<std::uintptr_t>(data.data()) + offset - mapping_.va);
  }

  // Returns the next event of this kind; other events wait until they are asked for.
  Seen expect(EventType type) {
    for (unsigned turns = 0; turns < kTurnsMax; ++turns) {
      const auto found = std::ranges::find(seen_, type, &Seen::type);
      if (found != seen_.end()) {
        const Seen one = *found;
        seen_.erase(found);
        return one;
      }
      turn();
    }
    ADD_FAILURE() << "no event " << name_of(type);
    return {};
  }
  void expect(EventType type, ReturnCode code) {
    const Seen one = expect(type);
    EXPECT_EQ(one.code, code) << name_of(one.code);
  }
  void expect_silence() {
    for (unsigned turns = 0; turns < 50; ++turns)
      turn();
    EXPECT_TRUE(seen_.empty()) << name_of(seen_.front().type);
    seen_.clear();
  }
  void turn() {
    (void)ground_.turn();
    (void)events.poll(64, [this](const Event& event) {
      Seen one{.type = event.type, .code = event.code, .bytes = event.bytes};
      std::memcpy(one.at.data(), event.at, event.bytes);
      seen_.push_back(one);
    });
  }

  Process own;
  std::span<std::byte> data;
  EventQueue events;
  CommandQueue tx, targets;

 private:
  static constexpr unsigned kTurnsMax = 2000;

  Ground& ground_;
  Backend& backend_;
  PageMemory memory_;
  DeviceHandle device_;
  LniHandle lni_;
  Profile profile_;
  Domain domain_;
  Mapping mapping_;
  EventQueueMemory queue_;
  CommandQueueMemory transmit_, target_;
  Portal portal_;
  std::array<PortalMapHandle, 2> maps_;
  std::vector<Seen> seen_;

 public:
  [[nodiscard]] Backend& backend() { return backend_; }
  [[nodiscard]] PortalHandle portal() const { return portal_.handle; }
};

}  // namespace plnet::cassini
