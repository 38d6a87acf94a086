// SPDX-License-Identifier: BSD-3-Clause
// Posts chains of sends and remote writes: by ibv_wr_*, which writes requests straight into the
// queue, where the provider has it, else as a list for ibv_post_send().
#pragma once

#include <array>
#include <span>

#include <infiniband/verbs.h>

#include "drivers/net/mlx/adapter.hpp"
#include "drivers/net/mlx/connection.hpp"
#include "drivers/net/mlx/stats.hpp"
#include "lib/base/map_cache.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::mlx {

class Tx {
 public:
  Tx(const Adapter& adapter, MapCache& maps, MlxStats& stats)
      : adapter_(adapter), maps_(maps), stats_(stats) {}

  // Whole or not at all. Payload that is mapped on demand is mapped until the chain completes.
  [[nodiscard]] bool post(Connection& connection, std::span<const o2iblnd::WorkRequest> chain);
  // The queue pair is in error: the marker completes after all requests that were posted before.
  [[nodiscard]] static bool post_marker(Connection& connection);

 private:
  using Pieces = std::array<ibv_sge, o2iblnd::kGatherMax>;
  // The names of the requests of a chain.
  struct Names {
    std::uint64_t part = 0;
    std::uint64_t last = 0;
  };

  // False: there is no mapping for all of it now, and none was taken.
  [[nodiscard]] bool gather(std::span<const o2iblnd::WorkRequest> chain);
  [[nodiscard]] Result<std::uint32_t> local_key(const Fragment& payload);
  void keep_mappings(Connection& connection);
  void give_mappings();
  [[nodiscard]] bool goes_inline(const o2iblnd::WorkRequest& request) const;
  [[nodiscard]] bool post_written(Connection& connection,
                                  std::span<const o2iblnd::WorkRequest> chain, const Names& names);
  [[nodiscard]] bool post_listed(Connection& connection,
                                 std::span<const o2iblnd::WorkRequest> chain, const Names& names);

  const Adapter& adapter_;
  MapCache& maps_;
  MlxStats& stats_;
  // Mappings of the chain that is being posted.
  std::array<std::uint32_t, kChainMax * o2iblnd::kGatherMax> mapped_{};
  std::uint32_t mapped_count_ = 0;
  std::uint32_t last_key_ = 0;  // of the last of them
  std::array<ibv_send_wr, kChainMax> requests_{};
  std::array<Pieces, kChainMax> pieces_{};
};

}  // namespace plnet::mlx
