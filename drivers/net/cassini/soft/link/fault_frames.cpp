// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/link/fault_frames.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "lib/base/random.hpp"

namespace plnet::cassini::soft {

struct FrameFaults::State {
  explicit State(const FrameFaultOptions& wanted) : options(wanted), random(wanted.seed) {}

  std::uint16_t spoil(std::span<rte_mbuf*> all, std::uint16_t came);
  void damage(rte_mbuf* frame);

  FrameFaultOptions options;
  Random random;
  FrameFaultCounts counts;
  std::uint16_t port = 0;
  const rte_eth_rxtx_callback* hook = nullptr;
  rte_mbuf* held = nullptr;
};

void FrameFaults::State::damage(rte_mbuf* frame) {
  const std::uint16_t bytes = rte_pktmbuf_data_len(frame);
  if (bytes == 0) return;
  auto* const at = rte_pktmbuf_mtod(frame, std::uint8_t*) + random.below(bytes);
  *at = static_cast<std::uint8_t>(*at ^ 1U << random.below(8));
  ++counts.damaged;
}

// `all` has room for more frames than arrived; duplicates that do not fit are not made.
std::uint16_t FrameFaults::State::spoil(std::span<rte_mbuf*> all, std::uint16_t came) {
  std::uint16_t left = 0;
  std::uint16_t end = came;
  rte_mbuf* const due = std::exchange(held, nullptr);
  for (std::uint16_t i = 0; i < came; ++i) {
    rte_mbuf* const frame = all[i];
    if (random.chance(options.drop)) {
      rte_pktmbuf_free(frame);
      ++counts.dropped;
      continue;
    }
    if (random.chance(options.damage)) damage(frame);
    if (held == nullptr && random.chance(options.late)) {
      held = frame;
      ++counts.late;
      continue;
    }
    ++counts.passed;
    all[left++] = frame;
    if (end < all.size() && random.chance(options.duplicate)) {
      rte_mbuf* const copy = rte_pktmbuf_copy(frame, frame->pool, 0, UINT32_MAX);
      if (copy == nullptr) continue;
      all[end++] = copy;
      ++counts.duplicated;
    }
  }
  std::copy(all.begin() + came, all.begin() + end, all.begin() + left);
  left = static_cast<std::uint16_t>(left + (end - came));
  if (due == nullptr) return left;
  if (left < all.size()) {
    all[left++] = due;
  } else {
    rte_pktmbuf_free(due);
    ++counts.dropped;
  }
  return left;
}

FrameFaults::FrameFaults(std::unique_ptr<State> state) : state_(std::move(state)) {}

plnet::Outcome<std::unique_ptr<FrameFaults>> FrameFaults::attach(const std::string& port,
                                                                 const FrameFaultOptions& options) {
  auto state = std::make_unique<State>(options);
  if (const int rc = rte_eth_dev_get_port_by_name(port.c_str(), &state->port); rc != 0)
    return failure(Errc::kNotFound, "cassini: no port " + port + " to disturb the frames of");
  state->hook = rte_eth_add_rx_callback(
      state->port, 0,
      [](std::uint16_t, std::uint16_t, rte_mbuf* frames[], std::uint16_t came, std::uint16_t room,
         void* self) { return static_cast<State*>(self)->spoil({frames, room}, came); },
      state.get());
  if (state->hook == nullptr)
    return failure(Errc::kNotSupported, "cassini: port " + port + " takes no receive callback");
  return std::unique_ptr<FrameFaults>(new FrameFaults(std::move(state)));
}

FrameFaults::~FrameFaults() {
  (void)rte_eth_remove_rx_callback(state_->port, 0, state_->hook);
  rte_pktmbuf_free(state_->held);  // null is allowed
}

void FrameFaults::set(const FrameFaultOptions& options) {
  state_->options = options;
}

FrameFaultCounts FrameFaults::counts() const {
  return state_->counts;
}

}  // namespace plnet::cassini::soft
