// SPDX-License-Identifier: BSD-3-Clause
// The way of bytes from one end of a connection to the other, and how an end learns of a loss. In
// all functions here `end` is the sending end of the pipe, unless stated otherwise.
#include <algorithm>

#include "drivers/net/sim/dice.hpp"
#include "drivers/net/sim/stream_driver.hpp"
#include "drivers/net/sim/stream_fabric.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

namespace {

bool is_there(const StreamEnd& end) {
  return end.state == StreamEnd::State::kOpen || end.state == StreamEnd::State::kDetached;
}

}  // namespace

// Puts bytes on the wire as far as the window allows.
void SimStreamFabric::pump(std::uint32_t index, unsigned end) {
  StreamConnection& connection = connections_[index];
  StreamPipe& pipe = connection.pipes[end];
  const HostId from = connection.ends[end].host;
  const StreamEnd& receiver = connection.ends[1 - end];
  if (pipe.dead || pipe.stalled || connection.ends[end].state == StreamEnd::State::kBroken) return;
  while (pipe.sent < pipe.written) {
    const std::uint64_t outside = pipe.sent - pipe.read;
    const std::uint64_t window =
        receiver.receive_buffer > outside ? receiver.receive_buffer - outside : std::uint64_t{0};
    if (window == 0) return;  // the reader makes room
    const std::uint64_t count =
        std::min<std::uint64_t>({pipe.written - pipe.sent, window, shape_.segment_bytes_max});
    const auto arrives = network_.transit(from, receiver.host, static_cast<std::size_t>(count));
    if (!arrives) {
      stall(index, end);
      return;
    }
    pipe.sent += count;
    fly(index, end, pipe.sent, *arrives, false);
  }
  if (!pipe.ending || pipe.end_sent) return;
  const auto arrives = network_.transit(from, receiver.host, 0);
  if (!arrives) {
    stall(index, end);
    return;
  }
  pipe.end_sent = true;
  fly(index, end, pipe.sent, *arrives, true);
}

// One event for each pipe is scheduled at most, for the segment in front.
void SimStreamFabric::fly(std::uint32_t index, unsigned end, std::uint64_t to, Instant arrives,
                          bool alone) {
  StreamPipe& pipe = connections_[index].pipes[end];
  PLNET_DEBUG_CHECK(pipe.in_order(), "a segment is written before it flies");
  const Instant at = std::max(arrives, pipe.last_arrival);
  pipe.last_arrival = at;
  if (!alone && !pipe.flying.empty() && pipe.flying.back().arrival == at) {
    pipe.flying.back().end = to;
    return;
  }
  pipe.flying.push(network_.pool(), {to, at});
  if (pipe.flying.size() == 1) schedule(at, Kind::kArrival, index, end);
}

void SimStreamFabric::arrival(std::uint32_t index, unsigned end) {
  StreamConnection& connection = connections_[index];
  StreamPipe& pipe = connection.pipes[end];
  StreamEnd& receiver = connection.ends[1 - end];
  if (pipe.flying.empty() || pipe.flying.front().arrival > network_.now()) return;  // was lost
  if (!network_.reaches(connection.ends[end].host, receiver.host)) {
    pipe.flying.clear(network_.pool());
    pipe.sent = pipe.arrived;
    pipe.end_sent = false;
    stall(index, end);
    return;
  }
  const StreamPipe::Segment segment = pipe.flying.front();
  pipe.flying.pop(network_.pool());
  if (!is_there(receiver)) {
    pipe.flying.clear(network_.pool());
    if (receiver.state == StreamEnd::State::kFinished) reset_from(index, 1 - end);
    return;
  }
  if (segment.end > pipe.arrived && happens(random_, shape_.reset_segment)) {
    pipe.arrived += random_.below(segment.end - pipe.arrived + 1);
    reset_end(index, end, Errc::kReset);
    reset_end(index, 1 - end, Errc::kReset);
    return;
  }
  pipe.arrived = segment.end;
  PLNET_DEBUG_CHECK(pipe.in_order(), "bytes are sent before they arrive");
  pipe.end_arrived = pipe.end_sent && pipe.flying.empty();
  if (pipe.end_arrived) {  // a FIN acknowledges everything that its sender had received
    StreamPipe& other_way = connection.pipes[1 - end];
    if (other_way.ack_count > 0)
      other_way.acknowledged = other_way.acks[other_way.ack_count - 1U].up_to;
    other_way.ack_count = 0;
    if (other_way.wants_writable) arm_writable(index, 1 - end);
  }
  if (!pipe.flying.empty()) schedule(pipe.flying.front().arrival, Kind::kArrival, index, end);
  acknowledge(index, end);
  if (receiver.driver != nullptr) receiver.driver->note_readable(receiver.stream);
}

