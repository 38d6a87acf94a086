// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/load/load_tally.hpp"

#include <algorithm>
#include <cmath>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

std::uint64_t scaled(std::uint64_t count, double scale) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * scale));
}

template <class Table>
void append(const Table& table, double scale, std::vector<typename Table::Entry>& to) {
  for (const auto& talker : table.entries()) {
    if (talker.messages == 0) continue;
    to.push_back(talker);
    to.back().messages = scaled(talker.messages, scale);
    to.back().bytes = scaled(talker.bytes, scale);
    to.back().error = scaled(talker.error, scale);
  }
}

bool has_portal(const MessageHeader& header) {
  return header.type == MessageType::kPut || header.type == MessageType::kGet;
}

}  // namespace

void LoadTally::Window::clear() {
  nids.clear();
  nets.clear();
  portals.clear();
  hops.clear();
}

void LoadTally::sample(const MessageHeader& header, NetId from, Instant now) {
  PLNET_CHECK(left_ == 0, "every message between two samples is counted");
  left_ = distance();
  turn_windows(now);
  Window& window = windows_[current_];
  const std::uint64_t bytes = std::uint64_t{kSampleMean} * header.payload_length;
  window.nids.add(header.source, kSampleMean, bytes);
  window.nets.add({.from = from, .to = header.destination.net()}, kSampleMean, bytes);
  window.portals.add(has_portal(header) ? portal_of(header) : kNoPortal, kSampleMean, bytes);
}

void LoadTally::sample_sent(const Nid& hop, std::uint32_t payload, Instant since, Instant now) {
  PLNET_CHECK(left_sent_ == 0, "every message between two samples is counted");
  left_sent_ = distance();
  turn_windows(now);
  const std::uint64_t bytes = std::uint64_t{kSampleMean} * payload;
  windows_[current_].hops.add(hop, kSampleMean, bytes).record(now - since);
}

// A window ends at the first look after its time; after two windows both are empty.
void LoadTally::turn_windows(Instant now) {
  const Instant begin = window_of(now);
  if (begin <= window_begin_) return;
  const bool both_over = begin - window_begin_ > kWindow;
  window_begin_ = begin;
  current_ ^= 1U;
  end(windows_[current_]);
  if (both_over) end(windows_[current_ ^ 1U]);
}

void LoadTally::end(Window& window) {
  for (const auto& hop : window.hops.entries()) {
    if (hop.messages != 0) former_hops_.add(hop.key, hop.messages, hop.bytes).merge(hop.more);
  }
  window.clear();
}

// Shards may be asked at both sides of the end of a window.
void LoadTally::copy_owner(LoadSnapshot& snapshot, Instant now) {
  turn_windows(now);
  const Duration covered = now - std::max(start_, window_begin_ - kWindow);
  if (snapshot.covered == Duration{}) snapshot.covered = covered;
  const double scale = covered <= Duration{} ? 1.0
                                             : std::chrono::duration<double>(snapshot.covered) /
                                                   std::chrono::duration<double>(covered);
  for (const Window& window : windows_) {
    append(window.nids, scale, snapshot.nids);
    append(window.nets, scale, snapshot.nets);
    append(window.portals, scale, snapshot.portals);
    append(window.hops, scale, snapshot.hops);
    append(window.hops, 1, snapshot.hops_of_all_time);
  }
  append(former_hops_, 1, snapshot.hops_of_all_time);
}

}  // namespace plnet::lnet
