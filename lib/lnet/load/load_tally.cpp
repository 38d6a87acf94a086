// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/load/load_tally.hpp"

#include <algorithm>

namespace plnet::lnet {

namespace {

template <class Table>
void append(const Table& table, std::vector<typename Table::Entry>& to) {
  for (const auto& talker : table.entries()) {
    if (talker.messages != 0) to.push_back(talker);
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
  left_ = distance();
  turn_windows(now);
  Window& window = windows_[current_];
  const std::uint64_t bytes = std::uint64_t{kSampleMean} * header.payload_length;
  window.nids.add(header.source, kSampleMean, bytes);
  window.nets.add({.from = from, .to = header.destination.net()}, kSampleMean, bytes);
  window.portals.add(has_portal(header) ? portal_of(header) : kNoPortal, kSampleMean, bytes);
}

void LoadTally::sample_sent(const Nid& hop, std::uint32_t payload, Instant since, Instant now) {
  left_sent_ = distance();
  turn_windows(now);
  const std::uint64_t bytes = std::uint64_t{kSampleMean} * payload;
  windows_[current_].hops.add(hop, kSampleMean, bytes).record(now - since);
}

// A window ends when somebody looks at it after its time; two that are over are both empty.
void LoadTally::turn_windows(Instant now) {
  const Duration age = now - window_begin_;
  if (age < kWindow) return;
  current_ ^= 1U;
  windows_[current_].clear();
  former_covered_ = age;
  window_begin_ = now;
  if (age < 2 * kWindow) return;
  windows_[current_ ^ 1U].clear();
  former_covered_ = kWindow;
}

void LoadTally::copy_owner(LoadSnapshot& snapshot, Instant now) {
  turn_windows(now);
  for (const Window& window : windows_) {
    append(window.nids, snapshot.nids);
    append(window.nets, snapshot.nets);
    append(window.portals, snapshot.portals);
    append(window.hops, snapshot.hops);
  }
  snapshot.covered = std::max(snapshot.covered, former_covered_ + (now - window_begin_));
}

}  // namespace plnet::lnet
