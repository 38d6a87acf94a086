// SPDX-License-Identifier: BSD-3-Clause
// kfilnd's endpoint on libfabric: one reliable-datagram endpoint of a provider for one shard.
#pragma once

#include <memory>

#include "drivers/net/ofi/context.hpp"
#include "drivers/net/ofi/device.hpp"
#include "drivers/net/ofi/emulation.hpp"
#include "lib/base/pollable.hpp"

namespace plnet::ofi {

class Endpoint final : public kfilnd::EndpointDriver, public Pollable {
 public:
  using Tag = kfilnd::Tag;
  using Target = kfilnd::Target;

  // `device` and `events` outlive it.
  [[nodiscard]] static Outcome<std::unique_ptr<Endpoint>> create(const Device& device,
                                                                 const EndpointConfig& config,
                                                                 kfilnd::EndpointEvents& events);
  // Possible under load: the provider releases everything first. There are no more events.
  ~Endpoint() override;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  [[nodiscard]] Result<void> send(const Target& to, std::span<const std::byte> header,
                                  const lnet::Payload& payload, std::uint64_t cookie) override {
    return emulation_.send(to, header, payload, cookie);
  }
  [[nodiscard]] Result<void> post_tagged(const Target& from, Tag tag, bool peer_reads,
                                         const lnet::Payload& buffer,
                                         std::uint64_t cookie) override {
    return emulation_.post_tagged(from, tag, peer_reads, buffer, cookie);
  }
  [[nodiscard]] Result<void> cancel_tagged(Tag tag) override {
    return emulation_.cancel_tagged(tag);
  }
  [[nodiscard]] Result<void> read_tagged(const Target& peer, Tag tag, const lnet::Payload& into,
                                         std::uint64_t cookie) override {
    return emulation_.read(peer, tag, into, cookie);
  }
  [[nodiscard]] Result<void> write_tagged(const Target& peer, Tag tag, const lnet::Payload& from,
                                          std::uint64_t cookie) override {
    return emulation_.write(peer, tag, from, cookie);
  }
  [[nodiscard]] Result<void> answer_tagged(const Target& peer, Tag tag, std::uint64_t data,
                                           std::uint64_t cookie) override {
    return emulation_.answer(peer, tag, data, cookie);
  }
  [[nodiscard]] Result<void> post_multi_receive(const Fragment& buffer,
                                                std::uint64_t cookie) override {
    return emulation_.receiver().post_multi_receive(buffer, cookie);
  }
  [[nodiscard]] Result<kfilnd::PeerAddress> resolve(std::uint64_t nic_address,
                                                    unsigned service) override {
    return emulation_.links().resolve({nic_address, service, 0});
  }
  void forget(kfilnd::PeerAddress address) override { emulation_.links().forget(address); }
  // An operation that the provider has not ended after operation_time is cancelled.
  void shut_down() override;
  [[nodiscard]] bool quiet() const override { return emulation_.quiet(); }
  [[nodiscard]] const kfilnd::EndpointLimits& limits() const override {
    return context_.config.limits;
  }
  [[nodiscard]] CounterView counters() const override { return context_.stats.view(); }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "ofi"; }
  [[nodiscard]] Instant next_deadline() const override { return emulation_.next_deadline(); }

  // For reports and tests.
  [[nodiscard]] const Stats& stats() const { return context_.stats; }
  [[nodiscard]] unsigned reads() { return emulation_.transmitter().reads(); }
  [[nodiscard]] const fi_info& info() const { return *port_.info; }

 private:
  static constexpr unsigned kBurst =
      32;  // events of a queue, and completions reported, in one turn

  Endpoint(const Device& device, const EndpointConfig& config, kfilnd::EndpointEvents& events);
  [[nodiscard]] Outcome<void> open(const Device& device);
  unsigned tell();

  kfilnd::EndpointEvents& upper_;
  Context context_;
  Port port_;  // outlives the memory that is registered with it
  Memory memory_;
  Emulation emulation_;
  Instant abort_due_ = Instant::max();
  bool has_begun_ = false;  // operations posted before the first turn have no time
};

}  // namespace plnet::ofi
