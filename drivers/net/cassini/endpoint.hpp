// SPDX-License-Identifier: BSD-3-Clause
// kfilnd's endpoint on a Cassini: one set of queues and one receive context for one shard.
//
// The message path is memory only. The backend is called at start and end, and where something went
// wrong (its link(), which is memory too, about once a second): a cancelled buffer is cut off
// before it is given back, a disabled portal is asked for its drop count. After a failure that the
// queues of a direction do not survive (a refused command, lost events) they are made anew, and the
// other direction goes on. What peers may reach ends with kAborted once the portal is gone. Of our
// own operations those that the NIC has not begun end so at once; those that it has begun end by
// their events, for the NIC may read and write for them until then.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "drivers/net/cassini/context.hpp"
#include "drivers/net/cassini/device.hpp"
#include "drivers/net/cassini/rx.hpp"
#include "drivers/net/cassini/tx.hpp"
#include "lib/base/pollable.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"

namespace plnet::cassini {

struct EndpointConfig {
  kfilnd::EndpointLimits limits{.operations_max = 1024};
  unsigned buffers_max = 64;  // multi-receive; kfilnd posts 8
  // Of multi-receive buffers posted at a time, together: kfilnd's own default.
  std::uint64_t receive_bytes_max = 16U << 20U;
  // The smallest message that comes in any number: kfilnd's with an LNet header and no data. A
  // HELLO is smaller, but there is one of a peer at a time.
  std::uint32_t message_bytes_min = 100;
  // Bulk that is scattered, or in memory that the NIC does not know, is copied through these.
  unsigned bulk_blocks = 8;
  std::uint32_t bulk_bytes_max = 1U << 20U;
  // Of incoming events. 0: room for all that can come to what is posted, however long the poller
  // stands still. With less the NIC drops events when it stands still for too long.
  std::size_t receive_event_bytes = 0;
  Duration not_ready_time = TxLimits{}.not_ready_time;
  Duration remote_not_ready_time = TxLimits{}.remote_not_ready_time;
  Duration link_period = std::chrono::seconds(1);  // how often its link is looked at
  // How long the NIC has for what it had begun before its transmit queue failed. The retry handler
  // gives up after some tens of seconds; what has not ended then is kept out of use for good.
  Duration drain_time = std::chrono::seconds(60);
  bool portal_flow_control = false;  // the NIC disables the portal instead of turning messages away
};

class Endpoint final : public kfilnd::EndpointDriver, public Pollable {
 public:
  using Tag = kfilnd::Tag;
  using Target = kfilnd::Target;

  // `device` and `events` outlive it.
  [[nodiscard]] static Outcome<std::unique_ptr<Endpoint>> create(Device& device,
                                                                 const EndpointConfig& config,
                                                                 kfilnd::EndpointEvents& events,
                                                                 Tracer* tracer = nullptr);
  // Also under load: the NIC lets go of everything first. Nothing is told any more.
  ~Endpoint() override;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  [[nodiscard]] Result<void> send(const Target& to, std::span<const std::byte> header,
                                  const lnet::Payload& payload, std::uint64_t cookie) override;
  [[nodiscard]] Result<void> post_tagged(const Target& from, Tag tag, bool peer_reads,
                                         const lnet::Payload& buffer,
                                         std::uint64_t cookie) override;
  [[nodiscard]] Result<void> cancel_tagged(Tag tag) override;
  [[nodiscard]] Result<void> read_tagged(const Target& peer, Tag tag, const lnet::Payload& into,
                                         std::uint64_t cookie) override;
  [[nodiscard]] Result<void> write_tagged(const Target& peer, Tag tag, const lnet::Payload& from,
                                          std::uint64_t cookie) override;
  [[nodiscard]] Result<void> answer_tagged(const Target& peer, Tag tag, std::uint64_t data,
                                           std::uint64_t cookie) override;
  [[nodiscard]] Result<void> post_multi_receive(const Fragment& buffer,
                                                std::uint64_t cookie) override;
  [[nodiscard]] Result<kfilnd::PeerAddress> resolve(std::uint64_t nic_address,
                                                    unsigned service) override;
  void forget(kfilnd::PeerAddress address) override;
  void shut_down() override;
  [[nodiscard]] bool quiet() const override;
  [[nodiscard]] const kfilnd::EndpointLimits& limits() const override { return config_.limits; }
  [[nodiscard]] CounterView counters() const override { return context_.stats.view(); }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "cassini"; }
  [[nodiscard]] Instant next_deadline() const override;

