// SPDX-License-Identifier: BSD-3-Clause
// The faults of a simulated network: latencies and the odds of each fault. They are drawn from the
// seed; a shape only has the frequencies. Odds are parts per million.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/clock.hpp"

namespace plnet::drivers {

using Ppm = std::uint32_t;

struct LinkShape {
  Duration latency_min = std::chrono::microseconds(2);
  Duration latency_spread = std::chrono::microseconds(3);  // uniform, added
  Ppm slow = 0;  // the share that takes up to `slow_spread` more: a tail
  Duration slow_spread = std::chrono::milliseconds(1);
  std::uint64_t bytes_per_second = 12'500'000'000;  // 100 Gb/s; 0: size costs no time
};

struct StreamShape {
  std::size_t send_buffer_bytes = 262'144;
  std::size_t receive_buffer_bytes = 262'144;
  std::size_t segment_bytes_max = 65'536;  // as generic segmentation offload hands them over
  std::size_t staging_bytes = 16'384;
  Ppm short_write = 0;  // a write takes a drawn prefix, maybe nothing, though there is room
  Ppm split_read = 0;   // a read ends at a drawn byte
  Ppm late_writable = 0;
  Ppm reset_segment = 0;  // the connection breaks at a drawn byte of a segment
  Ppm lose_unread_on_reset = 500'000;
  Duration writable_delay_max = std::chrono::microseconds(200);
  Duration retransmit_after = std::chrono::milliseconds(200);  // doubled for each further try
  unsigned retransmits_max = 8;                                // about 50 s
  unsigned connect_tries_max = 6;  // the kernel's tcp_syn_retries; 1 s doubled: 63 s
  Duration connect_retry_after = std::chrono::seconds(1);
};

struct VerbsShape {
  Ppm post_refused = 0;      // a post is refused though there is room
  Ppm split_flight = 0;      // only a drawn part of the posted requests goes on the wire at once
  Ppm work_fails = 0;        // a request ends in error, and the queue pair with it
  Ppm late_write_lands = 0;  // a write that races to_error() is placed until on_drained()
  Ppm not_ready = 0;         // a receiver is not ready, though it has posted receives
  unsigned not_ready_tries_max = 1;  // and so for as many tries, at most
  Ppm connect_rejected = 0;          // a request to connect is rejected, before any LND has seen it
  // A broken device: on_drained() comes while writes may still land. Tests that checks notice it.
  bool drains_early = false;
  Duration receiver_not_ready_delay = std::chrono::microseconds(640);
  Duration retry_after = std::chrono::milliseconds(67);  // local ack timeout 14
  Duration drain_delay_max = std::chrono::microseconds(50);
  unsigned connect_tries_max = 4;
  Duration connect_retry_after = std::chrono::seconds(1);
};

struct EndpointShape {
  Duration reorder_spread = std::chrono::microseconds(5);  // any message may overtake any other
  Ppm post_refused = 0;                                    // kAgain though there is room
  Ppm message_lost = 0;                                    // the sender sees kTimedOut
  Ppm answer_lost = 0;     // delivered, yet the sender sees kTimedOut
  Ppm operation_torn = 0;  // a tagged read or write fails after a drawn part of it
  Ppm cancel_is_late =
      0;  // an operation may still use the buffer after cancel_tagged() has succeeded
  Ppm unlink_apart = 0;  // kBufferUnlinked by itself instead of with the last message
  Duration cancel_delay_max = std::chrono::microseconds(20);
  Duration retry_after = std::chrono::microseconds(50);  // of a message that found no buffer
  unsigned retries_max = 10;                             // the NIC gives up after 0.5 ms
  Duration timeout =
      std::chrono::milliseconds(500);  // the time for which the NIC tries a silent peer
};

// The use of its CPU by a shard.
struct ShardShape {
  Duration turn_min = std::chrono::nanoseconds(500);
  Duration turn_spread = std::chrono::nanoseconds(500);
  Ppm stall = 0;  // the operating system takes the CPU away for a while
  Duration stall_max = std::chrono::milliseconds(5);
};

struct SimShape {
  LinkShape link;
  StreamShape stream;
  VerbsShape verbs;
  EndpointShape endpoint;
  ShardShape shard;

  // The faults that a correct program meets on a healthy network.
  [[nodiscard]] static SimShape calm() { return {}; }
  // All faults except broken connections: programs must still work.
  [[nodiscard]] static SimShape rough();
  // Connections break, messages are lost: programs must notice and recover.
  [[nodiscard]] static SimShape hostile();
};

}  // namespace plnet::drivers