void SimStreamFabric::acknowledge(std::uint32_t index, unsigned end) {
  StreamConnection& connection = connections_[index];
  StreamPipe& pipe = connection.pipes[end];
  const HostId sender = connection.ends[end].host;
  const HostId receiver = connection.ends[1 - end].host;
  take_acks(pipe);
  if (pipe.acknowledged == pipe.arrived) return;
  if (!network_.reaches(receiver, sender)) {
    stall(index, end);
    return;
  }
  Instant at = network_.now() + network_.latency(receiver, sender);
  if (pipe.ack_count > 0) at = std::max(at, pipe.acks[pipe.ack_count - 1U].arrival);
  if (pipe.ack_count < StreamPipe::kAcksMax) ++pipe.ack_count;
  pipe.acks[pipe.ack_count - 1U] = {at, pipe.arrived};
  if (pipe.wants_writable) arm_writable(index, end);
}

// Acknowledgements cost no event of their own: a reader of the state looks which have arrived.
void SimStreamFabric::take_acks(StreamPipe& pipe) const {
  while (pipe.ack_count > 0 && pipe.acks[0].arrival <= network_.now()) {
    pipe.acknowledged = pipe.acks[0].up_to;
    pipe.acks[0] = pipe.acks[1];
    --pipe.ack_count;
    pipe.retransmits = 0;
  }
}

std::size_t SimStreamFabric::send_room(StreamConnection& connection, unsigned end) const {
  StreamPipe& pipe = connection.pipes[end];
  take_acks(pipe);
  const std::uint64_t used = pipe.written - pipe.acknowledged;
  const std::uint64_t size = connection.ends[end].send_buffer;
  return static_cast<std::size_t>(size > used ? size - used : 0);
}

void SimStreamFabric::arm_writable(std::uint32_t index, unsigned end) {
  StreamConnection& connection = connections_[index];
  StreamPipe& pipe = connection.pipes[end];
  if (pipe.writable_pending) return;
  Instant when = network_.now();
  if (send_room(connection, end) == 0) {
    if (pipe.ack_count == 0) return;  // acknowledge() comes here again
    when = pipe.acks[0].arrival;
  } else if (happens(random_, shape_.late_writable)) {
    when += drawn_within(random_, shape_.writable_delay_max);
  }
  pipe.writable_pending = true;
  schedule(when, Kind::kWritable, index, end);
}

void SimStreamFabric::writable(std::uint32_t index, unsigned end) {
  StreamConnection& connection = connections_[index];
  StreamPipe& pipe = connection.pipes[end];
  pipe.writable_pending = false;
  if (!pipe.wants_writable) return;
  if (send_room(connection, end) == 0) {
    arm_writable(index, end);
    return;
  }
  pipe.wants_writable = false;
  const StreamEnd& writer = connection.ends[end];
  if (writer.driver != nullptr) writer.driver->note_writable(writer.stream);
}

// The reader has made room. Reported only when it is worth a segment (no silly windows), at the
// latest when everything has been read.
void SimStreamFabric::open_window(std::uint32_t index, unsigned end) {
  StreamConnection& connection = connections_[index];
  StreamPipe& pipe = connection.pipes[end];
  if (pipe.window_pending || pipe.sent == pipe.written) return;
  const StreamEnd& reader = connection.ends[1 - end];
  const std::uint64_t outside = pipe.sent - pipe.read;
  const std::uint64_t worth =
      std::min<std::uint64_t>(shape_.segment_bytes_max, (reader.receive_buffer + 1) / 2);
  if (reader.receive_buffer < outside + worth) return;
  if (!network_.reaches(reader.host, connection.ends[end].host)) {
    stall(index, end);  // the writer probes
    return;
  }
  pipe.window_pending = true;
  const Duration delay = network_.latency(reader.host, connection.ends[end].host);
  schedule(network_.now() + delay, Kind::kWindow, index, end);
}

