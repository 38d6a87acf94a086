// SPDX-License-Identifier: BSD-3-Clause
// One TCP connection of an LND: what it is for, where it stands, what waits on it.
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
#include "lib/socklnd/hello_reader.hpp"
#include "lib/socklnd/transmit_queue.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::socklnd {

struct Lane;
struct Peer;
struct OfPeer;    // its place among the connections of its peer
struct ForFlush;  // its place among those that the next flush looks at
struct Keeping;   // its place among those that keep a payload

// NOOPs, nearly all of which acknowledge: so many may wait on a connection, then we stop reading
// from it.
inline constexpr std::uint8_t kNoopsWaitingMax = 32;
// One more has a place: what a connection keeps completes without being read from, and others may
// have filled it up meanwhile. It keeps one payload at a time, and whatever else comes there,
// parked or not, goes on only when reading does.
inline constexpr std::uint8_t kNoopPlaces = kNoopsWaitingMax + 1;
// The ends of the last messages that TCP took, to tell which were lost with a connection.
inline constexpr std::uint8_t kEndsRemembered = 16;

struct Connection : ListNode<OfPeer>, ListNode<ForFlush>, ListNode<Keeping> {
  enum class State : std::uint8_t {
    kDialing,   // TCP is at it
    kGreeting,  // our HELLO is on its way, or theirs
    kJudged,    // a lane: the home looks at theirs
    kOpen,
    kRefusing,  // once our answer is out it is closed
    kClosing,   // on_closed() is to come
  };
  // The message that comes in.
  enum class Rx : std::uint8_t {
    kNone,
    kParked,
    kDecided,    // resume() has come, flush() carries it out
    kReceiving,  // ends in on_received()
    kKept,       // has ended for the core: the rest lies in the socket
    kSkipping,   // ends silently
  };

  StreamId stream;
  Peer* peer = nullptr;
  ConnectionType type = ConnectionType::kControl;
  Protocol protocol = Protocol::kV3;
  State state = State::kDialing;
  bool away = false;  // stands for one on another shard, at its peer's home: no stream is here
  bool by_us = false;
  bool was_open = false;
  bool blocked = false;      // on_writable() is to come
  bool fresh = false;        // something has happened since the last flush
  bool sent_since = false;   // the peer's TCP has more since then, or had everything
  bool heard_since = false;  // bytes have come since then
  bool stuck = false;        // closed for want of progress
  bool ours = false;         // closed because we wanted it
  bool noops_full = false;   // reading is paused until some NOOPs are out
  bool boundary = false;     // a message has ended since the last flush

  Lane* lane = nullptr;  // not home and connection on one shard: what they share

  // What goes out before all messages.
  std::array<std::byte, kAcceptorV2Bytes + kHelloV4Bytes> greeting{};
  std::uint8_t greeting_bytes = 0;
  std::uint8_t greeting_sent = 0;
  HelloReader reader;
  Instant deadline = Instant::max();  // of the introduction

  // Messages and NOOPs.
  TransmitQueue queue;
  std::uint64_t queued_bytes = 0;
  std::uint64_t last_post = 0;       // a sequence number of the LND
  std::uint32_t front_sent = 0;      // bytes of what is in front
  bool front_is_noop = false;        // when front_sent > 0
  std::uint32_t front_checksum = 0;  // as it was begun
  // Acknowledgements and keepalives in one line, so that none is ended by the tail of another.
  std::uint8_t noops = 0;
  std::uint8_t noops_first = 0;
  std::array<std::uint64_t, kNoopPlaces> noop_cookies{};
  std::uint64_t written = 0;       // bytes that TCP has taken, ever
  std::uint64_t acknowledged = 0;  // by the peer's TCP, when last asked
  std::uint64_t owed_to = 0;       // of written, that unsent_bytes() waits for
  std::array<std::uint64_t, kEndsRemembered> ends{};
  std::uint64_t messages_sent = 0;
  Instant tx_progress{};
  Instant since{};  // it is open; as soon as somebody knows the time

  Framing framing;
  Rx rx = Rx::kNone;
  bool awaited = false;          // its rest, or that was tried
  std::uint32_t generation = 0;  // of the message
  std::uint64_t read = 0;        // bytes, ever
  std::uint64_t messages_received = 0;
  lnet::RxDecision decision;
  Instant rx_progress{};
  Instant rx_paused{};  // as of the last look: what we did not read is not late
  // Since when the payload that comes in is looked at, and what had been read by then.
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
    noops_first = static_cast<std::uint8_t>((noops_first + 1) % kNoopPlaces);
    --noops;
  }
  // The peer's TCP has everything: what comes now has all the time that a send has. That ours takes
  // bytes is no progress, else a trickle to one that is gone would never be late (lustre-release
  // lnet/klnds/socklnd/socklnd_cb.c: ksocknal_queue_tx_locked(), ksocknal_transmit()). Known as of
  // the last look; the next one finds what has been acknowledged since.
  [[nodiscard]] bool is_settled() const { return !has_to_send() && written == acknowledged; }
  [[nodiscard]] bool has_to_send() const {
    return greeting_sent < greeting_bytes || noops > 0 || !queue.empty();
  }
  [[nodiscard]] bool paused() const {
    return noops_full || rx == Rx::kParked || rx == Rx::kDecided || rx == Rx::kKept;
  }
};

// Of one message, in full.
[[nodiscard]] inline std::uint64_t wire_bytes(Protocol protocol, const lnet::Transmit& transmit) {
  return kFrameBytes + lnet_header_bytes(protocol) + transmit.header.payload_length;
}

}  // namespace plnet::socklnd
