// SPDX-License-Identifier: BSD-3-Clause
// One simulated fabric endpoint for one shard: multi-receive buffers, tagged buffers that a peer
// reads or writes once, and their possible faults.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "drivers/net/sim/endpoint_fabric.hpp"
#include "drivers/net/sim/pooled_ring.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/pollable.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"

namespace plnet::drivers {

#define PLNET_SIM_ENDPOINT_COUNTERS(X)                                                         \
  X(kSends, "sends", "messages", kCount, "untagged messages sent")                             \
  X(kMessages, "messages", "messages", kCount, "untagged messages that arrived")               \
  X(kNoBuffer, "no_buffer", "messages", kCount, "arrivals that found no buffer, each try")     \
  X(kNoMatch, "no_match", "operations", kCount,                                                \
    "operations that found no tagged buffer, each try")                                        \
  X(kTaggedPosted, "tagged_posted", "buffers", kCount, "tagged buffers laid open")             \
  X(kTaggedTaken, "tagged_taken", "buffers", kCount, "tagged buffers that a peer has used")    \
  X(kTaggedCancelled, "tagged_cancelled", "buffers", kCount, "tagged buffers taken back")      \
  X(kLateCancels, "late_cancels", "buffers", kCount, "cancelled too late: the peer has won")   \
  X(kRemoteOperations, "remote_operations", "operations", kCount, "reads, writes and answers") \
  X(kFailures, "failures", "operations", kCount, "operations that ended in an error")          \
  X(kRefused, "refused", "operations", kCount, "posts turned away for want of room")
PLNET_COUNTERS(SimEndpointCounters, PLNET_SIM_ENDPOINT_COUNTERS);

struct SimEndpointConfig {
  HostId host = kNoHost;
  EndpointProcess process;
  kfilnd::EndpointLimits limits{.operations_max = 1024};
};

class SimEndpointDriver final : public kfilnd::EndpointDriver, public Pollable {
 public:
  using Tag = kfilnd::Tag;
  using Target = kfilnd::Target;

  // `arenas` and `doorbell` outlive the driver.
  SimEndpointDriver(SimEndpointFabric& fabric, const SimEndpointConfig& config,
                    const ArenaTable& arenas, kfilnd::EndpointEvents& events, Doorbell& doorbell);
  ~SimEndpointDriver() override;
  SimEndpointDriver(const SimEndpointDriver&) = delete;
  SimEndpointDriver& operator=(const SimEndpointDriver&) = delete;

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
  [[nodiscard]] CounterView counters() const override { return counters_.view(); }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "sim endpoint"; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }

  // For SimEndpointFabric. Each call only makes a note for poll().
  struct Tagged {
    EndpointProcess from;
    lnet::Payload buffer;
    std::uint64_t cookie = 0;
    bool peer_reads = false;
    bool taken = false;
    bool cancelling = false;
  };
  [[nodiscard]] const SimEndpointConfig& config() const { return config_; }
  [[nodiscard]] const ArenaTable& arenas() const { return arenas_; }
  // False: no buffer has room.
  [[nodiscard]] bool take_message(std::span<const std::byte> message);
  // The buffer that an operation of `from` may use; null: no match.
  [[nodiscard]] Tagged* match(Tag tag, const EndpointProcess& from);
  [[nodiscard]] Tagged* taken(Tag tag);
  void end_tagged(Tag tag, kfilnd::FabricEvent event, Result<void> status, std::uint32_t length,
                  std::uint64_t data);
  void cancel_now(Tag tag);
  void operation_done(const EndpointOperation& operation);
  void note_link(bool usable, std::uint64_t nic_address);

 private:
  static constexpr std::size_t kBurst = 32;            // completions of one upcall
  static constexpr std::size_t kBuffersMax = 64;       // multi-receive buffers; kfilnd posts 8
  static constexpr std::size_t kAddressesMax = 65536;  // more peers than a fabric has

  struct Buffer {
    Fragment memory;
    std::uint64_t cookie = 0;
    std::uint32_t used = 0;
  };
  struct Note {  // a completion that was not reported yet
    std::uint64_t cookie = 0;
    std::uint64_t data = 0;
    std::uint32_t length = 0;
    std::uint32_t offset = 0;
    kfilnd::FabricEvent event = kfilnd::FabricEvent::kSent;
    bool buffer_unlinked = false;
    bool failed = false;
    Errc cause = Errc::kIo;
  };
  struct Address {
    EndpointProcess process;
    std::uint32_t generation = 0;
    bool in_use = false;
  };

  [[nodiscard]] Result<EndpointProcess> process_of(kfilnd::PeerAddress address) const;
  [[nodiscard]] Result<void> may_post();
  [[nodiscard]] Result<void> post_remote(EndpointOperation::Kind kind, const Target& peer, Tag tag,
                                         const lnet::Payload& local, std::uint64_t data,
                                         std::uint64_t cookie);
  void push(const kfilnd::FabricCompletion& completion);
  [[nodiscard]] kfilnd::FabricCompletion take_completion();
  void erase(std::unordered_map<Tag, Tagged>::iterator tagged);

  SimEndpointFabric& fabric_;
  SimEndpointConfig config_;
  const ArenaTable& arenas_;
  kfilnd::EndpointEvents& events_;
  Doorbell& doorbell_;
  std::uint32_t index_;  // the fabric's
  std::vector<Address> addresses_;
  std::unordered_map<Tag, Tagged> tags_;  // looked up, and walked only to empty it in tag order
  // Reused by the next buffer: tags come and go with each transfer.
  std::vector<std::unordered_map<Tag, Tagged>::node_type> spare_tags_;
  PooledRing<Buffer> buffers_;
  PooledRing<Note> completions_;
  unsigned in_flight_ = 0;  // own operations until their completion is reported
  bool link_changed_ = false;
  bool link_usable_ = true;
  bool shut_down_ = false;
  Counters<SimEndpointCounters> counters_;
};

// Payload and the arenas of its fragments.
struct ArenaWindow {
  const ArenaTable& arenas;
  const lnet::Payload& payload;
};

// Copies as many bytes as both have, at most `limit`.
std::uint32_t copy_payload(const ArenaWindow& to, const ArenaWindow& from, std::uint32_t limit,
                           LazyMemory* lazy);

}  // namespace plnet::drivers
