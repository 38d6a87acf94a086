// SPDX-License-Identifier: BSD-3-Clause
// What the simulated network knows of one TCP connection: two ends, and a pipe from each of them.
// Kept small, since a big cluster has millions, nearly all idle.
#pragma once

#include <array>
#include <cstdint>

#include "drivers/net/sim/byte_queue.hpp"
#include "drivers/net/sim/network.hpp"
#include "drivers/net/sim/pooled_ring.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::drivers {

class SimStreamDriver;

// Stream offsets count from the first byte of a direction and only grow:
// read <= arrived <= sent <= written, and acknowledged <= arrived.
struct StreamPipe {
  struct Segment {
    std::uint64_t end = 0;
    Instant arrival{};
  };
  struct Acknowledgement {
    Instant arrival{};
    std::uint64_t up_to = 0;
  };
  // One on its way and one behind it, into which later ones are merged, as a receiver that is busy
  // does: the writer learns of all that was read at most one way late.
  static constexpr std::uint8_t kAcksMax = 2;

  ByteQueue bytes;  // [read, written)
  std::uint64_t written = 0;
  std::uint64_t sent = 0;
  std::uint64_t arrived = 0;
  std::uint64_t read = 0;
  std::uint64_t acknowledged = 0;  // by what has come back so far; see `acks`
  PooledRing<Segment> flying;
  std::array<Acknowledgement, kAcksMax> acks{};
  Instant last_arrival{};
  std::uint8_t ack_count = 0;
  std::uint8_t retransmits = 0;
  bool ending : 1 = false;    // nothing more will be written: FIN after the last byte
  bool end_sent : 1 = false;  // the last of `flying` is that FIN
  bool end_arrived : 1 = false;
  bool dead : 1 = false;              // who wrote it has reset or died: nothing more is sent
  bool stalled : 1 = false;           // waiting for the retransmit timer
  bool wants_writable : 1 = false;    // a write came up short
  bool writable_pending : 1 = false;  // an event for that is scheduled
  bool window_pending : 1 = false;    // a window update is on its way
};
static_assert(sizeof(StreamPipe) == 128, "two cache lines");

struct StreamEnd {
  enum class State : std::uint8_t {
    kOpening,
    kOpen,
    kDetached,  // between two shards
    kBroken,    // its driver knows and has not reported it yet
    kFinished,
  };

  SimStreamDriver* driver = nullptr;  // none while detached or finished
  std::uint32_t stream = ~0U;         // the driver's index
  HostId host = kNoHost;
  std::uint32_t send_buffer = 0;
  std::uint32_t receive_buffer = 0;
  // Of the connection, the same at both ends: here, since whoever looks at an end asks for it. Odd
  // while the connection is in use.
  std::uint32_t generation = 0;
  std::uint16_t keepalive_s = 0;  // how long a silent peer is borne; 0: for ever
  State state = State::kOpening;
  bool discards_unsent : 1 = true;
  bool keepalive_pending : 1 = false;  // an event for that is scheduled
};

// What a message looks at comes first: the ends, then a pipe.
struct alignas(64) StreamConnection {
  std::array<StreamEnd, 2> ends;    // 0 has connected, 1 has accepted
  std::array<StreamPipe, 2> pipes;  // by sending end
  std::array<socklnd::SocketAddress, 2> addresses;
  std::uint32_t next_free = ~0U;
  std::uint8_t connect_tries = 0;
  bool holds_port = false;

  [[nodiscard]] std::uint32_t generation() const { return ends[0].generation; }
  [[nodiscard]] bool in_use() const { return generation() % 2 != 0; }
  void set_generation(std::uint32_t next) { ends[0].generation = ends[1].generation = next; }
};
static_assert(sizeof(StreamConnection) == std::size_t{6} * 64);

// Names one end of one connection, as drivers keep it.
struct StreamEndId {
  std::uint32_t connection = ~0U;
  std::uint32_t generation = 0;
  std::uint8_t end = 0;
};

}  // namespace plnet::drivers
