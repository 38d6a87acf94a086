// SPDX-License-Identifier: BSD-3-Clause
// Objects for the Cassini driver that are only memory: a benchmark fills the queues.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "drivers/net/cassini/backend.hpp"
#include "drivers/net/cassini/command_queue.hpp"
#include "drivers/net/cassini/event_queue.hpp"

namespace plnet::bench {

class CassiniStub final : public cassini::Backend {
 public:
  struct Events {
    cassini::EventQueueMemory memory;
    std::size_t write = 64;
    std::uint64_t state = 0;
    // Appends an event; sizes must not straddle a line, so one kind per queue.
    template <class Layout>
    void put(Layout event, cassini::EventType type) {
      event.type = static_cast<std::uint8_t>(type);
      event.size = Layout::kBytes == 16 ? 1 : 3;
      event.return_code = static_cast<std::uint8_t>(cassini::ReturnCode::kOk);
      cassini::store_words({memory.queue + write, Layout::kBytes}, event.encode());
      write += Layout::kBytes;
      if (write == memory.bytes) write = 64;
    }
  };
  struct Commands {
    std::vector<std::uint64_t> words, launch;
    void set_read(unsigned slot) {
      words[0] = cassini::little(
          cassini::CommandQueueStatus{.rd_ptr = static_cast<std::uint16_t>(slot), .return_code = 1}
              .encode()[0]);
    }
    [[nodiscard]] unsigned rung() const { return static_cast<unsigned>(launch[0]); }
  };
  Events receive, transmit;
  Commands send, target;

  cassini::Allocated<std::vector<cassini::DeviceInfo>> devices() override {
    return std::vector{info_};
  }
  cassini::Allocated<cassini::DeviceHandle> open_device(unsigned /*id*/) override {
    return cassini::DeviceHandle{1};
  }
  void close_device(cassini::DeviceHandle /*device*/) override {}
  cassini::Allocated<cassini::DeviceInfo> device_info(cassini::DeviceHandle /*device*/) override {
    return info_;
  }
  cassini::Allocated<cassini::LinkSeen> link(cassini::DeviceHandle /*device*/) override {
    return cassini::LinkSeen{.up = true, .nic_address = info_.nic_address};
  }
  cassini::Allocated<cassini::LniHandle> alloc_lni(cassini::DeviceHandle, unsigned) override {
    return cassini::LniHandle{1};
  }
  cassini::Allocated<void> destroy_lni(cassini::LniHandle /*lni*/) override { return {}; }
  cassini::Allocated<cassini::Profile> alloc_profile(cassini::LniHandle, unsigned,
                                                     cassini::TrafficClass) override {
    return cassini::Profile{};
  }
  cassini::Allocated<void> destroy_profile(cassini::ProfileHandle) override { return {}; }
  cassini::Allocated<cassini::Domain> alloc_domain(cassini::LniHandle, unsigned,
                                                   unsigned pid) override {
    return cassini::Domain{.handle = {}, .pid = pid};
  }
  cassini::Allocated<void> destroy_domain(cassini::DomainHandle) override { return {}; }
  cassini::Allocated<cassini::Mapping> map(cassini::LniHandle, void* va, std::size_t length,
                                           std::uint32_t) override {
    return cassini::Mapping{.handle = {},
                            .iova = 0x1000'0000'0000ULL,
                            .va = reinterpret_cast<std::uintptr_t>(va),
                            .length = length,
                            .lac = 1};
  }
  cassini::Allocated<void> unmap(cassini::MappingHandle) override { return {}; }
  cassini::Allocated<cassini::EventQueueMemory> alloc_event_queue(
      cassini::LniHandle, cassini::MappingHandle,
      const cassini::EventQueueOptions& options) override {
    Events& queue = receive.memory.queue == nullptr ? receive : transmit;
    queue.memory = {.handle = {},
                    .number = &queue == &receive ? 1U : 2U,
                    .queue = options.queue,
                    .bytes = options.bytes,
                    .software_state = &queue.state};
    return queue.memory;
  }
  cassini::Allocated<void> destroy_event_queue(cassini::EventQueueHandle) override { return {}; }
  cassini::Allocated<void> adjust_reserved(cassini::EventQueueHandle, int) override { return {}; }
  cassini::Allocated<cassini::CommandQueueMemory> alloc_command_queue(
      cassini::LniHandle, cassini::EventQueueHandle,
      const cassini::CommandQueueOptions& options) override {
    Commands& queue = options.transmit ? send : target;
    queue.words.assign(options.slots * 8ULL + 8, 0);
    queue.launch.assign(cassini::launch::kUsed / 8, 0);
    queue.set_read(4);
    return cassini::CommandQueueMemory{
        .handle = {},
        .hardware_index = options.transmit ? 0U : 1024U,
        .slots = options.slots,
        .commands = reinterpret_cast<std::byte*>(queue.words.data()),
        .launch_page = reinterpret_cast<std::byte*>(queue.launch.data())};
  }
  cassini::Allocated<void> destroy_command_queue(cassini::CommandQueueHandle) override {
    return {};
  }
  cassini::Allocated<cassini::Portal> alloc_portal(cassini::LniHandle, cassini::EventQueueHandle,
                                                   const cassini::PortalOptions&) override {
    return cassini::Portal{.handle = {}, .number = 1};
  }
  cassini::Allocated<void> destroy_portal(cassini::PortalHandle) override { return {}; }
  cassini::Allocated<cassini::PortalMapHandle> map_portal(cassini::PortalHandle,
                                                          cassini::DomainHandle,
                                                          unsigned) override {
    return cassini::PortalMapHandle{};
  }
  cassini::Allocated<void> unmap_portal(cassini::PortalMapHandle) override { return {}; }
  cassini::Allocated<void> invalidate_entry(cassini::PortalHandle, unsigned, unsigned) override {
    return {};
  }
  cassini::Allocated<cassini::PortalStatus> portal_status(cassini::PortalHandle) override {
    return cassini::PortalStatus{};
  }
  cassini::Allocated<void> transition_software_managed(cassini::PortalHandle, unsigned) override {
    return {};
  }

 private:
  cassini::DeviceInfo info_{.name = "stub", .nic_address = 1, .link_up = true};
};

}  // namespace plnet::bench
