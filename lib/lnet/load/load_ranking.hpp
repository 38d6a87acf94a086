// SPDX-License-Identifier: BSD-3-Clause
// The heaviest clients, networks, portals and hops of the tallies of shards. Control path:
// allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lnet/load/load_tally.hpp"

namespace plnet::lnet {

enum class LoadBy : std::uint8_t { kNid, kNet, kPortal, kHop };
// The words of `lnetctl top --by`.
inline constexpr std::array kLoadBys{LoadBy::kNid, LoadBy::kNet, LoadBy::kPortal, LoadBy::kHop};
[[nodiscard]] std::string_view name_of(LoadBy by);

struct HopDelay {
  Duration p50{};
  Duration p90{};
  Duration p99{};
  Duration max{};  // the longest of the samples
};

// Rates per second, estimated.
struct LoadRow {
  std::string name;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t doubtful = 0;     // this many of the messages may be those of others
  std::optional<HopDelay> delay;  // kHop: from the handing to the LND until its completion
};

// At most `rows`. Ranked by the certain part, so that an entry with an inherited count comes last.
[[nodiscard]] std::vector<LoadRow> heaviest(const LoadSnapshot& snapshot, LoadBy by,
                                            std::size_t rows);

// The times of next hops since the beginning, by name; of one message in kSampleMean.
[[nodiscard]] std::map<std::string, HopTimes> times_of_all_hops(const LoadSnapshot& snapshot);

}  // namespace plnet::lnet
