// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/stream_fabric.hpp"

#include <algorithm>

#include "drivers/net/sim/dice.hpp"
#include "drivers/net/sim/stream_driver.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

namespace {

// The word of an event: kind, end, generation, connection.
constexpr unsigned kKindShift = 56;
constexpr unsigned kEndShift = 55;
constexpr unsigned kGenerationShift = 32;
constexpr std::uint64_t kGenerationMask = (1ULL << (kEndShift - kGenerationShift)) - 1;

}  // namespace

SimStreamFabric::SimStreamFabric(SimNetwork& network, const StreamShape& shape, std::uint64_t seed)
    : network_(network),
      loop_(network.loop()),
      shape_(shape),
      random_(Random(seed).fork("streams")),
      staging_(shape.staging_bytes) {
  network_.watch_reachability(*this);
}

void SimStreamFabric::schedule(Instant when, Kind kind, std::uint32_t connection, unsigned end) {
  const std::uint64_t generation = connections_[connection].generation() & kGenerationMask;
  loop_.schedule(when, *this,
                 static_cast<std::uint64_t>(kind) << kKindShift |
                     static_cast<std::uint64_t>(end) << kEndShift | generation << kGenerationShift |
                     connection);
}

void SimStreamFabric::on_event(std::uint64_t word) {
  const auto index = static_cast<std::uint32_t>(word);
  const auto kind = static_cast<Kind>(word >> kKindShift);
  const auto end = static_cast<unsigned>(word >> kEndShift & 1U);
  StreamConnection& connection = connections_[index];
  const std::uint64_t generation = word >> kGenerationShift & kGenerationMask;
  if ((connection.ends[end].generation & kGenerationMask) != generation) return;
  switch (kind) {
    case Kind::kArrival: arrival(index, end); break;
    case Kind::kWritable: writable(index, end); break;
    case Kind::kWindow:
      PLNET_DEBUG_CHECK(connection.in_use() && connection.pipes[end].window_pending,
                        "a window opens once");
      connection.pipes[end].window_pending = false;
      pump(index, end);
      break;
    case Kind::kRetransmit: retransmit(index, end); break;
    case Kind::kReset: reset_end(index, end, Errc::kReset); break;
    case Kind::kKeepalive: keepalive(index, end); break;
    default: handle_setup(kind, index, connection); break;
  }
}

void SimStreamFabric::on_event_soon(std::uint64_t word, unsigned step) const {
  const StreamConnection& connection = connections_[static_cast<std::uint32_t>(word)];
  const auto end = static_cast<unsigned>(word >> kEndShift & 1U);
  const StreamPipe& pipe = connection.pipes[end];
  const StreamEnd& receiver = connection.ends[1U - end];
  if (step == 0) {
    __builtin_prefetch(&connection.ends);
    __builtin_prefetch(&pipe);
    __builtin_prefetch(&pipe.flying);
  } else if (receiver.driver != nullptr) {
    if (step == 1) pipe.flying.fetch();
    receiver.driver->prefetch(receiver.stream, step - 1);
  }
}

StreamConnection* SimStreamFabric::find(StreamEndId id) {
  if (id.connection >= connections_.size()) return nullptr;
  StreamConnection& connection = connections_[id.connection];
  return connection.ends[id.end].generation == id.generation ? &connection : nullptr;
}

std::size_t SimStreamFabric::readable(const StreamConnection& connection, unsigned end) {
  const StreamPipe& pipe = connection.pipes[1 - end];
  return static_cast<std::size_t>(pipe.arrived - pipe.read);
}

std::size_t SimStreamFabric::write(StreamEndId id,
                                   std::span<const std::span<const std::byte>> pieces,
                                   std::size_t limit) {
  StreamConnection* connection = find(id);
  if (connection == nullptr || connection->ends[id.end].state != StreamEnd::State::kOpen) return 0;
  StreamPipe& pipe = connection->pipes[id.end];
  std::size_t room = std::min(limit, send_room(*connection, id.end));
  std::size_t taken = 0;
  std::size_t offered = 0;
  for (const std::span<const std::byte>& piece : pieces) {
    offered += piece.size();
    const std::size_t here = std::min(piece.size(), room);
    push(pipe.bytes, piece.first(here));
    room -= here;
    taken += here;
  }
  pipe.written += taken;
  PLNET_DEBUG_CHECK(pipe.in_order(), "bytes are sent before they arrive");
  pump(id.connection, id.end);
  if (taken < offered) {
    pipe.wants_writable = true;
    arm_writable(id.connection, id.end);
  }
  return taken;
}

