// SPDX-License-Identifier: BSD-3-Clause
// What bounds the link layer. All memory follows from these and is taken at the start.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plnet::cassini::soft::link {

// Room that every port has: its MTU is 256 at least, of which a frame's own header takes 48.
inline constexpr std::size_t kPacketBytesFloor = 208;

inline constexpr unsigned kWindowMax = 512;  // packets; so many bits a peer may acknowledge

struct LinkOptions {
  std::size_t packet_bytes = 1452;  // largest packet; more than the MTU leaves room for is not sent
  unsigned peers = 256;             // other NICs known at a time
  unsigned window = kWindowMax;     // packets to one peer that are not acknowledged; a power of two
  unsigned send_packets = 4096;     // that wait or fly, to all peers together
  unsigned store_packets = 1024;    // that came out of turn, from all peers together

  std::uint64_t rto_initial_ns = 100'000;  // until a round trip was measured
  std::uint64_t rto_min_ns = 100'000;      // five times an acknowledgement's delay
  std::uint64_t rto_max_ns = 10'000'000;   // a peer that is back should not wait for us longer
  std::uint64_t ack_delay_ns = 20'000;     // how long one waits for data to ride on
  unsigned ack_every = 16;                 // packets; then at once
  std::uint64_t ask_ns = 1'000'000;        // first wait for an answer, then twice as long, …
  std::uint64_t ask_max_ns = 100'000'000;
  std::uint64_t probe_ns = 100'000'000;    // of silence, then a peer is asked whether it lives
  std::uint64_t dead_ns = 500'000'000;     // of silence, then it does not
  std::uint64_t idle_ns = 30'000'000'000;  // without a packet, then its record is free

  std::uint64_t seed = 1;  // of session numbers: should differ from start to start
};

}  // namespace plnet::cassini::soft::link
