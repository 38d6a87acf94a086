// SPDX-License-Identifier: BSD-3-Clause
// The simulator's queue pairs for one shard. As strict as real devices: an error completion of a
// device is an error completion here, not an assertion.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drivers/net/sim/fetch.hpp"
#include "drivers/net/sim/verbs_fabric.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/map_cache.hpp"
#include "lib/base/pollable.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::drivers {

#define PLNET_SIM_VERBS_COUNTERS(X)                                                           \
  X(kConnects, "connects", "connections", kCount, "attempts to connect")                      \
  X(kRequests, "requests", "connections", kCount, "incoming connection requests")             \
  X(kEstablished, "established", "connections", kCount, "connections that came up")           \
  X(kChains, "chains", "chains", kCount, "chains posted")                                     \
  X(kChainsRefused, "chains_refused", "chains", kCount, "chains for which there was no room") \
  X(kSends, "sends", "messages", kCount, "messages executed at the peer")                     \
  X(kWrites, "writes", "writes", kCount, "remote writes executed at the peer")                \
  X(kBytesWritten, "bytes_written", "bytes", kCount, "bytes placed in the peer's memory")     \
  X(kReceived, "received", "messages", kCount, "messages received")                           \
  X(kNotReady, "not_ready", "messages", kCount, "tries that found no receive at the peer")    \
  X(kLateWrites, "late_writes", "writes", kCount, "writes that landed before on_drained()")   \
  X(kErrors, "errors", "requests", kCount, "requests that failed, flushes not counted")       \
  X(kFlushed, "flushed", "requests", kCount, "requests flushed")                              \
  X(kStaleCalls, "stale_calls", "calls", kCount, "calls for a queue pair that is gone; ignored")
PLNET_COUNTERS(SimVerbsCounters, PLNET_SIM_VERBS_COUNTERS);

class SimVerbsDriver final : public o2iblnd::VerbsDriver, public Pollable, private MapDevice {
 public:
  using QueuePairId = o2iblnd::QueuePairId;
  using Ipv4Endpoint = o2iblnd::Ipv4Endpoint;

  // `arenas`, `events` and `doorbell` outlive the driver.
  SimVerbsDriver(SimVerbsFabric& fabric, HostId host, const ArenaTable& arenas,
                 o2iblnd::VerbsEvents& events, Doorbell& doorbell);
  ~SimVerbsDriver() override;
  SimVerbsDriver(const SimVerbsDriver&) = delete;
  SimVerbsDriver& operator=(const SimVerbsDriver&) = delete;

