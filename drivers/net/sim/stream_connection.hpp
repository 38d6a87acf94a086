// SPDX-License-Identifier: BSD-3-Clause
// One TCP connection of the simulated network: two ends, and a pipe from each of them. Small, since
// a big cluster has millions, nearly all idle.
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
  // One on its way and one behind it, into which later ones are merged, as a busy receiver does:
  // the writer learns of all reads at most one way late.
  static constexpr std::uint8_t kAcksMax = 2;

  ByteQueue bytes;  // [read, written)
  std::uint64_t written = 0;
  std::uint64_t sent = 0;
  std::uint64_t arrived = 0;
  std::uint64_t read = 0;
  std::uint64_t acknowledged = 0;  // as far as acknowledgements have arrived; see `acks`
  PooledRing<Segment> flying;
  std::array<Acknowledgement, kAcksMax> acks{};
  Instant last_arrival{};
  std::uint8_t ack_count = 0;
  std::uint8_t retransmits = 0;
  bool ending : 1 = false;    // no more bytes are written: FIN after the last byte
  bool end_sent : 1 = false;  // the last of `flying` is the FIN
  bool end_arrived : 1 = false;
  bool dead : 1 = false;              // its writer has reset or died: nothing more is sent
  bool stalled : 1 = false;           // waiting for the retransmit timer
  bool wants_writable : 1 = false;    // a write took only a part
  bool writable_pending : 1 = false;  // an event for on_writable() is scheduled
  bool window_pending : 1 = false;    // a window update is on its way
  // Bytes are written, sent, then they arrive, and only then are read and acknowledged.
  [[nodiscard]] bool in_order() const {
    return read <= arrived && acknowledged <= arrived && arrived <= sent && sent <= written;
  }
};
static_assert(sizeof(StreamPipe) == 128, "two cache lines");

struct StreamEnd {
  enum class State : std::uint8_t {
    kOpening,
    kOpen,
    kDetached,  // between two shards
    kBroken,    // its driver has not reported it yet
    kFinished,
  };

  SimStreamDriver* driver = nullptr;  // none while detached or finished
  std::uint32_t stream = ~0U;         // the driver's index
  HostId host = kNoHost;
  std::uint32_t send_buffer = 0;
  std::uint32_t receive_buffer = 0;
  // The generation of the connection, the same at both ends: stored here, since each user of an end
  // needs it. Odd while the connection is in use.
  std::uint32_t generation = 0;
  std::uint16_t keepalive_s = 0;  // the longest silence of a peer; 0: for ever
  State state = State::kOpening;
  bool discards_unsent : 1 = true;
  bool keepalive_pending : 1 = false;  // an event for that is scheduled
};

// The fields that each message uses come first: the ends, then a pipe.
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

// The name of one end of one connection, as drivers keep it.
struct StreamEndId {
  std::uint32_t connection = ~0U;
  std::uint32_t generation = 0;
  std::uint8_t end = 0;
};

}  // namespace plnet::drivers
