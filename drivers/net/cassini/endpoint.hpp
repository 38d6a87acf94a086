// SPDX-License-Identifier: BSD-3-Clause
// kfilnd's endpoint on a Cassini: one set of queues and one receive context for one shard.
//
// The message path is memory only. The backend is called at start and end and after failures (its
// link(), which is memory too, about once a second): a cancelled buffer is invalidated before it is
// returned, and the drop count of a disabled portal is read. After a failure that the queues of a
// direction do not survive (a refused command, lost events) they are rebuilt, and the other
// direction continues. Buffers that peers may access end with kAborted once the portal is
// destroyed. Our own operations end likewise if the NIC has not begun them; the others end by their
// events, since the NIC may read and write for them until then.
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
  // Total size of posted multi-receive buffers: kfilnd's default.
  std::uint64_t receive_bytes_max = 16U << 20U;
  // The smallest frequent message: kfilnd's with an LNet header and no data. A HELLO is smaller,
  // but each peer sends one at a time.
  std::uint32_t message_bytes_min = 100;
  // Scattered bulk data, or data in memory that the NIC does not know, is copied through these.
  unsigned bulk_blocks = 8;
  std::uint32_t bulk_bytes_max = 1U << 20U;
  // Bytes for incoming events. 0: enough for all events that posted buffers can cause, however long
  // the poller stalls. With less, the NIC drops events when the poller stalls too long.
  std::size_t receive_event_bytes = 0;
  Duration not_ready_time = TxLimits{}.not_ready_time;
  Duration remote_not_ready_time = TxLimits{}.remote_not_ready_time;
  Duration link_period = std::chrono::seconds(1);  // interval of checking the link
  // Time for the NIC to finish operations that it had begun when its transmit queue failed. The
  // retry handler gives up after some tens of seconds; memory of later operations stays out of use
  // for good.
  Duration drain_time = std::chrono::seconds(60);
  bool portal_flow_control = false;  // the NIC disables the portal instead of rejecting messages
};

class Endpoint final : public kfilnd::EndpointDriver, public Pollable {
 public:
  using Tag = kfilnd::Tag;
  using Target = kfilnd::Target;

  // `device` and `events` outlive the endpoint.
  [[nodiscard]] static Outcome<std::unique_ptr<Endpoint>> create(Device& device,
                                                                 const EndpointConfig& config,
                                                                 kfilnd::EndpointEvents& events,
                                                                 Tracer* tracer = nullptr);
  // Also under load: the NIC releases everything first. No further events are reported.
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
  static constexpr std::size_t kAddressesMax = 65536;  // more peers than any fabric has
  static constexpr Duration kRebuildPause = std::chrono::milliseconds(10);
  static constexpr unsigned kReceiveObjects = 5;  // two queues, the portal and its two indices
  static constexpr unsigned kTransmitObjects = 2;

  struct Address {
    Process process;
    std::uint32_t generation = 0;
    bool in_use = false;
  };
  struct Layout {  // of memory_, one after the other
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
  // Create the queues of a direction; build_receive() also the portal.
  [[nodiscard]] Outcome<void> build_receive();
  [[nodiscard]] Outcome<void> build_transmit();
  [[nodiscard]] Outcome<void> make_receive_queues();
  [[nodiscard]] Outcome<void> make_transmit_queues();
  [[nodiscard]] Outcome<void> make_portal();
  // False: the NIC did not release everything; try again.
  [[nodiscard]] bool tear_down_receive();
  [[nodiscard]] bool tear_down_transmit();
  [[nodiscard]] std::span<std::byte> region(std::size_t begin, std::size_t length) const;
  // The direction has all its objects. While taking it down is incomplete, its destroyed objects
  // must not be used, and the remaining ones report nothing.
  [[nodiscard]] bool receives() const { return receiving_ && made_receive_ == kReceiveObjects; }
  [[nodiscard]] bool transmits() const {
    return transmitting_ && made_transmit_ == kTransmitObjects;
  }
  void recover_receive();
  void recover_transmit();
  // Ends the operations in the transmit queue; false: the NIC may still work on some of them.
  [[nodiscard]] bool end_operations();
  // After build…(): if it failed, schedules the next try.
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

  // The present queues and portal.
  EventQueueMemory receive_events_, transmit_events_;
  CommandQueueMemory transmit_, target_;
  Portal portal_;
  std::array<PortalMapHandle, 2> portal_maps_;
  // Existing objects of each direction, in the order of their creation.
  unsigned made_receive_ = 0, made_transmit_ = 0;

  bool receiving_ = false;
  bool transmitting_ = false;
  bool draining_ = false;
  Instant receive_due_{}, transmit_due_{};  // the next try to take down or rebuild
  Instant drain_until_{};
  Instant link_due_{};
  bool link_up_ = true;
  bool told_usable_ = true;
  std::uint32_t told_nic_ = 0;
  std::vector<Address> addresses_;
};

}  // namespace plnet::cassini
