// SPDX-License-Identifier: BSD-3-Clause
// Watches resources of a shard besides router buffers, for lack of which messages wait or are
// dropped: configured credits, and records that are made at the start. It reads counters that
// shards keep anyway; only when there is news, the shard is asked for the largest holder.
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
  kClientCredits,  // peer-router credits of a sender through this node
  kNiCredits,      // tx credits of an interface
  kMessages,       // records for sending
  kReceives,       // records for receiving
};
inline constexpr std::size_t kScarceThings = 4;
// "client_credits", "ni_credits", "messages", "receives".
[[nodiscard]] std::string_view name_of(Scarce of);

// Messages that waited for each resource or were dropped, since LNet is up.
using ScarceCounts = std::array<std::uint64_t, kScarceThings>;
[[nodiscard]] ScarceCounts scarce_counts(const Counters<lnet::LnetCauses>& causes);

struct ScarceNews {
  Scarce of{};
  lnet::StarvingNote::What what{};
  std::uint64_t waited = 0;  // messages since the last news
};

// For one shard. Lack of a resource begins, lasts and ends as for a class of router buffers
// (PoolKeeper).
class ScarceWatch {
 public:
  [[nodiscard]] std::vector<ScarceNews> look(const ScarceCounts& counts, Instant now);

 private:
  struct Watch {
    std::uint64_t seen = 0;  // the counter's last value
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

// On the shard: the peer or NI that holds most of it now, or has waited most; "" if there is none.
[[nodiscard]] std::string holder_of(Scarce of, lnet::ShardCore& core);

}  // namespace plnet::node
