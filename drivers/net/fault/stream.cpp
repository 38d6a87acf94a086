// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/fault/stream.hpp"

#include <algorithm>
#include <cstring>

namespace plnet::drivers {

using socklnd::StreamAddresses;
using socklnd::StreamId;
using Pieces = std::span<const std::span<const std::byte>>;

FaultStreamDriver::FaultStreamDriver(socklnd::StreamEvents& up, Random random)
    : up_(up),
      judge_(Seam::kStream, random),
      streams_(std::make_unique<Stream[]>(kFaultStreamsMax)),
      scratch_(std::make_unique<std::byte[]>(kScratchBytes)) {}

FaultStreamDriver::Stream* FaultStreamDriver::find(StreamId stream) {
  if (stream.index >= kFaultStreamsMax) return nullptr;
  Stream& found = streams_[stream.index];
  return found.live && found.id == stream ? &found : nullptr;
}

void FaultStreamDriver::begin(StreamId stream) {
  if (stream.index >= kFaultStreamsMax || find(stream) != nullptr) return;
  streams_[stream.index] = {.id = stream, .live = true};
  high_ = std::max<std::size_t>(high_, stream.index + 1);
}

unsigned FaultStreamDriver::poll(Instant now) {
  now_ = now;
  unsigned work = 0;
  for (std::size_t i = 0; i < high_; ++i) {
    Stream& stream = streams_[i];
    if (!stream.live || stream.doomed) continue;
    if (stream.paused_here && now >= stream.rx_until) {
      stream.paused_here = false;
      if (!stream.paused_above) lower_->resume_reading(stream.id);
      ++work;
    }
    if (stream.tx_stalled && now >= stream.tx_until) stream.tx_stalled = false;
    if (stream.writable_due && !stream.tx_stalled) {
      stream.writable_due = false;
      up_.on_writable(stream.id);
      ++work;
    }
  }
  return work;
}

Instant FaultStreamDriver::next_deadline() const {
  Instant next = Instant::max();
  for (std::size_t i = 0; i < high_; ++i) {
    const Stream& stream = streams_[i];
    if (!stream.live) continue;
    if (stream.paused_here) next = std::min(next, stream.rx_until);
    if (stream.writable_due) next = std::min(next, stream.tx_stalled ? stream.tx_until : now_);
  }
  return next;
}

void FaultStreamDriver::kill(Stream& stream, Errc cause) {
  PLNET_CHECK(stream.live && !stream.doomed, "a stream is closed once");
  stream.doomed = true;
  lower_->close(stream.id, cause);
}

std::size_t FaultStreamDriver::write(StreamId id, Pieces pieces) {
  Stream* const stream = find(id);
  if (stream == nullptr || stream->held) return lower_->write(id, pieces);
  if (stream->doomed) return 0;
  // An empty write is not cut short: on_writable() would come without a reason.
  if (std::ranges::all_of(pieces, [](const auto& piece) { return piece.empty(); })) return 0;
  if (stalls(*stream)) return 0;
  const FaultRule* const rule = judge_.draw(Direction::kTx, {.stream = id.index}, now_);
  if (rule == nullptr) return lower_->write(id, pieces);
  switch (rule->fault) {
    case Fault::kReset: kill(*stream, rule->error); return 0;
    case Fault::kStall:
    case Fault::kDelay: stall(*stream, *rule); return 0;
    case Fault::kCorrupt: return write_spoilt(*stream, pieces, *rule);
    default: return write_half(*stream, pieces, *rule);
  }
}

bool FaultStreamDriver::stalls(Stream& stream) const {
  if (stream.tx_stalled || stream.writable_due) stream.writable_due = true;
  return stream.writable_due;
}

void FaultStreamDriver::stall(Stream& stream, const FaultRule& rule) const {
  stream.tx_stalled = stream.writable_due = true;
  stream.tx_until = now_ + rule.delay;
}

bool FaultStreamDriver::await(StreamId id, std::size_t bytes) {
  const Stream* const stream = find(id);
  const bool meddling = stream != nullptr && (stream->doomed || stream->paused_here);
  return !meddling && lower_->await(id, bytes);
}

// Bytes that go from socket to socket cannot be corrupted, but be late, or cut short: then only the
// head goes.
std::size_t FaultStreamDriver::relay(StreamId from, StreamId to, Pieces head, std::size_t bytes) {
  Stream* const stream = find(to);
  if (stream == nullptr || stream->held) return lower_->relay(from, to, head, bytes);
  if (stream->doomed || stalls(*stream)) return 0;
  const FaultRule* const rule = judge_.draw(Direction::kTx, {.stream = to.index}, now_);
  if (rule == nullptr) return lower_->relay(from, to, head, bytes);
  const Errc error = rule->error;
  switch (rule->fault) {
    case Fault::kReset: kill(*stream, error); return 0;
    case Fault::kStall:
    case Fault::kDelay: stall(*stream, *rule); return 0;
    case Fault::kCorrupt: judge_.skip(*rule); return lower_->relay(from, to, head, bytes);
    default: break;
  }
  const bool truncate = rule->fault == Fault::kTruncate;
  std::size_t head_bytes = 0;
  for (const auto piece : head)
    head_bytes += piece.size();
  const std::size_t taken = lower_->relay(from, to, head, 0);
  if (truncate) {
    kill(*stream, error);
  } else if (taken == head_bytes) {
    stream->writable_due = true;  // cut short here: the real driver does not report it
  }
  return taken;
}

// Truncate, split: half of the write goes out.
std::size_t FaultStreamDriver::write_half(Stream& stream, Pieces pieces, const FaultRule& rule) {
  std::size_t total = 0;
  for (const auto piece : pieces)
    total += piece.size();
  // In place: these spans may describe memory that does not exist (a simulation's).
  std::array<std::span<const std::byte>, kHalfPiecesMax> half;
  std::size_t count = 0;
  std::size_t part = 0;
  for (const auto piece : pieces) {
    if (count == half.size() || part == total / 2) break;
    half[count] = piece.first(std::min(piece.size(), total / 2 - part));
    part += half[count++].size();
  }
  if (part == 0) {  // too short for half a write
    judge_.skip(rule);
    return lower_->write(stream.id, pieces);
  }
  const bool truncate = rule.fault == Fault::kTruncate;
  const Errc error = rule.error;
  const std::size_t taken = lower_->write(stream.id, std::span(half).first(count));
  if (truncate) {
    kill(stream, error);
  } else if (taken == part) {
    stream.writable_due = true;  // cut short here: the real driver does not report it
  }
  return taken;
}

// Corrupt: sends a copy.
std::size_t FaultStreamDriver::write_spoilt(Stream& stream, Pieces pieces, const FaultRule& rule) {
  std::size_t total = 0;
  std::size_t copied = 0;
  for (const auto piece : pieces) {
    const std::size_t take = std::min(piece.size(), kScratchBytes - copied);
    std::copy_n(piece.data(), take, scratch_.get() + copied);
    copied += take;
    total += piece.size();
  }
  // The first byte: the number of the others that are taken is not known yet.
  scratch_[0] ^= std::byte{0x20};
  const std::span<const std::byte> piece(scratch_.get(), copied);
  const std::size_t taken = lower_->write(stream.id, {&piece, 1});
  if (taken == 0) judge_.skip(rule);
  if (taken == copied && copied < total) stream.writable_due = true;  // cut short here
  return taken;
}

void FaultStreamDriver::pause_reading(StreamId id) {
  Stream* const stream = find(id);
  if (stream != nullptr) stream->paused_above = true;
  if (stream == nullptr || !stream->paused_here) lower_->pause_reading(id);
}

void FaultStreamDriver::resume_reading(StreamId id) {
  Stream* const stream = find(id);
  if (stream != nullptr) stream->paused_above = stream->held = false;
  if (stream == nullptr || !stream->paused_here) lower_->resume_reading(id);
}

std::span<std::byte> FaultStreamDriver::destination(StreamId id) {
  const std::span<std::byte> where = up_.destination(id);
  if (Stream* const stream = find(id)) stream->destination = where;
  return where;
}

std::size_t FaultStreamDriver::on_bytes(StreamId id, std::size_t direct,
                                        std::span<const std::byte> staged) {
  Stream* const stream = find(id);
  if (stream == nullptr) return up_.on_bytes(id, direct, staged);
  if (stream->doomed) return staged.size();  // bytes behind our reset are lost
  const FaultRule* const rule = judge_.draw(Direction::kRx, {.stream = id.index}, now_);
  if (rule == nullptr) return up_.on_bytes(id, direct, staged);
  switch (rule->fault) {
    case Fault::kReset: {
      const Errc error = rule->error;
      const std::size_t used = up_.on_bytes(id, direct, staged);
      if (find(id) == stream && !stream->doomed) kill(*stream, error);
      return used;
    }
    case Fault::kStall:
    case Fault::kDelay: {
      const Duration delay = rule->delay;
      // These bytes have arrived; those behind them come late.
      const std::size_t used = up_.on_bytes(id, direct, staged);
      if (find(id) != stream || stream->doomed) return used;
      if (!stream->paused_above && !stream->paused_here) lower_->pause_reading(id);
      stream->paused_here = true;
      stream->rx_until = now_ + delay;
      return used;
    }
    default: return deliver(*stream, direct, staged, *rule);
  }
}

// Corrupt: in place for bytes in the destination, in a copy for staged ones.
std::size_t FaultStreamDriver::deliver(Stream& stream, std::size_t direct,
                                       std::span<const std::byte> staged, const FaultRule& rule) {
  if (direct > 0) {
    PLNET_CHECK(direct <= stream.destination.size(), "direct bytes are in the destination");
    const std::size_t at = judge_.random().below(direct);
    stream.destination[at] ^= std::byte{0x20};
    return up_.on_bytes(stream.id, direct, staged);
  }
  if (staged.empty() || staged.size() > kScratchBytes) {
    judge_.skip(rule);
    return up_.on_bytes(stream.id, direct, staged);
  }
  std::memcpy(scratch_.get(), staged.data(), staged.size());
  const std::size_t at = judge_.random().below(staged.size());
  scratch_[at] ^= std::byte{0x20};
  const std::size_t used = up_.on_bytes(stream.id, direct, {scratch_.get(), staged.size()});
  if (used <= at) judge_.skip(rule);  // unused: the driver passes its own bytes again
  return used;
}

void FaultStreamDriver::on_writable(StreamId id) {
  Stream* const stream = find(id);
  if (stream != nullptr && stream->doomed) return;
  if (stream != nullptr && (stream->tx_stalled || stream->writable_due)) {
    stream->writable_due = true;  // poll() calls on_writable()
    return;
  }
  up_.on_writable(id);
}

// A stream that a fault has closed is never paused: it is read, and its bytes are lost.
void FaultStreamDriver::on_awaited(StreamId id) {
  Stream* const stream = find(id);
  if (stream == nullptr) return up_.on_awaited(id);
  if (stream->doomed) return;
  stream->held = true;
  up_.on_awaited(id);
  if (!stream->paused_above) stream->held = false;
}

void FaultStreamDriver::on_connected(StreamId stream, const StreamAddresses& addresses) {
  begin(stream);
  up_.on_connected(stream, addresses);
}

void FaultStreamDriver::on_accepted(StreamId stream, const StreamAddresses& addresses) {
  begin(stream);
  up_.on_accepted(stream, addresses);
}

void FaultStreamDriver::on_closed(StreamId id, Errc cause, std::uint64_t unacknowledged_bytes) {
  if (Stream* const stream = find(id)) stream->live = false;
  up_.on_closed(id, cause, unacknowledged_bytes);
}

Result<StreamId> FaultStreamDriver::connect(const socklnd::ConnectRequest& request) {
  return lower_->connect(request);
}

Result<void> FaultStreamDriver::listen(const socklnd::SocketAddress& local, unsigned backlog,
                                       const socklnd::StreamOptions& accepted) {
  return lower_->listen(local, backlog, accepted);
}

void FaultStreamDriver::stop_listening(const socklnd::SocketAddress& local) {
  lower_->stop_listening(local);
}

void FaultStreamDriver::close(StreamId id, Errc cause) {
  Stream* const stream = find(id);
  if (stream != nullptr && stream->doomed) return;  // on_closed() follows
  if (stream != nullptr) stream->doomed = true;
  lower_->close(id, cause);
}

Result<socklnd::DetachedStream> FaultStreamDriver::detach(StreamId id) {
  Stream* const stream = find(id);
  const bool busy = stream != nullptr && (stream->doomed || stream->paused_here ||
                                          stream->tx_stalled || stream->writable_due);
  if (busy) return std::unexpected(Errc::kBusy);  // in the middle of a fault
  auto detached = lower_->detach(id);
  if (detached && stream != nullptr) stream->live = false;
  return detached;
}

Result<StreamId> FaultStreamDriver::adopt(const socklnd::DetachedStream& detached,
                                          const socklnd::StreamOptions& options) {
  auto adopted = lower_->adopt(detached, options);
  if (adopted) begin(*adopted);
  return adopted;
}

socklnd::StreamFacts FaultStreamDriver::facts(StreamId stream) const {
  return lower_->facts(stream);
}

socklnd::StreamProgress FaultStreamDriver::progress(StreamId stream) const {
  return lower_->progress(stream);
}

}  // namespace plnet::drivers