  [[nodiscard]] bool post_chain(QueuePairId queue_pair,
                                std::span<const o2iblnd::WorkRequest> chain) override;
  std::size_t post_receives(QueuePairId queue_pair,
                            std::span<const o2iblnd::ReceiveRequest> burst) override;
  // Only memory that is laid open is mapped on demand: sends need no key here.
  [[nodiscard]] Result<o2iblnd::RemoteKey> remote_key(const Fragment& fragment) override;
  void release(std::uint32_t mapping) override { maps_.give(mapping, MapCache::Use::kOpen); }
  void set_mapping(const MapRules& rules) override {
    if (rules != maps_.rules()) maps_.set_rules(rules);
  }
  [[nodiscard]] CounterView mapping_counters() const override { return maps_.counters(); }
  [[nodiscard]] Result<QueuePairId> connect(const Ipv4Endpoint& local, const Ipv4Endpoint& remote,
                                            const o2iblnd::QueuePairSize& size,
                                            const o2iblnd::ConnectParameters& parameters,
                                            std::span<const std::byte> data) override;
  [[nodiscard]] Result<void> listen(const Ipv4Endpoint& local) override;
  void stop_listening(const Ipv4Endpoint& local) override;
  [[nodiscard]] Result<void> prepare(QueuePairId request,
                                     const o2iblnd::QueuePairSize& size) override;
  [[nodiscard]] Result<void> accept(QueuePairId request,
                                    const o2iblnd::ConnectParameters& parameters,
                                    std::span<const std::byte> data) override;
  void reject(QueuePairId request, std::span<const std::byte> data) override;
  [[nodiscard]] std::optional<o2iblnd::HandedRequest> give_away(QueuePairId request) override;
  [[nodiscard]] Result<QueuePairId> take_over(const o2iblnd::HandedRequest& request) override;
  void turn_down(const o2iblnd::HandedRequest& request) override;
  void to_error(QueuePairId queue_pair) override;
  [[nodiscard]] const o2iblnd::DeviceLimits& limits() const override { return limits_; }
  [[nodiscard]] CounterView counters() const override { return counters_.view(); }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "sim verbs"; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }

  // The address and port at the other end. Nothing: the queue pair has drained.
  [[nodiscard]] std::optional<Ipv4Endpoint> remote_of(QueuePairId queue_pair) const;
  // An unanswered request moves to another driver of the host, which reports it anew. `data` is the
  // private data of the request.
  void hand_over(QueuePairId request, SimVerbsDriver& to, std::span<const std::byte> data);
  // The port goes down or comes back: all queue pairs end.
  void set_device(bool usable, Errc cause);

  // Reserves, so that nothing is allocated before there are that many queue pairs.
  void reserve(std::size_t queue_pairs) {
    slots_.reserve(queue_pairs);
    free_.reserve(queue_pairs);
  }

  // For SimVerbsFabric.

  // Fetches the data of a note into the cache.
  void fetch() const {
    fetch_lines(this, 2);
    fetch_lines(&counters_, 2);
  }
  // Each call only makes a note for poll().
  [[nodiscard]] QueuePairId add(QueuePair& pair);
  [[nodiscard]] HostId host() const { return host_; }
  [[nodiscard]] const ArenaTable& arenas() const { return arenas_; }
  // The memory that a remote key and address name; empty if they name none of ours.
  [[nodiscard]] std::span<std::byte> remote_memory(std::uint32_t key, std::uint64_t address,
                                                   std::size_t length) const;
  void note_completion(const o2iblnd::WorkCompletion& completion);
  void note_request(QueuePair& pair);
  void note_established(const QueuePair& pair, std::span<const std::byte> data);
  void note_rejected(const QueuePair& pair, o2iblnd::RejectKind kind,
                     std::span<const std::byte> data);
  void note_disconnected(const QueuePair& pair, Errc cause);
  void note_drained(const QueuePair& pair, bool told = false);
  // For a device that breaks its contract; note_drained() follows.
  void note_drained_early(const QueuePair& pair);
  void count(SimVerbsCounters::Id id, std::uint64_t amount = 1) { counters_.add(id, amount); }

 private:
  static constexpr std::size_t kBurst = 32;  // completions of one upcall
  static constexpr std::size_t kQueuePairsMax = 65536;

  struct Note {
    enum class Kind : std::uint8_t {
      kCompletion,
      kRequest,
      kEstablished,
      kRejected,
      kDisconnected,
      kDrained,
      kDrainedEarly,
      kDevice,
    };
    QueuePairId id;
    std::uint64_t cookie = 0;  // of a kCompletion, like the next three
    std::uint32_t length = 0;
    o2iblnd::WorkEvent event = o2iblnd::WorkEvent::kSent;
    bool failed = false;
    Errc cause = Errc::kClosed;  // of a failure; kDisconnected, kDevice
    Kind kind = Kind::kCompletion;
    o2iblnd::RejectKind reject = o2iblnd::RejectKind::kOther;
    bool usable = true;
    bool told = false;  // kDrained: the LND knows
  };
  // Further fields of a note about the begin of a connection.
  struct Words {
    Ipv4Endpoint from;
    Ipv4Endpoint to;
    PooledBytes data;
  };
  struct Slot {
    QueuePair* pair = nullptr;
    std::uint32_t generation = 0;
  };

  // A region that is mapped now, and its key, which no other region ever has.
  struct KeyedRegion {
    std::uint32_t key = 0;
    MapRegion region;
  };

  // For MapDevice.
  [[nodiscard]] Result<MapKeys> enter(std::uint32_t slot, const MapRegion& region) override;
  void leave(std::uint32_t slot) override { keyed_[slot] = {}; }

  [[nodiscard]] QueuePair* find(QueuePairId id) const;
  // Takes a request without an answer out of this driver.
  [[nodiscard]] QueuePair* take_out(QueuePairId request);
  void push(const Note& note);
  void push(const Note& note, const Words& words);
  [[nodiscard]] PooledBytes copy_of(std::span<const std::byte> data);
  [[nodiscard]] Words take_words();
  void tell(const Note& note);
  unsigned tell_completions();

  SimVerbsFabric& fabric_;
  Doorbell& doorbell_;
  PooledRing<Note> notes_;  // in order: completions before the end of their queue pair
  o2iblnd::VerbsEvents& events_;
  const ArenaTable& arenas_;
  std::vector<Slot> slots_;
  HostId host_;
  std::vector<o2iblnd::Ipv4Endpoint> listening_;
  PooledRing<Words> words_;  // of the notes that have some, in their order
  std::vector<std::uint32_t> free_;
  o2iblnd::DeviceLimits limits_{
      .work_requests_max = 16384, .gather_max = o2iblnd::kGatherMax, .inline_bytes_max = 0};
  bool usable_ = true;
  Counters<SimVerbsCounters> counters_;
  std::uint32_t maps_made_ = 0;
  std::vector<KeyedRegion> keyed_;
  MapCache maps_;
};

}  // namespace plnet::drivers
