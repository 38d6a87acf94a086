// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/stream_driver.hpp"

#include <algorithm>
#include <utility>

#include "drivers/net/sim/dice.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

using Id = SimStreamCounters::Id;
using socklnd::DetachedStream;

namespace {

// The descriptor of a detached stream: end, connection, generation.
constexpr unsigned kDetachedConnectionShift = 1;
constexpr unsigned kDetachedGenerationShift = 25;

std::intptr_t descriptor_of(StreamEndId id) {
  return static_cast<std::intptr_t>(
      static_cast<std::uint64_t>(id.generation) << kDetachedGenerationShift |
      static_cast<std::uint64_t>(id.connection) << kDetachedConnectionShift | id.end);
}

StreamEndId end_of(std::intptr_t descriptor) {
  const auto word = static_cast<std::uint64_t>(descriptor);
  constexpr std::uint64_t kConnectionMask =
      (1U << (kDetachedGenerationShift - kDetachedConnectionShift)) - 1;
  return {static_cast<std::uint32_t>(word >> kDetachedConnectionShift & kConnectionMask),
          static_cast<std::uint32_t>(word >> kDetachedGenerationShift),
          static_cast<std::uint8_t>(word & 1U)};
}

}  // namespace

SimStreamDriver::SimStreamDriver(SimStreamFabric& fabric, HostId host,
                                 socklnd::StreamEvents& events, Doorbell& doorbell)
    : fabric_(fabric), events_(events), doorbell_(doorbell), host_(host) {}

SimStreamDriver::~SimStreamDriver() {
  for (const socklnd::SocketAddress& local : listening_)
    fabric_.stop_listening(*this, local);
  for (Stream& stream : streams_) {
    if (stream.in_use && !stream.closing) fabric_.abandon(stream.end);
    stream.remainder.clear(fabric_.network().pool());
  }
}

std::size_t SimStreamDriver::write(StreamId id,
                                   std::span<const std::span<const std::byte>> pieces) {
  const Stream* stream = find(id);
  if (stream == nullptr) {
    counters_.add(Id::kStaleCalls);
    return 0;
  }
  counters_.add(Id::kWrites);
  if (stream->closing || stream->ended) return 0;  // on_closed() follows
  std::size_t offered = 0;
  for (const auto& piece : pieces)
    offered += piece.size();
  if (offered == 0) return 0;
  std::size_t limit = offered;
  if (happens(fabric_.random(), fabric_.shape().short_write))
    limit = drawn_between(fabric_.random(), 0, offered);
  const std::size_t taken = fabric_.write(stream->end, pieces, limit);
  PLNET_CHECK(taken <= limit, "the fabric takes no more than it is given");
  counters_.add(Id::kBytesWritten, taken);
  if (taken < offered) counters_.add(Id::kShortWrites);
  return taken;
}

void SimStreamDriver::pause_reading(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr) {
    counters_.add(Id::kStaleCalls);
    return;
  }
  stream->paused = true;
  stream->was_paused = true;
}

void SimStreamDriver::resume_reading(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr) {
    counters_.add(Id::kStaleCalls);
    return;
  }
  stream->paused = stream->holding = false;
  make_ready(id.index);
}

bool SimStreamDriver::await(StreamId id, std::size_t bytes) {
  Stream* const stream = find(id);
  const bool can = stream != nullptr && !stream->closing && !stream->ended && stream->reported;
  if (!can || stream->awaited > 0 || !stream->remainder.empty()) return false;
  fabric_.make_room(stream->end, bytes);
  stream->awaited = static_cast<std::uint32_t>(bytes);
  make_ready(id.index);
  return true;
}

