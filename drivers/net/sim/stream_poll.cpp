// SPDX-License-Identifier: BSD-3-Clause
// The driver's poll: the events of the contract. A handler may call back into the driver, so the
// stream is looked up again after each of them.
#include <algorithm>
#include <utility>

#include "drivers/net/sim/dice.hpp"
#include "drivers/net/sim/stream_driver.hpp"

namespace plnet::drivers {

using Id = SimStreamCounters::Id;
using socklnd::StreamAddresses;

unsigned SimStreamDriver::poll(Instant /*now*/) {
  // Streams that become ready meanwhile wait for the next poll.
  const std::size_t count = std::min(ready_count_, kServedPerPoll);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t index = first_ready_;
    Stream& stream = streams_[index];
    first_ready_ = stream.next_ready;
    --ready_count_;
    stream.queued = false;
    if (first_ready_ != kNone) __builtin_prefetch(&streams_[first_ready_]);
    serve(index);
  }
  counters_.add(Id::kPollWork, count);
  return static_cast<unsigned>(count);
}

void SimStreamDriver::serve(std::uint32_t index) {
  if (!streams_[index].in_use) return;  // detached since
  const StreamId id{index, streams_[index].generation};
  if (!streams_[index].reported && !report_open(index, id)) return;

  Stream* stream = find(id);
  if (stream == nullptr) return;
  const bool over = stream->ended && (stream->unread_lost || stream->paused);
  if (stream->closing || (over && !stream->holding)) {
    report_closed(index, id);
    return;
  }
  const bool waits = stream->awaited > 0 && !wait_is_over(id);
  stream = find(id);
  if (stream == nullptr) return;
  const bool reads = !waits && !stream->paused;
  if (reads && (!stream->remainder.empty() ? present_remainder(id) : read_once(id))) {
    stream = find(id);
    if (stream == nullptr) return;
  }
  if (stream->closing) return;  // close() has made it ready
  if (stream->writable && !stream->ended) {
    stream->writable = false;
    events_.on_writable(id);
    stream = find(id);
    if (stream == nullptr || stream->closing) return;
  }
  finish_turn(index, id);
}

// False: nothing is to be read now.
bool SimStreamDriver::wait_is_over(StreamId id) {
  Stream* stream = find(id);
  const StreamConnection& connection = *fabric_.find(stream->end);
  const unsigned end = stream->end.end;
  if (SimStreamFabric::readable(connection, end) < stream->awaited) {
    const bool last = stream->ended || connection.pipes[1U - end].end_arrived;
    // Systems may want a read for reasons of their own.
    if (!last && !happens(fabric_.random(), fabric_.shape().split_read)) return false;
    stream->awaited = 0;
    return true;
  }
  stream->awaited = 0;
  stream->holding = true;
  events_.on_awaited(id);
  stream = find(id);
  if (stream == nullptr) return false;
  stream->holding = stream->holding && stream->paused;
  return !stream->paused && !stream->closing;
}

// True: the stream can be served further in this poll.
bool SimStreamDriver::report_open(std::uint32_t index, StreamId id) {
  Stream& stream = streams_[index];
  if (!stream.accepted && !stream.connected) {
    if (stream.closing || stream.ended) report_closed(index, id);
    return false;
  }
  if (stream.closing && stream.connected) {  // closed before on_connected()
    report_closed(index, id);
    return false;
  }
  stream.reported = true;
  const StreamConnection& connection = *fabric_.find(stream.end);
  const StreamAddresses addresses{connection.addresses[stream.end.end],
                                  connection.addresses[1U - stream.end.end]};
  if (stream.accepted) {
    fabric_.accepted(addresses.local, *this);
    events_.on_accepted(id, addresses);
  } else {
    events_.on_connected(id, addresses);
  }
  const Stream* now = find(id);
  if (now != nullptr && !now->closing) make_ready(index);  // data may have come with the end
  return false;
}

// Whether there is more to do, or the end has come.
void SimStreamDriver::finish_turn(std::uint32_t index, StreamId id) {
  const Stream& stream = streams_[index];
  if (stream.paused) {
    if (stream.ended) make_ready(index);
    return;
  }
  if (stream.awaited > 0) return;  // arriving bytes make it ready, and so does the end
  const StreamConnection& connection = *fabric_.find(stream.end);
  const bool more =
      SimStreamFabric::readable(connection, stream.end.end) > 0 || !stream.remainder.empty();
  if (more) {
    make_ready(index);
  } else if (stream.ended || connection.pipes[1U - stream.end.end].end_arrived) {
    report_closed(index, id);
  }
}

// True: a handler was called.
bool SimStreamDriver::read_once(StreamId id) {
  Stream* stream = find(id);
  stream->readable = false;
  const StreamEndId end = stream->end;
  const std::size_t available = SimStreamFabric::readable(*fabric_.find(end), end.end);
  if (available == 0) return false;
  const std::span<std::byte> destination = events_.destination(id);
  stream = find(id);
  if (stream == nullptr || stream->closing || stream->paused) return true;

  const std::span<std::byte> staging = fabric_.staging();
  std::size_t count = std::min(available, destination.size() + staging.size());
  std::size_t direct = std::min(count, destination.size());
  count = direct + fabric_.stageable(*fabric_.find(end), end.end, direct, count - direct);
  if (happens(fabric_.random(), fabric_.shape().split_read))
    count = drawn_between(fabric_.random(), 1, count);
  direct = std::min(count, direct);
  const std::span<std::byte> staged = staging.first(count - direct);
  fabric_.read(end, destination.first(direct), staged);
  counters_.add(Id::kReads);
  counters_.add(Id::kBytesRead, count);

  stream->was_paused = false;
  const std::size_t used = events_.on_bytes(id, direct, staged);
  keep_remainder(id, staged, used);
  return true;
}

bool SimStreamDriver::present_remainder(StreamId id) {
  Stream* stream = find(id);
  PooledBytes staged = stream->remainder.take();
  stream->was_paused = false;
  const std::size_t used = events_.on_bytes(id, 0, staged.view());
  keep_remainder(id, staged.view(), used);
  staged.clear(fabric_.network().pool());
  return true;
}

void SimStreamDriver::keep_remainder(StreamId id, std::span<const std::byte> staged,
                                     std::size_t used) {
  PLNET_CHECK(used <= staged.size(), "a handler used more bytes than it was given");
  Stream* stream = find(id);
  PLNET_CHECK(stream != nullptr || used == staged.size(),
              "a handler detached a stream with bytes left");
  if (stream == nullptr || stream->closing || used == staged.size()) return;
  PLNET_CHECK(stream->was_paused, "a handler left bytes over without pause_reading()");
  counters_.add(Id::kRemainders);
  stream->remainder.assign(fabric_.network().pool(), staged.subspan(used));
}

void SimStreamDriver::report_closed(std::uint32_t index, StreamId id) {
  const Stream& stream = streams_[index];
  const Errc cause = stream.cause;  // kClosed unless close() or the network has another cause
  const std::uint64_t lost = stream.closing ? stream.unacknowledged : fabric_.close(stream.end);
  free_stream(index);
  events_.on_closed(id, cause, lost);
}

}  // namespace plnet::drivers