  // For reports and tests.
  [[nodiscard]] const Receiver& receiver() const { return rx_; }
  [[nodiscard]] const Transmitter& transmitter() const { return tx_; }
  [[nodiscard]] const Stats& stats() const { return context_.stats; }
  [[nodiscard]] bool running() const { return receives() && transmits(); }
  [[nodiscard]] bool link_up() const { return link_up_; }
  [[nodiscard]] Process own() const { return context_.own; }

 private:
  static constexpr unsigned kBurst = 32;               // events of a queue in one turn
  static constexpr std::size_t kAddressesMax = 65536;  // more peers than a fabric has
  static constexpr Duration kRebuildPause = std::chrono::milliseconds(10);
  static constexpr unsigned kReceiveObjects = 5;  // two queues, the portal and its two places
  static constexpr unsigned kTransmitObjects = 2;

  struct Address {
    Process process;
    std::uint32_t generation = 0;
    bool in_use = false;
  };
  struct Layout {  // of memory_: one behind the other
    std::size_t receive_events, transmit_events, spare, messages, bulk;
    [[nodiscard]] std::size_t total() const {
      return receive_events + transmit_events + spare + messages + bulk;
    }
  };

  Endpoint(Device& device, const EndpointConfig& config, kfilnd::EndpointEvents& events,
           Tracer* tracer);
  [[nodiscard]] static bool is_possible(const EndpointConfig& config, const DeviceInfo& device);
  [[nodiscard]] static Layout layout_of(const EndpointConfig& config);
  [[nodiscard]] Outcome<void> register_memory();
  // Make the queues of a direction; to receive, the portal too.
  [[nodiscard]] Outcome<void> build_receive();
  [[nodiscard]] Outcome<void> build_transmit();
  [[nodiscard]] Outcome<void> make_receive_queues();
  [[nodiscard]] Outcome<void> make_transmit_queues();
  [[nodiscard]] Outcome<void> make_portal();
  // False: the NIC did not give back what it was asked for; to be tried again.
  [[nodiscard]] bool tear_down_receive();
  [[nodiscard]] bool tear_down_transmit();
  [[nodiscard]] std::span<std::byte> region(std::size_t begin, std::size_t length) const;
  // All that a direction needs is there. When taking it down has begun and cannot go on, what is
  // gone must not be looked at, and what is left has nothing more to say.
  [[nodiscard]] bool receives() const { return receiving_ && made_receive_ == kReceiveObjects; }
  [[nodiscard]] bool transmits() const {
    return transmitting_ && made_transmit_ == kTransmitObjects;
  }
  void recover_receive();
  void recover_transmit();
  // Of what was given to the transmit queue; false: the NIC may still have to do with some of it.
  [[nodiscard]] bool end_operations();
  // After build…(): when it was not done, the next try is a while away.
  [[nodiscard]] bool rebuilt(bool done, Instant& due);
  [[nodiscard]] Errc why_aborted() const {
    return context_.shut_down ? Errc::kShutdown : Errc::kAborted;
  }
  void look_at_link();
  unsigned tell();
  [[nodiscard]] Result<Process> process_of(kfilnd::PeerAddress address) const;
  [[nodiscard]] Result<Transmitter::Request> request(const Target& to, std::uint64_t cookie) const;

  Device& device_;
  EndpointConfig config_;
  kfilnd::EndpointEvents& upper_;
  Context context_;
  Layout layout_;
  PageMemory memory_;
  MappingHandle mapping_;
  bool mapped_ = false;
  Blocks blocks_;
  Transmitter tx_;
  Receiver rx_;

  // What there is of the queues and the portal.
  EventQueueMemory receive_events_, transmit_events_;
  CommandQueueMemory transmit_, target_;
  Portal portal_;
  std::array<PortalMapHandle, 2> portal_maps_;
  // How many of each direction's there are, in the order in which they are made.
  unsigned made_receive_ = 0, made_transmit_ = 0;

  bool receiving_ = false;
  bool transmitting_ = false;
  bool draining_ = false;
  Instant receive_due_{}, transmit_due_{};  // of the next try to take down or to make anew
  Instant drain_until_{};
  Instant link_due_{};
  bool link_up_ = true;
  bool told_usable_ = true;
  std::uint32_t told_nic_ = 0;
  std::vector<Address> addresses_;
};

}  // namespace plnet::cassini