std::size_t SimStreamDriver::relay(StreamId from, StreamId to,
                                   std::span<const std::span<const std::byte>> head,
                                   std::size_t bytes) {
  const Stream* const source = find(from);
  const Stream* const target = find(to);
  if (source == nullptr || target == nullptr) return 0;
  PLNET_CHECK(source->holding, "the bytes of `from` were awaited");
  std::size_t head_bytes = 0;
  for (const auto& piece : head)
    head_bytes += piece.size();
  const std::size_t taken = write(to, head);
  if (taken < head_bytes || target->closing || target->ended) return taken;
  std::size_t limit = bytes;
  if (happens(fabric_.random(), fabric_.shape().short_write))
    limit = drawn_between(fabric_.random(), 0, bytes);
  const std::size_t moved = fabric_.hand_on(source->end, target->end, bytes, limit);
  PLNET_CHECK(moved <= limit, "the fabric moves no more than it is asked");
  counters_.add(Id::kBytesRelayed, moved);
  return taken + moved;
}

Result<void> SimStreamDriver::fetch(StreamId id, std::span<std::byte> target) {
  const Stream* const stream = find(id);
  PLNET_CHECK(stream != nullptr && stream->holding, "the bytes were awaited");
  fabric_.read(stream->end, target, {});
  counters_.add(Id::kBytesRead, target.size());
  return {};
}

void SimStreamDriver::acknowledge_now(StreamId id) {
  counters_.add(find(id) == nullptr ? Id::kStaleCalls : Id::kQuickAcks);
}

Result<SimStreamDriver::StreamId> SimStreamDriver::connect(const socklnd::ConnectRequest& request) {
  if (streams_.size() >= kStreamsMax) return std::unexpected(Errc::kNoMemory);
  const auto end = fabric_.connect(*this, host_, request);
  if (!end) return std::unexpected(end.error());
  counters_.add(Id::kConnects);
  const std::uint32_t index = add_stream(*end);
  return StreamId{index, streams_[index].generation};
}

Result<void> SimStreamDriver::listen(const socklnd::SocketAddress& local, unsigned backlog,
                                     const socklnd::StreamOptions& accepted) {
  const auto done = fabric_.listen(*this, host_, local, backlog, accepted);
  if (done) listening_.push_back(local);
  return done;
}

void SimStreamDriver::stop_listening(const socklnd::SocketAddress& local) {
  fabric_.stop_listening(*this, local);
  std::erase(listening_, local);
}

void SimStreamDriver::close(StreamId id, Errc cause) {
  Stream* stream = find(id);
  if (stream == nullptr) {
    counters_.add(Id::kStaleCalls);
    return;
  }
  if (stream->closing) return;
  stream->closing = true;
  stream->cause = cause;
  stream->unacknowledged = fabric_.close(stream->end);
  make_ready(id.index);
}

Result<DetachedStream> SimStreamDriver::detach(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->closing || stream->ended) return std::unexpected(Errc::kClosed);
  const bool waits = stream->awaited > 0 || stream->holding;
  if (!stream->reported || !stream->remainder.empty() || stream->writable || waits)
    return std::unexpected(Errc::kBusy);
  const auto done = fabric_.detach(stream->end);
  if (!done) return std::unexpected(done.error());
  const StreamConnection& connection = *fabric_.find(stream->end);
  const DetachedStream detached{
      descriptor_of(stream->end),
      {connection.addresses[stream->end.end], connection.addresses[1U - stream->end.end]}};
  free_stream(id.index);
  return detached;
}

Result<SimStreamDriver::StreamId> SimStreamDriver::adopt(const DetachedStream& detached,
                                                         const socklnd::StreamOptions& options) {
  if (streams_.size() >= kStreamsMax) return std::unexpected(Errc::kNoMemory);
  const StreamEndId end = end_of(detached.descriptor);
  const auto done = fabric_.adopt(end, *this, host_, options);
  if (!done) return std::unexpected(done.error());
  const std::uint32_t index = add_stream(end);
  Stream& stream = streams_[index];
  stream.reported = true;
  stream.readable = true;  // for bytes that came meanwhile
  make_ready(index);
  return StreamId{index, stream.generation};
}

// Acts like a driver that adopts the stream and closes it at once.
void SimStreamDriver::discard(const DetachedStream& detached) {
  const StreamEndId end = end_of(detached.descriptor);
  if (fabric_.adopt(end, *this, host_, {})) (void)fabric_.close(end);
}

bool SimStreamDriver::is_local(const socklnd::SocketAddress& address) const {
  return fabric_.network().host_of(address.ip) == host_;
}

