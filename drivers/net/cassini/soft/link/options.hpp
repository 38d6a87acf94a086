// SPDX-License-Identifier: BSD-3-Clause
// Limits of the link layer. They determine all its memory, which is allocated at start.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plnet::cassini::soft::link {

// The room of every port: its MTU is at least 256, of which a frame's own header takes 48.
inline constexpr std::size_t kPacketBytesFloor = 208;

inline constexpr unsigned kWindowMax = 512;  // packets; acknowledgements have as many bits

struct LinkOptions {
  std::size_t packet_bytes = 1452;  // largest packet; packets beyond the MTU are not sent
  unsigned peers = 256;             // limit of other NICs
  unsigned window = kWindowMax;     // unacknowledged packets to one peer; a power of two
  unsigned send_packets = 4096;     // waiting or in flight, to all peers together
  unsigned store_packets = 1024;    // received out of order, from all peers together

  std::uint64_t rto_initial_ns = 100'000;  // until a round trip was measured
  std::uint64_t rto_min_ns = 100'000;      // five times an acknowledgement's delay
  std::uint64_t rto_max_ns = 10'000'000;   // so that a peer that is back need not wait longer
  std::uint64_t ack_delay_ns = 20'000;     // wait for data that carries the acknowledgement
  unsigned ack_every = 16;                 // packets until an immediate acknowledgement
  std::uint64_t ask_ns = 1'000'000;        // first wait for an answer, doubled each time
  std::uint64_t ask_max_ns = 100'000'000;
  std::uint64_t probe_ns = 100'000'000;    // silence until a peer is probed
  std::uint64_t dead_ns = 500'000'000;     // silence until a peer is declared dead
  std::uint64_t idle_ns = 30'000'000'000;  // without a packet until its record is released

  std::uint64_t seed = 1;  // of session numbers: should differ between starts
};

}  // namespace plnet::cassini::soft::link
