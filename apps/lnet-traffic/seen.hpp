// SPDX-License-Identifier: BSD-3-Clause
// The set of delivered PUTs over all shards: a message may arrive on any of them, but only once.
// Fixed memory: a limited number of runs, and for each the newest messages.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace plnet::traffic {

class Seen {
 public:
  static constexpr std::size_t kRunsMax = 32;  // one for each shard of each sender
  // Far more than a sender can have under way; half a megabyte for each run.
  static constexpr std::size_t kKept = std::size_t{1} << 17U;

  enum class Verdict : std::uint8_t { kFirst, kAgain, kUntracked };

  // Any shard. `run` is not 0.
  [[nodiscard]] Verdict note(std::uint64_t run, std::uint64_t sequence);

 private:
  using Row = std::array<std::atomic<std::uint32_t>, kKept>;

  // kRunsMax: all rows are in use.
  [[nodiscard]] std::size_t row_of(std::uint64_t run);

  std::array<std::atomic<std::uint64_t>, kRunsMax> runs_{};
  // The last message in each place, as its round + 1.
  std::unique_ptr<std::array<Row, kRunsMax>> rows_ = std::make_unique<std::array<Row, kRunsMax>>();
};

}  // namespace plnet::traffic
