// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/shape.hpp"

namespace plnet::drivers {

SimShape SimShape::rough() {
  SimShape shape;
  shape.link.latency_spread = std::chrono::microseconds(40);
  shape.link.slow = 20'000;
  shape.link.bytes_per_second = 1'000'000'000;
  // Small buffers, so that back-pressure is frequent.
  shape.stream.send_buffer_bytes = 6000;
  shape.stream.receive_buffer_bytes = 9000;
  shape.stream.segment_bytes_max = 1500;
  shape.stream.staging_bytes = 700;
  shape.stream.short_write = 200'000;
  shape.stream.split_read = 300'000;
  shape.stream.late_writable = 500'000;
  shape.verbs.post_refused = 50'000;
  shape.verbs.split_flight = 500'000;
  shape.verbs.late_write_lands = 500'000;
  shape.verbs.not_ready = 10'000;
  shape.verbs.not_ready_tries_max = 3;
  shape.endpoint.reorder_spread = std::chrono::microseconds(100);
  shape.endpoint.post_refused = 50'000;
  shape.endpoint.cancel_is_late = 300'000;
  shape.endpoint.unlink_apart = 500'000;
  shape.shard.stall = 2'000;
  return shape;
}

SimShape SimShape::hostile() {
  SimShape shape = rough();
  shape.stream.reset_segment = 2'000;
  shape.verbs.work_fails = 2'000;
  shape.verbs.not_ready_tries_max = 9;  // more than an LND's rnr_retry_count
  shape.verbs.connect_rejected = 50'000;
  shape.endpoint.message_lost = 5'000;
  shape.endpoint.answer_lost = 5'000;
  shape.endpoint.operation_torn = 10'000;
  return shape;
}

}  // namespace plnet::drivers
