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
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::mlx {

class Tx {
 public:
  Tx(const Adapter& adapter, MlxStats& stats) : adapter_(adapter), stats_(stats) {}

  // Whole or not at all.
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

  unsigned gather(const o2iblnd::WorkRequest& request, Pieces& pieces) const;
  [[nodiscard]] bool goes_inline(const o2iblnd::WorkRequest& request) const;
  [[nodiscard]] bool post_written(Connection& connection,
                                  std::span<const o2iblnd::WorkRequest> chain, const Names& names);
  [[nodiscard]] bool post_listed(Connection& connection,
                                 std::span<const o2iblnd::WorkRequest> chain, const Names& names);

  const Adapter& adapter_;
  MlxStats& stats_;
  std::array<ibv_send_wr, kChainMax> requests_{};
  std::array<Pieces, kChainMax> pieces_{};
};

}  // namespace plnet::mlx
