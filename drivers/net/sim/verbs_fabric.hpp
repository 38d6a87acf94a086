// SPDX-License-Identifier: BSD-3-Clause
// Reliable connected queue pairs of a simulated cluster and the connection manager between them.
// The responder's side of each work request runs here: order, keys, receiver-not-ready, errors.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "drivers/net/sim/event_loop.hpp"
#include "drivers/net/sim/network.hpp"
#include "drivers/net/sim/pooled_bytes.hpp"
#include "drivers/net/sim/pooled_ring.hpp"
#include "drivers/net/sim/shape.hpp"
#include "drivers/net/sim/stable_array.hpp"
#include "lib/base/random.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::drivers {

class SimVerbsDriver;

struct alignas(64) QueuePair {
  enum class State : std::uint8_t {
    kRequested,   // passive: the LND has not answered yet
    kConnecting,  // active: waiting for the answer
    kAccepted,    // passive: accept() was called, the other side does not know yet
    kEstablished,
    kError,  // flushed; nothing is sent or received any more
  };
  struct Work {
    o2iblnd::WorkRequest request;
    bool signalled = false;
  };

  // The fields that each message uses come first.
  SimVerbsDriver* driver = nullptr;
  o2iblnd::QueuePairId id;         // the driver's name for it
  PooledRing<Work> sends;          // posted and not completed, oldest first
  std::uint64_t first_send = 0;    // number of sends.front(): numbers name requests in events
  std::uint64_t next_execute = 0;  // the first one that was not executed at the peer
  std::uint32_t generation = 0;
  std::uint32_t index = 0;  // its own index
  PooledRing<o2iblnd::ReceiveRequest> receives;
  std::uint64_t flight_end = 0;  // the number behind the last one on the wire
  Instant last_arrival{};
  Instant last_ack{};
  std::uint32_t peer = ~0U;  // index here; the generation guards it
  std::uint32_t peer_generation = 0;
  HostId host = kNoHost;
  o2iblnd::QueuePairSize size;
  State state = State::kConnecting;
  bool arrival_pending = false;
  bool drained = false;  // on_drained() follows
  bool prepared = false;
  bool in_use = false;
  bool handed = false;  // a request between two drivers: no driver has it
  std::uint8_t connect_tries = 0;
  std::uint16_t retries = 0;
  unsigned not_ready_tries = 0;
  unsigned not_ready_left = 0;  // tries that still find the receiver not ready
  o2iblnd::ConnectParameters parameters;
  o2iblnd::Ipv4Endpoint local;
  o2iblnd::Ipv4Endpoint remote;
  // Private data of the request, or of the answer; none when the connection is up.
  PooledBytes data;
  PooledBytes rejection;  // on its way here; the request is repeated if it is lost
};

class SimVerbsFabric final : private EventSink {
 public:
  SimVerbsFabric(SimNetwork& network, const VerbsShape& shape, std::uint64_t seed);
  SimVerbsFabric(const SimVerbsFabric&) = delete;
  SimVerbsFabric& operator=(const SimVerbsFabric&) = delete;

  [[nodiscard]] SimNetwork& network() { return network_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] const VerbsShape& shape() const { return shape_; }
  [[nodiscard]] std::size_t queue_pairs() const { return live_; }

  // Reserves, so that nothing is allocated before there are that many.
  void reserve(std::size_t queue_pairs);

  // For SimVerbsDriver.
  [[nodiscard]] QueuePair& create(SimVerbsDriver& driver, HostId host);
  void destroy(QueuePair& pair);
  // Requests between two drivers. Null: the request is gone, or the peer has withdrawn it.
  [[nodiscard]] o2iblnd::HandedRequest give_away(QueuePair& pair);
  [[nodiscard]] QueuePair* take_over(const o2iblnd::HandedRequest& request);
  // The driver goes: its queue pairs are abandoned one by one.
  void abandon(QueuePair& pair);
  [[nodiscard]] Result<void> listen(SimVerbsDriver& driver, const o2iblnd::Ipv4Endpoint& local);
  void stop_listening(const SimVerbsDriver& driver, const o2iblnd::Ipv4Endpoint& local);
  void connect(QueuePair& pair);
  void accept(QueuePair& pair);
  void reject(QueuePair& pair);
  // Hot. Sends the requests that were appended to pair.sends.
  void pump(QueuePair& pair);
  // Puts the pair into error, with the consequences. A violated rule of the wire is reported by
  // refusing the request that violated it; all other causes by a message of their own.
  void fail(QueuePair& pair, Errc cause, bool tell = true);

 private:
  enum class Kind : std::uint8_t {
    kConnectTry,
    kRequest,
    kAnswer,
    kReady,
    kReject,
    kTurnedDown,  // without an LND
    kArrival,
    kAcknowledge,
    kRefused,  // the peer answered a request with an error
    kDisconnect,
    kDrain,
  };

  void on_event(std::uint64_t word) override;
  void on_event_soon(std::uint64_t word, unsigned step) const override;
  void schedule(Instant when, Kind kind, const QueuePair& pair, std::uint64_t detail = 0);
  [[nodiscard]] QueuePair* peer_of(const QueuePair& pair);
  void tell_peer(QueuePair& pair, Kind kind);
  void try_connect(QueuePair& pair);
  void request_arrives(QueuePair& active);
  void turn_down(const QueuePair& active, HostId by, o2iblnd::RejectKind kind);
  void answer_arrives(QueuePair& active);
  void finish(QueuePair& pair);
  void handle_setup(Kind kind, QueuePair& pair, std::uint64_t detail);
  // verbs_transfer.cpp
  void arrival(QueuePair& pair);
  [[nodiscard]] bool execute(QueuePair& pair, QueuePair& peer, const o2iblnd::WorkRequest& request);
  [[nodiscard]] bool place(QueuePair& pair, const QueuePair& peer,
                           const o2iblnd::WorkRequest& request);
  [[nodiscard]] bool deliver(QueuePair& pair, QueuePair& peer, const o2iblnd::WorkRequest& request);
  [[nodiscard]] bool is_ready(QueuePair& pair, const QueuePair& peer);
  void acknowledge(QueuePair& pair, std::uint64_t up_to);
  void refuse(QueuePair& pair, Errc why);
  void work_failed(QueuePair& pair, Errc why);
  void wait_and_retry(QueuePair& pair, Duration wait);

  SimNetwork& network_;
  EventLoop& loop_;
  const VerbsShape shape_;
  Random random_;
  StableArray<QueuePair> pairs_;
  std::vector<std::uint32_t> free_;
  std::size_t live_ = 0;
  std::unordered_map<std::uint64_t, SimVerbsDriver*> listeners_;
};

}  // namespace plnet::drivers
