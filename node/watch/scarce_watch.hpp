// SPDX-License-Identifier: BSD-3-Clause
// What messages of a shard wait for beside router buffers, or are dropped for want of: credits that
// somebody has set, records that were made at start. Told by counters that shards keep anyway, so
// that looking costs them nothing; who has most of it is asked only when there is something to say.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/lnet/move/pool_keeper.hpp"
#include "lib/lnet/move/statistics.hpp"

namespace plnet::lnet {
struct ShardCore;
}

namespace plnet::node {

enum class Scarce : std::uint8_t {
  kClientCredits,  // peer-router credits of who sends through this node
  kNiCredits,      // tx credits of an interface
  kMessages,       // records of what is sent
  kReceives,       // records of what is received
};
inline constexpr std::size_t kScarceThings = 4;
// "client_credits", "ni_credits", "messages", "receives".
[[nodiscard]] std::string_view name_of(Scarce of);

// Messages that had to wait for each, or were dropped; since LNet is up.
using ScarceCounts = std::array<std::uint64_t, kScarceThings>;
[[nodiscard]] ScarceCounts scarce_counts(const Counters<lnet::LnetCauses>& causes);

struct ScarceNews {
  Scarce of{};
  lnet::StarvingNote::What what{};
  std::uint64_t waited = 0;  // messages since the last news
};

// Of one shard. Begins, goes on and ends as a class of router buffers does (PoolKeeper).
class ScarceWatch {
 public:
  [[nodiscard]] std::vector<ScarceNews> look(const ScarceCounts& counts, Instant now);

 private:
  struct Watch {
    std::uint64_t seen = 0;  // of the counter
    bool starving = false;
    Instant waited_at{};
    Instant told{};
    std::uint64_t waited = 0;
  };

  [[nodiscard]] static std::optional<lnet::StarvingNote::What> step(Watch& watch,
                                                                    std::uint64_t count,
                                                                    Instant now);

  std::array<Watch, kScarceThings> watches_{};
};

// Who has most of it at this moment, or has waited most; on the shard. "" if nobody stands out.
[[nodiscard]] std::string holder_of(Scarce of, lnet::ShardCore& core);

}  // namespace plnet::node
