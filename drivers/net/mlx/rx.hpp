// SPDX-License-Identifier: BSD-3-Clause
// Posts receive buffers.
#pragma once

#include <array>
#include <span>

#include <infiniband/verbs.h>

#include "drivers/net/mlx/adapter.hpp"
#include "drivers/net/mlx/connection.hpp"
#include "drivers/net/mlx/stats.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::mlx {

class Rx {
 public:
  Rx(const Adapter& adapter, MlxStats& stats) : adapter_(adapter), stats_(stats) {}

  // Takes a prefix, returns its length.
  std::size_t post(Connection& connection, std::span<const o2iblnd::ReceiveRequest> burst);

 private:
  static constexpr std::size_t kAtATime = 32;

  [[nodiscard]] std::size_t post_some(Connection& connection,
                                      std::span<const o2iblnd::ReceiveRequest> burst);

  const Adapter& adapter_;
  MlxStats& stats_;
};

}  // namespace plnet::mlx