socklnd::StreamFacts SimStreamDriver::facts(StreamId id) const {
  socklnd::StreamFacts facts;
  const Stream* stream = find(id);
  if (stream == nullptr) return facts;
  const StreamConnection* connection = fabric_.find(stream->end);
  if (connection == nullptr) return facts;
  const StreamPipe& pipe = connection->pipes[stream->end.end];
  facts.unsent_bytes = pipe.written - pipe.sent;
  facts.unacknowledged_bytes = fabric_.unacknowledged(*connection, stream->end.end);
  facts.retransmits = pipe.retransmits;
  return facts;
}

socklnd::StreamProgress SimStreamDriver::progress(StreamId id) const {
  const socklnd::StreamFacts known = facts(id);
  return {.unacknowledged_bytes = known.unacknowledged_bytes,
          .unanswered = static_cast<std::uint32_t>(known.retransmits)};
}

std::uint32_t SimStreamDriver::add_accepted(StreamEndId end) {
  counters_.add(Id::kAccepts);
  const std::uint32_t index = add_stream(end);
  streams_[index].accepted = true;
  make_ready(index);
  return index;
}

void SimStreamDriver::note_connected(std::uint32_t index) {
  streams_[index].connected = true;
  make_ready(index);
}

void SimStreamDriver::note_readable(std::uint32_t index) {
  streams_[index].readable = true;
  if (!streams_[index].paused) make_ready(index);
}

void SimStreamDriver::note_writable(std::uint32_t index) {
  streams_[index].writable = true;
  make_ready(index);
}

void SimStreamDriver::note_ended(std::uint32_t index, Errc cause, bool unread_lost) {
  Stream& stream = streams_[index];
  stream.ended = true;
  stream.unread_lost = unread_lost;
  stream.cause = cause;
  if (!stream.connected && !stream.accepted && !stream.reported) {
    counters_.add(Id::kFailedConnects);
  } else {
    counters_.add(cause == Errc::kTimedOut ? Id::kTimeouts : Id::kResets);
  }
  make_ready(index);
}

SimStreamDriver::Stream* SimStreamDriver::find(StreamId id) {
  if (id.index >= streams_.size()) return nullptr;
  Stream& stream = streams_[id.index];
  return stream.in_use && stream.generation == id.generation ? &stream : nullptr;
}

const SimStreamDriver::Stream* SimStreamDriver::find(StreamId id) const {
  return const_cast<SimStreamDriver*>(this)->find(id);
}

std::uint32_t SimStreamDriver::add_stream(StreamEndId end) {
  std::uint32_t index = first_free_;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(streams_.size());
    streams_.emplace_back();
  } else {
    first_free_ = streams_[index].next_free;
  }
  Stream& stream = streams_[index];
  PLNET_CHECK(!stream.in_use && fabric_.find(end) != nullptr, "a new stream has a connection");
  stream.end = end;
  stream.in_use = true;
  counters_.add(Id::kOpen);
  fabric_.find(end)->ends[end.end].stream = index;
  return index;
}

void SimStreamDriver::free_stream(std::uint32_t index) {
  Stream& stream = streams_[index];
  PLNET_CHECK(stream.in_use, "a stream is freed once");
  Stream fresh;
  fresh.generation = stream.generation + 1;
  fresh.queued = stream.queued;  // its place in the queue stays, for its successor or without use
  fresh.next_ready = stream.next_ready;
  stream.remainder.clear(fabric_.network().pool());
  stream = fresh;
  stream.next_free = first_free_;
  first_free_ = index;
  counters_.subtract(Id::kOpen);
}

void SimStreamDriver::make_ready(std::uint32_t index) {
  Stream& stream = streams_[index];
  PLNET_DEBUG_CHECK(index < streams_.size() && stream.in_use, "only streams in use have events");
  if (stream.queued) return;
  stream.queued = true;
  stream.next_ready = kNone;
  (ready_count_ == 0 ? first_ready_ : streams_[last_ready_].next_ready) = index;
  last_ready_ = index;
  ++ready_count_;
  doorbell_.ring();
}

}  // namespace plnet::drivers
