// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/books/rpc_book.hpp"

#include <algorithm>

namespace plnet::sim {

void RpcBook::answered(std::uint32_t client, Instant begun, Instant now) {
  if (now < from_) return;
  ++answers_;
  const Duration took = now - begun;
  slowest_ = std::max(slowest_, took);
  std::optional<Instant>& waiting = waiting_[client];
  if (took > kSlow) {
    ++slow_;
    waiting = std::min(waiting.value_or(begun), begun);
  }
  if (!waiting) return;
  outages_.push_back({.client = client, .begin = *waiting, .end = now});
  waiting.reset();
}

void RpcBook::failed(std::uint32_t client, Instant begun, Instant now, Errc why) {
  if (now < from_) return;
  ++failures_;
  ++causes_[why];
  waiting_[client] = std::min(waiting_[client].value_or(begun), begun);
}

void RpcBook::refused(std::uint32_t client, Instant now, Errc why) {
  if (now < from_ || waiting_[client]) return;
  ++refusals_[why];
  waiting_[client] = now;
}

void RpcBook::unanswered(std::uint32_t client, Instant begun, Instant now) {
  if (now - begun <= kSlow) return;
  waiting_[client] = std::min(waiting_[client].value_or(begun), begun);
}

void RpcBook::end(Instant now) {
  for (std::uint32_t client = 0; client < waiting_.size(); ++client) {
    std::optional<Instant>& since = waiting_[client];
    if (!since) continue;
    outages_.push_back({.client = client, .begin = *since, .end = now, .over = false});
    since.reset();
  }
}

}  // namespace plnet::sim