void SimStreamFabric::push(ByteQueue& queue, std::span<const std::byte> bytes) {
  LazyMemory* const lazy = network_.lazy_memory();
  if (lazy == nullptr || !lazy->holds(bytes.data())) {
    queue.push(network_.pool(), bytes);
  } else {
    lazy->for_each_part(bytes, [&](const auto& part) { queue.push(network_.pool(), part); });
  }
}

std::size_t SimStreamFabric::stageable(const StreamConnection& connection, unsigned end,
                                       std::size_t direct, std::size_t limit) {
  if (network_.lazy_memory() == nullptr) return limit;
  const ByteQueue& bytes = connection.pipes[1 - end].bytes;
  const std::size_t plain = bytes.plain_bytes(direct, limit);
  return direct + plain > 0 ? plain : std::min(limit, bytes.described_bytes());
}

void SimStreamFabric::read(StreamEndId id, std::span<std::byte> direct,
                           std::span<std::byte> staged) {
  StreamConnection* connection = find(id);
  PLNET_CHECK(connection != nullptr, "a driver reads from a connection that is gone");
  const unsigned sender = 1U - id.end;
  StreamPipe& pipe = connection->pipes[sender];
  if (!direct.empty()) pipe.bytes.move_out(network_.pool(), network_.lazy_memory(), direct);
  if (!staged.empty()) pipe.bytes.move_out(network_.pool(), nullptr, staged);
  pipe.read += direct.size() + staged.size();
  PLNET_DEBUG_CHECK(pipe.in_order(), "bytes arrive before they are read");
  loop_.note(pipe.read);
  open_window(id.connection, sender);
}

std::size_t SimStreamFabric::hand_on(StreamEndId from, StreamEndId to, std::size_t offered,
                                     std::size_t limit) {
  StreamConnection* const source = find(from);
  StreamConnection* const target = find(to);
  PLNET_CHECK(source != nullptr, "the bytes of an open connection are handed on");
  if (target == nullptr || target->ends[to.end].state != StreamEnd::State::kOpen) return 0;
  const unsigned sender = 1U - from.end;
  StreamPipe& in = source->pipes[sender];
  StreamPipe& out = target->pipes[to.end];
  const std::size_t moved = std::min(limit, send_room(*target, to.end));
  in.bytes.move_to(network_.pool(), out.bytes, moved);
  in.read += moved;
  bytes_handed_on_ += moved;
  loop_.note(in.read);
  out.written += moved;
  PLNET_DEBUG_CHECK(in.in_order() && out.in_order(), "bytes arrive before they are handed on");
  pump(to.connection, to.end);
  if (moved < offered) {
    out.wants_writable = true;
    arm_writable(to.connection, to.end);
  }
  open_window(from.connection, sender);
  return moved;
}

void SimStreamFabric::make_room(StreamEndId id, std::size_t bytes) {
  StreamConnection* const connection = find(id);
  PLNET_CHECK(connection != nullptr, "room is made for an open connection");
  StreamEnd& end = connection->ends[id.end];
  if (end.receive_buffer >= bytes) return;
  end.receive_buffer = static_cast<std::uint32_t>(bytes);
  open_window(id.connection, 1U - id.end);
}

std::uint64_t SimStreamFabric::unacknowledged(const StreamConnection& connection,
                                              unsigned end) const {
  const StreamPipe& pipe = connection.pipes[end];
  std::uint64_t acknowledged = pipe.acknowledged;
  for (std::size_t i = 0; i < pipe.ack_count; ++i) {
    if (pipe.acks[i].arrival <= network_.now()) acknowledged = pipe.acks[i].up_to;
  }
  return pipe.written - acknowledged;
}

