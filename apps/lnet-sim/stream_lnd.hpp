// SPDX-License-Identifier: BSD-3-Clause
// The simulator's LND of the stream kind: whole messages over byte streams, with a wire of its own.
// A connection carries messages in one direction only, from who made it: it opens with a HELLO that
// names the sender, then frame, LNet header and payload follow each other. So two that dial each
// other at once have what they want. socklnd, without 25 years of history.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "apps/lnet-sim/sim_lnd.hpp"
#include "drivers/net/sim/lazy_memory.hpp"
#include "lib/lnet/api/payload_cursor.hpp"
#include "lib/lnet/wire/header_codec.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::sim {

#define PLNET_SIM_STREAM_LND_COUNTERS(X)                                                        \
  X(kSent, "sent", "messages", kCount, "messages that the stream has taken whole")              \
  X(kReceived, "received", "messages", kCount, "headers handed to the core")                    \
  X(kConnects, "connects", "connections", kCount, "attempts to connect")                        \
  X(kConnectFailures, "connect_failures", "connections", kCount, "attempts that failed")        \
  X(kLost, "lost_connections", "connections", kCount, "open connections that ended unasked")    \
  X(kFailed, "failed", "messages", kCount, "messages that ended with an error")                 \
  X(kExpired, "expired", "messages", kCount, "messages whose deadline passed here")             \
  X(kParked, "parked", "messages", kCount, "messages that waited for a decision")               \
  X(kStaleResumes, "stale_resumes", "calls", kCount, "decisions for messages that had gone")    \
  X(kProtocolErrors, "protocol_errors", "connections", kCount, "closed for what the peer sent") \
  X(kStalled, "stalled", "connections", kCount, "closed because a payload did not come on")     \
  X(kRefused, "refused", "connections", kCount, "incoming connections for which there is no room")
PLNET_COUNTERS(StreamLndCounters, PLNET_SIM_STREAM_LND_COUNTERS);

struct StreamLndConfig {
  lnet::Nid nid;  // its address is the host's IPv4 address
  std::uint16_t port = 988;
  const ArenaTable* arenas = nullptr;
  drivers::LazyMemory* lazy = nullptr;
  std::size_t peers_max = 64;
  std::size_t incoming_max = 64;
  Duration lnd_timeout = std::chrono::seconds(50);
};

// A peer and our connection to it.
struct StreamPeer : PeerQueue {
  enum class State : std::uint8_t { kIdle, kConnecting, kOpen, kClosing };
  socklnd::StreamId stream;
  std::uint32_t hello_left = 0;  // bytes
  std::uint32_t head_sent = 0;   // bytes of the first message
  State state = State::kIdle;
  bool blocked = false;
};

class StreamLnd final : public SimLnd<StreamPeer, StreamLndCounters>, public socklnd::StreamEvents {
 public:
  StreamLnd(const StreamLndConfig& config, lnet::LndUpcalls& core);
  ~StreamLnd() override;
  // The driver is made with this for its events; then the LND listens.
  void attach(socklnd::StreamDriver& driver);

  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override;

  std::span<std::byte> destination(socklnd::StreamId stream) override;
  std::size_t on_bytes(socklnd::StreamId stream, std::size_t direct,
                       std::span<const std::byte> staged) override;
  void on_writable(socklnd::StreamId stream) override;
  void on_connected(socklnd::StreamId stream, const socklnd::StreamAddresses& addresses) override;
  void on_accepted(socklnd::StreamId stream, const socklnd::StreamAddresses& addresses) override;
  void on_closed(socklnd::StreamId stream, Errc cause, std::uint64_t unacknowledged) override;

 private:
  using Peer = StreamPeer;
  static constexpr std::size_t kFrameBytes = 8 + lnet::kHeaderNid16Bytes;
  static constexpr std::uint32_t kMagic = 0x53494d31;  // "SIM1"
  static constexpr std::size_t kFramesPerWrite = 16;
  static constexpr std::size_t kPiecesPerWrite = 64;
  static constexpr std::uint32_t kNone = ~0U;
  using Frame = std::array<std::byte, kFrameBytes>;

  // A connection that somebody else made.
  struct Incoming {
    enum class State : std::uint8_t { kHello, kHeader, kParked, kDecided, kPayload, kClosing };
    socklnd::StreamId stream;
    State state = State::kHello;
    std::uint32_t have = 0;  // bytes of the frame
    std::uint32_t generation = 0;
    std::uint32_t skip = 0;  // payload bytes behind the wanted ones
    bool wanted = false;     // ends in on_received()
    lnet::Nid from;
    lnet::PeerLink* link = nullptr;
    lnet::PayloadCursor cursor;
    Instant progress{};
    lnet::RxDecision decision;
    std::uint32_t payload_length = 0;
    Frame frame{};
  };

  void serve(Peer& peer) override;
  [[nodiscard]] bool head_begun(const Peer& peer) const override { return peer.head_sent > 0; }
  void on_late_head(Peer& peer) override;
  [[nodiscard]] Health late_health(const Peer& peer) const override;
  void carry_out_decision(std::uint32_t rx_index) override;
  void check_connections(Instant now) override;
  void close_connections(Peer& peer) override;
  void close_all() override;
  [[nodiscard]] bool disconnected(const Peer& peer) const override {
    return peer.state == Peer::State::kIdle;
  }
  [[nodiscard]] bool all_closed() const override;

  void connect(Peer& peer);
  void close_ours(Peer& peer);
  void pump(Peer& peer);
  [[nodiscard]] bool write_some(Peer& peer);
  void encode(const lnet::MessageHeader& header, Frame& out) const;
  void out_closed(Peer& peer, Errc cause);

  // stream_lnd_rx.cpp
  [[nodiscard]] Incoming* incoming(socklnd::StreamId stream);
  [[nodiscard]] Peer* outgoing(socklnd::StreamId stream);
  void remember(socklnd::StreamId stream, std::uint32_t what);
  std::size_t take_frame(Incoming& connection, std::span<const std::byte> staged);
  std::size_t take_payload(Incoming& connection, std::span<const std::byte> staged);
  void on_frame(Incoming& connection);
  void carry_out(Incoming& connection);
  void next_message(Incoming& connection);
  void protocol_error(Incoming& connection, Errc cause);
  void take_link(Incoming& connection);
  void in_closed(Incoming& connection, Errc cause);
  [[nodiscard]] lnet::RxHandle handle_of(const Incoming& connection) const;

  const StreamLndConfig config_;
  socklnd::StreamDriver* driver_ = nullptr;
  Pool<Incoming> incoming_;
  std::vector<std::uint32_t> owners_;  // by index of the stream: peer, or kIncoming | connection
  static constexpr std::uint32_t kIncoming = 1U << 31U;
  std::array<Frame, kFramesPerWrite> frames_{};
};

}  // namespace plnet::sim
