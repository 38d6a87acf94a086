// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/mlx/connection.hpp"

#include "lib/base/check.hpp"

namespace plnet::mlx {

Connections::Connections(std::size_t most)
    : most_(most), all_(std::make_unique<Connection[]>(most)) {
  PLNET_CHECK(most <= std::size_t{1} << kIndexBits,
              "more connections than a work request can name");
  free_.reserve(most);
  for (std::size_t i = most; i-- > 0;) {
    all_[i].name.index = static_cast<std::uint32_t>(i);
    free_.push_back(static_cast<std::uint32_t>(i));
  }
}

Connection* Connections::take() {
  if (free_.empty()) return nullptr;
  Connection& connection = all_[free_.back()];
  free_.pop_back();
  PLNET_CHECK(connection.state == Connection::State::kFree && connection.pair == nullptr &&
                  connection.id == nullptr && !connection.linked(),
              "a free connection has no queue pair");
  return &connection;
}

Connection* Connections::find(QueuePairId name) {
  if (name.index >= most_) return nullptr;
  Connection& connection = all_[name.index];
  const bool is_it = connection.name == name && connection.state != Connection::State::kFree;
  return is_it ? &connection : nullptr;
}

Connection* Connections::find(std::uint32_t index, std::uint32_t generation_bits) {
  constexpr std::uint32_t kMask = (1U << kGenerationBits) - 1;
  if (index >= most_ || (all_[index].name.generation & kMask) != generation_bits) return nullptr;
  return all_[index].state == Connection::State::kFree ? nullptr : &all_[index];
}

void Connections::give(Connection& connection) {
  const QueuePairId next{connection.name.index, connection.name.generation + 1};
  PLNET_CHECK(!connection.linked(), "a connection drains until it is given back");
  PLNET_CHECK(connection.state != Connection::State::kFree, "a connection is given back once");
  PLNET_CHECK(connection.pair == nullptr && connection.id == nullptr,
              "the queue pair of a connection is destroyed first");
  connection.name = next;
  connection.state = Connection::State::kFree;
  connection.active = false;
  connection.marker_is_back = false;
  connection.failed = false;
  connection.held = 0;
  connection.broken.store(false);
  connection.overtaken.store(false);
  connection.completions = 0;
  free_.push_back(next.index);
}

}  // namespace plnet::mlx
