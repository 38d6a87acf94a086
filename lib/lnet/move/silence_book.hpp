// SPDX-License-Identifier: BSD-3-Clause
// Peers beyond gateways that do not answer requests of this node. LNet has no connection to them,
// so requests without an answer are the only sign. Reported by a shard to the admin thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/ring.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

struct SilenceNote {
  enum class Kind : std::uint8_t {
    kUnanswered,      // requests got no answer in time
    kHeard,           // it has answered, perhaps too late
    kNeighbourHeard,  // another node of its network has answered
  };
  Nid target = Nid::any();
  Kind kind = Kind::kUnanswered;
  std::uint32_t requests = 0;  // kUnanswered: since the last such note
};

class SilenceBook {
 public:
  // Silent peers whose next answer is noticed. A further one takes the place of the oldest.
  static constexpr std::size_t kTargetsMax = 16;
  static constexpr std::size_t kWaitingMax = 16;

  void unanswered(const Nid& target) {
    Row& row = row_of(target);
    ++row.untold;
    if (waiting_.push({target, SilenceNote::Kind::kUnanswered, row.untold})) row.untold = 0;
  }
  // Each answer to a descriptor of this shard.
  void heard(const Nid& source) {
    if (used_ == 0) [[likely]]
      return;
    look_up(source);
  }
  // Called by the admin thread.
  [[nodiscard]] bool take(SilenceNote& note) { return waiting_.pop(note); }

 private:
  struct Row {
    Nid target = Nid::any();
    std::uint32_t untold = 0;
    bool neighbour_heard = false;
  };

  [[nodiscard]] Row& row_of(const Nid& target) {
    const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(used_);
    const auto known =
        std::find_if(rows_.begin(), end, [&](const Row& row) { return row.target == target; });
    if (known != end) return *known;
    Row& row = used_ < kTargetsMax ? rows_[used_++] : rows_[oldest_++ % kTargetsMax];
    row = {.target = target};
    return row;
  }
  // A note without room is made again by a later answer.
  void look_up(const Nid& source) {
    for (std::size_t i = 0; i < used_; ++i) {
      Row& row = rows_[i];
      if (row.target.net() != source.net()) continue;
      if (row.target == source) {
        if (waiting_.push({source, SilenceNote::Kind::kHeard, 0})) row = rows_[--used_];
        return;
      }
      if (!row.neighbour_heard) {
        row.neighbour_heard = waiting_.push({row.target, SilenceNote::Kind::kNeighbourHeard, 0});
      }
    }
  }

  std::size_t used_ = 0;
  std::size_t oldest_ = 0;
  std::array<Row, kTargetsMax> rows_{};
  SpscRing<SilenceNote> waiting_{kWaitingMax};
};

}  // namespace plnet::lnet