std::uint64_t SimStreamFabric::close(StreamEndId id) {
  StreamConnection* connection = find(id);
  if (connection == nullptr) return 0;
  const std::uint64_t lost = unacknowledged(*connection, id.end);
  const StreamEnd& end = connection->ends[id.end];
  if (end.state == StreamEnd::State::kOpening) drop_unconfirmed(id.connection);
  if (end.state == StreamEnd::State::kOpen) {
    StreamPipe& pipe = connection->pipes[id.end];
    const bool unread = readable(*connection, id.end) > 0;
    const bool unsent = pipe.written > pipe.sent;
    if (unread || (unsent && end.discards_unsent)) {
      if (connection->ends[1U - id.end].state == StreamEnd::State::kFinished) {
        pipe.bytes.clear(network_.pool());  // the reader has left before
      } else {
        pipe.bytes.keep_first(network_.pool(), static_cast<std::size_t>(pipe.sent - pipe.read));
      }
      pipe.written = pipe.sent;
      pipe.dead = true;
      reset_from(id.connection, id.end);
    } else {
      pipe.ending = true;
      pump(id.connection, id.end);
    }
  }
  finish_end(id.connection, id.end);
  return lost;
}

Result<void> SimStreamFabric::detach(StreamEndId id) {
  StreamConnection* connection = find(id);
  if (connection == nullptr) return std::unexpected(Errc::kClosed);
  StreamEnd& end = connection->ends[id.end];
  if (end.state != StreamEnd::State::kOpen) return std::unexpected(Errc::kClosed);
  if (connection->pipes[id.end].wants_writable) return std::unexpected(Errc::kBusy);
  end.state = StreamEnd::State::kDetached;
  end.driver = nullptr;
  return {};
}

Result<void> SimStreamFabric::adopt(StreamEndId id, SimStreamDriver& driver, HostId host,
                                    const socklnd::StreamOptions& options) {
  StreamConnection* connection = find(id);
  if (connection == nullptr) return std::unexpected(Errc::kClosed);
  StreamEnd& end = connection->ends[id.end];
  if (end.driver != nullptr) return std::unexpected(Errc::kInvalid);
  if (end.host != host) return std::unexpected(Errc::kNotPermitted);
  if (end.state == StreamEnd::State::kBroken) {  // while no driver had it
    finish_end(id.connection, id.end);
    return std::unexpected(Errc::kReset);
  }
  if (end.state != StreamEnd::State::kDetached) return std::unexpected(Errc::kInvalid);
  end.state = StreamEnd::State::kOpen;
  end.driver = &driver;
  set_options(end, options);
  watch_peer(id.connection, id.end);
  return {};
}

void SimStreamFabric::break_connection(const socklnd::StreamAddresses& addresses) {
  for (std::uint32_t index = 0; index < connections_.size(); ++index) {
    const StreamConnection& connection = connections_[index];
    if (!connection.in_use()) continue;
    const auto& [a, b] = connection.addresses;
    if ((a == addresses.local && b == addresses.remote) ||
        (b == addresses.local && a == addresses.remote)) {
      reset_end(index, 0, Errc::kReset);
      reset_end(index, 1, Errc::kReset);
      return;
    }
  }
}

void SimStreamFabric::break_connections_of(HostId host) {
  for (std::uint32_t index = 0; index < connections_.size(); ++index) {
    const StreamConnection& connection = connections_[index];
    if (!connection.in_use()) continue;
    if (connection.ends[0].host != host && connection.ends[1].host != host) continue;
    reset_end(index, 0, Errc::kReset);
    reset_end(index, 1, Errc::kReset);
  }
}

// Connections of other pairs of hosts are skipped quickly: there may be very many.
void SimStreamFabric::on_reachability(HostId host, HostId other) {
  const auto concerns = [&](HostId near, HostId far) {
    return near == host && (other == kNoHost || far == other);
  };
  for (std::uint32_t index = 0; index < connections_.size(); ++index) {
    const StreamConnection& connection = connections_[index];
    const HostId one = connection.ends[0].host;
    const HostId two = connection.ends[1].host;
    if (!connection.in_use() || (!concerns(one, two) && !concerns(two, one))) continue;
    watch_peer(index, 0);
    watch_peer(index, 1);
  }
}

// Called when an end opens and when the reachability of its peer changes.
void SimStreamFabric::watch_peer(std::uint32_t index, unsigned end) {
  StreamEnd& near = connections_[index].ends[end];
  const StreamEnd& far = connections_[index].ends[1 - end];
  const bool watches = near.state == StreamEnd::State::kOpen && near.keepalive_s > 0;
  if (!watches || near.keepalive_pending) return;
  if (network_.reaches(near.host, far.host) && network_.reaches(far.host, near.host)) return;
  near.keepalive_pending = true;
  schedule(network_.now() + std::chrono::seconds(near.keepalive_s), Kind::kKeepalive, index, end);
}

}  // namespace plnet::drivers
