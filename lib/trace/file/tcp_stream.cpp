// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/file/tcp_stream.hpp"

#include <algorithm>
#include <utility>

namespace plnet::trace {

namespace {

// Positions begin far from zero, so that bytes before the first segment have one, too.
constexpr std::uint64_t kOrigin = 1ULL << 40U;

}  // namespace

std::uint64_t TcpStream::position_of(std::uint32_t sequence) const {
  const auto distance = static_cast<std::int32_t>(sequence - static_cast<std::uint32_t>(next_));
  return next_ + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
}

void TcpStream::add(const TcpSegment& segment, std::uint64_t time_ns, StreamSink& sink) {
  if (segment.syn) {
    if (started_) finish(sink);
    sink.on_begin();
    started_ = true;
    next_ = kOrigin + segment.sequence + 1;
    return;
  }
  if (segment.length == 0) return;
  if (!started_) {
    started_ = true;
    next_ = kOrigin + segment.sequence;
  }
  const std::uint64_t position = position_of(segment.sequence);
  if (position <= next_) {
    deliver(position, segment.bytes, segment.length, time_ns, sink);
    return deliver_waiting(sink);
  }
  const auto [at, is_new] = waiting_.try_emplace(position);
  if (!is_new) return;
  at->second = {{segment.bytes.begin(), segment.bytes.end()}, segment.length, time_ns};
  waiting_bytes_ += segment.bytes.size();
  while (waiting_.size() > kWaitingSegmentsMax || waiting_bytes_ > kWaitingBytesMax)
    give_up_hole(sink);
}

// Delivers the part of a segment that was not delivered before.
void TcpStream::deliver(std::uint64_t position, std::span<const std::byte> bytes,
                        std::uint64_t length, std::uint64_t time_ns, StreamSink& sink) {
  const std::uint64_t known = next_ - position;
  if (known >= length) return;  // sent again
  const auto fresh = bytes.subspan(std::min<std::uint64_t>(known, bytes.size()));
  if (!fresh.empty()) sink.on_bytes(fresh, time_ns, known == 0);
  const std::uint64_t missing = length - std::max<std::uint64_t>(known, bytes.size());
  if (missing > 0) sink.on_hole(missing);
  next_ = position + length;
}

void TcpStream::deliver_waiting(StreamSink& sink) {
  while (!waiting_.empty() && waiting_.begin()->first <= next_) {
    auto node = waiting_.extract(waiting_.begin());
    const Waiting& segment = node.mapped();
    waiting_bytes_ -= segment.bytes.size();
    deliver(node.key(), segment.bytes, segment.length, segment.time_ns, sink);
  }
}

void TcpStream::give_up_hole(StreamSink& sink) {
  const std::uint64_t first = waiting_.begin()->first;
  if (first > next_) sink.on_hole(first - next_);
  next_ = std::max(next_, first);
  deliver_waiting(sink);
}

void TcpStream::finish(StreamSink& sink) {
  while (!waiting_.empty())
    give_up_hole(sink);
}

}  // namespace plnet::trace
