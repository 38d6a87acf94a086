// SPDX-License-Identifier: BSD-3-Clause
// One TCP connection of an LND: its type, its state and the messages on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/socklnd/byte_stream.hpp"
#include "lib/socklnd/framing.hpp"
#include "lib/socklnd/greeting.hpp"
#include "lib/socklnd/hello_reader.hpp"
#include "lib/socklnd/transmit_queue.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::socklnd {

struct Lane;
struct Peer;
struct OfPeer;    // the list of the connections of its peer
struct ForFlush;  // the list of connections that the next flush serves
struct Keeping;   // the list of connections whose payload stays in the socket

// The LND stops reading from a connection on which so many NOOPs wait; nearly all of them
// acknowledge messages of the peer.
inline constexpr std::uint8_t kNoopsWaitingMax = 32;
// There is room for one more: a payload that stays in the socket completes without being read, and
// its acknowledgement may find the line full. A connection keeps one payload at a time, and every
// other message on it waits until reading goes on.
inline constexpr std::uint8_t kNoopPlaces = kNoopsWaitingMax + 1;
// The stream offsets of the ends of the last messages that TCP took, to count those that were lost
// with a connection.
inline constexpr std::uint8_t kEndsRemembered = 16;
static_assert(kNoopPlaces > kNoopsWaitingMax,
              "a payload that stays in its socket has a place for its acknowledgement");

struct Connection : ListNode<OfPeer>, ListNode<ForFlush>, ListNode<Keeping> {
  enum class State : std::uint8_t {
    kDialing,   // TCP connects
    kGreeting,  // the HELLOs are under way
    kJudged,    // a lane: its home looks at the HELLO of the peer
    kOpen,
    kRefusing,  // closed as soon as our HELLO has been written
    kClosing,   // waits for on_closed()
  };
  // The incoming message.
  enum class Rx : std::uint8_t {
    kNone,
    kParked,
    kDecided,    // resume() has come, flush() carries it out
    kReceiving,  // ends in on_received()
    kKept,       // has ended for the core; its rest lies in the socket
    kSkipping,   // ends without an upcall
  };

  StreamId stream;
  Peer* peer = nullptr;
  ConnectionType type = ConnectionType::kControl;
  Protocol protocol = Protocol::kV3;
  State state = State::kDialing;
  bool away = false;  // stands for one on another shard, at its peer's home: no stream is here
  bool by_us = false;
  bool was_open = false;
  bool blocked = false;      // TCP takes no bytes until on_writable()
  bool fresh = false;        // in the list of the next flush
  bool sent_since = false;   // since the last flush the peer's TCP has acknowledged bytes, or all
  bool heard_since = false;  // since the last flush bytes have arrived
  bool stuck = false;        // closed because it made no progress
  bool ours = false;         // closed by our own decision
  bool noops_full = false;   // reading is paused until some NOOPs are out
  bool boundary = false;     // a message has ended since the last flush

  Lane* lane = nullptr;  // null: the connection lies on the home shard of its peer

  Greeting greeting;  // goes out before all messages
  HelloReader reader;
  Instant deadline = Instant::max();  // of the introduction

  // Messages and NOOPs.
  TransmitQueue queue;
  std::uint64_t queued_bytes = 0;
  std::uint64_t last_post = 0;       // a sequence number of the LND
  std::uint32_t front_sent = 0;      // bytes of the first item that TCP has taken
  bool front_is_noop = false;        // when front_sent > 0
  std::uint32_t front_checksum = 0;  // of the first item, if a part of it was sent
  // Acknowledgements and keepalives share one ring: a NOOP of which a part was sent stays first.
  std::uint8_t noops = 0;
  std::uint8_t noops_first = 0;
  std::array<std::uint64_t, kNoopPlaces> noop_cookies{};
  std::uint64_t written = 0;       // bytes that TCP has taken, ever
  std::uint64_t acknowledged = 0;  // of these, by the peer's TCP, when last asked
  std::uint64_t owed_to = 0;       // unsent_bytes() waits for the acknowledgement of so many
  std::array<std::uint64_t, kEndsRemembered> ends{};
  std::uint64_t messages_sent = 0;
  Instant tx_progress{};
  Instant since{};  // the first flush after it opened

  Framing framing;
  Rx rx = Rx::kNone;
  bool awaited = false;          // the driver was asked to wait for the rest of the payload
  std::uint32_t generation = 0;  // of the message
  std::uint64_t read = 0;        // bytes, ever
  std::uint64_t messages_received = 0;
  lnet::RxDecision decision;
  Instant rx_progress{};
  Instant rx_paused{};  // the last check that found reading paused: unread bytes are not late
  // The start of the measurement of an incoming payload's rate.
  struct Pace {
    std::uint32_t generation = 0;  // of its message
    std::uint64_t read = 0;
    Instant since{};
  };
  Pace pace;

  void push_noop(std::uint64_t cookie) {
    PLNET_CHECK(noops < kNoopPlaces, "reading stops before there are too many");
    if (is_settled()) sent_since = true;
    noop_cookies[static_cast<std::size_t>(noops_first + noops) % kNoopPlaces] = cookie;
    ++noops;
  }
  void pop_noop() {
    PLNET_CHECK(noops > 0, "a NOOP was sent");
    noops_first = static_cast<std::uint8_t>((noops_first + 1) % kNoopPlaces);
    --noops;
  }
  // As of the last check the peer's TCP has acknowledged everything: the next message has the whole
  // timeout. Bytes that only our TCP has taken are no progress, else a trickle of messages to a
  // dead peer would never be late (lustre-release lnet/klnds/socklnd/socklnd_cb.c:
  // ksocknal_queue_tx_locked(), ksocknal_transmit()).
  [[nodiscard]] bool is_settled() const {
    PLNET_DEBUG_CHECK(acknowledged <= written, "the peer acknowledges bytes that were written");
    return !has_to_send() && written == acknowledged;
  }
  [[nodiscard]] bool has_to_send() const { return !greeting.done() || noops > 0 || !queue.empty(); }
  // The connection lies on another shard than the home of its peer, and this is that shard.
  [[nodiscard]] bool is_lane() const { return lane != nullptr && !away; }
  // Its first item is a message of which TCP has taken a part.
  [[nodiscard]] bool has_begun_message() const { return front_sent > 0 && !front_is_noop; }
  [[nodiscard]] bool paused() const {
    return noops_full || rx == Rx::kParked || rx == Rx::kDecided || rx == Rx::kKept;
  }
};

// The bytes of a whole message.
[[nodiscard]] inline std::uint64_t wire_bytes(Protocol protocol, const lnet::Transmit& transmit) {
  return kFrameBytes + lnet_header_bytes(protocol) + transmit.header.payload_length;
}

}  // namespace plnet::socklnd