void SimStreamFabric::stall(std::uint32_t index, unsigned end) {
  StreamPipe& pipe = connections_[index].pipes[end];
  if (pipe.dead || pipe.stalled) return;
  pipe.stalled = true;
  PLNET_DEBUG_CHECK(pipe.retransmits <= shape_.retransmits_max,
                    "a connection gives up after its tries");
  schedule(network_.now() + shape_.retransmit_after * (1U << pipe.retransmits), Kind::kRetransmit,
           index, end);
}

// The other end has gone silently: the window stays closed and nothing is acknowledged. An end with
// bytes to send finds out by a probe.
void SimStreamFabric::probe(std::uint32_t index, unsigned end) {
  const StreamPipe& pipe = connections_[index].pipes[end];
  if (is_there(connections_[index].ends[end]) && pipe.acknowledged < pipe.written)
    stall(index, end);
}

void SimStreamFabric::retransmit(std::uint32_t index, unsigned end) {
  StreamConnection& connection = connections_[index];
  StreamPipe& pipe = connection.pipes[end];
  PLNET_CHECK(pipe.stalled, "only a stalled direction is sent again");
  pipe.stalled = false;
  const HostId near = connection.ends[end].host;
  const HostId far = connection.ends[1 - end].host;
  const bool there = network_.reaches(near, far);
  const bool back = network_.reaches(far, near);
  if (there && back) {
    pipe.retransmits = 0;
  } else if (++pipe.retransmits > shape_.retransmits_max) {
    reset_end(index, end, Errc::kTimedOut);
    return;
  }
  if (!there) {
    stall(index, end);
    return;
  }
  if (connection.ends[1 - end].state ==
      StreamEnd::State::kFinished) {  // for example it has rebooted
    reset_from(index, 1 - end);
    return;
  }
  pump(index, end);
  acknowledge(index, end);
}

// `end` sends a RST behind the bytes that it has sent already.
void SimStreamFabric::reset_from(std::uint32_t index, unsigned end) {
  StreamConnection& connection = connections_[index];
  if (!is_there(connection.ends[1 - end])) return;
  const auto arrives =
      network_.transit(connection.ends[end].host, connection.ends[1 - end].host, 0);
  if (!arrives) {
    probe(index, 1 - end);
    return;
  }
  const Instant at = std::max(*arrives, connection.pipes[end].last_arrival + Duration{1});
  schedule(at, Kind::kReset, index, 1 - end);
}

// `end` learns that the connection has ended.
void SimStreamFabric::reset_end(std::uint32_t index, unsigned end, Errc cause) {
  StreamEnd& told = connections_[index].ends[end];
  if (told.state == StreamEnd::State::kFinished || told.state == StreamEnd::State::kBroken) return;
  if (told.state == StreamEnd::State::kOpening && end == 1) {
    drop_unconfirmed(index);
    return;
  }
  const bool lost = happens(random_, shape_.lose_unread_on_reset);
  told.state = StreamEnd::State::kBroken;
  if (told.driver != nullptr) told.driver->note_ended(told.stream, cause, lost);
}

// The peer of `end` has been unreachable since this was scheduled, or is so again.
void SimStreamFabric::keepalive(std::uint32_t index, unsigned end) {
  StreamConnection& connection = connections_[index];
  PLNET_CHECK(connection.ends[end].keepalive_pending, "a timer was started for this end");
  connection.ends[end].keepalive_pending = false;
  const HostId near = connection.ends[end].host;
  const HostId far = connection.ends[1 - end].host;
  if (network_.reaches(near, far) && network_.reaches(far, near)) return;
  reset_end(index, end, Errc::kTimedOut);
}

}  // namespace plnet::drivers
