// SPDX-License-Identifier: BSD-3-Clause
// Two software Cassinis joined in this process, a driver's endpoint on each, and memory to send
// from and to receive into. One thread polls both endpoints; the caller steps the NICs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "drivers/net/cassini/endpoint.hpp"
#include "drivers/net/cassini/soft/backend_soft.hpp"

namespace plnet::bench {

class SoftEnd final : public kfilnd::EndpointEvents {
 public:
  static constexpr unsigned kBuffers = 8;  // the number of kfilnd
  static constexpr std::uint32_t kBufferBytes = 1U << 16U;
  static constexpr std::size_t kBulkFrom = std::size_t{kBuffers} * kBufferBytes;

  SoftEnd(cassini::Backend& backend, unsigned device, std::size_t bulk_bytes)
      : memory_(kBulkFrom + bulk_bytes) {
    (void)arenas_.add({.base = memory_.bytes().data(), .size = memory_.bytes().size()}).value();
    device_ = cassini::Device::open(backend, {.id = device, .pid = kPid}, arenas_).value();
    cassini::EndpointConfig config;
    config.link_period = std::chrono::hours(1);
    endpoint_ = cassini::Endpoint::create(*device_, config, *this).value();
    for (unsigned i = 0; i < kBuffers; ++i)
      post(i);
  }
  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override {
    for (const auto& completion : burst) {
      if (!completion.status) {
        ++failed;
        continue;
      }
      if (completion.event == kfilnd::FabricEvent::kMessage) {
        const std::size_t at = completion.cookie * kBufferBytes + completion.offset;
        std::uint64_t number = 0;
        std::memcpy(&number, memory_.bytes().data() + at, sizeof number);
        sum += number;
        ++received;
        if (completion.buffer_unlinked) post(static_cast<unsigned>(completion.cookie));
      } else {
        ++ended;
      }
    }
  }
  void on_link(bool /*usable*/, std::uint64_t /*nic*/) override {}

  [[nodiscard]] cassini::Endpoint& endpoint() { return *endpoint_; }
  [[nodiscard]] std::span<std::byte> bulk() { return memory_.bytes().subspan(kBulkFrom); }

  static constexpr unsigned kPid = 3;
  std::uint64_t received = 0, sum = 0, ended = 0, failed = 0;

 private:
  void post(unsigned number) {
    if (!endpoint_->post_multi_receive({{0, std::uint64_t{number} * kBufferBytes}, kBufferBytes},
                                       number))
      ++failed;
  }

  cassini::PageMemory memory_;
  ArenaTable arenas_;
  std::unique_ptr<cassini::Device> device_;
  std::unique_ptr<cassini::Endpoint> endpoint_;
};

struct SoftPair {
  static constexpr std::uint32_t kFirstNic = 0x1a0;

  explicit SoftPair(std::size_t bulk_bytes = 0, const cassini::soft::Freedom& freedom = {})
      : fabric(freedom),
        nics{&fabric.add({.address = kFirstNic}), &fabric.add({.address = kFirstNic + 1})},
        backend(fabric, {nics[0], nics[1]}),
        near(backend, 0, bulk_bytes),
        far(backend, 1, bulk_bytes),
        to_far{near.endpoint().resolve(kFirstNic + 1, SoftEnd::kPid).value(), 0},
        to_near{far.endpoint().resolve(kFirstNic, SoftEnd::kPid).value(), 0} {
    // Until the portals are enabled and the buffers linked.
    for (unsigned i = 0; i < 100; ++i) {
      step();
      poll(Instant(std::chrono::microseconds(i)));
    }
  }
  void step() { (void)fabric.step(++steps); }
  void poll(Instant now) {
    (void)near.endpoint().poll(now);
    (void)far.endpoint().poll(now);
  }

  cassini::soft::Fabric fabric;  // without freedom it does everything at once
  std::array<cassini::soft::Nic*, 2> nics;
  cassini::soft::SoftBackend backend;
  SoftEnd near, far;
  kfilnd::Target to_far, to_near;
  std::uint64_t steps = 0;
};

}  // namespace plnet::bench
