// SPDX-License-Identifier: BSD-3-Clause
#include "bench/tcp/bare_pair.hpp"

#include <array>

#include "bench/harness/partner.hpp"

namespace plnet::bench {

void bare_ping_pong(benchmark::State& state) {
  const BarePair pair;
  if (!pair.far.valid()) return state.SkipWithError("no port is free");
  std::atomic<bool> stop = false;
  const Partner partner(state, [&] {
    std::array<std::byte, kSmallBytes> message;
    while (spin_receive(pair.far.get(), message, stop) &&
           spin_send(pair.far.get(), message, stop)) {
    }
  });
  if (!partner.ready()) return;
  std::array<std::byte, kSmallBytes> message{};
  for ([[maybe_unused]] auto _ : state) {
    (void)spin_send(pair.near.get(), message, stop);
    (void)spin_receive(pair.near.get(), message, stop);
  }
  stop = true;
}

void bare_exchange(benchmark::State& state) {
  const BarePair pair;
  if (!pair.far.valid()) return state.SkipWithError("no port is free");
  const std::atomic<bool> stop = false;
  std::array<std::byte, kSmallBytes> message{};
  for ([[maybe_unused]] auto _ : state) {
    (void)spin_send(pair.near.get(), message, stop);
    (void)spin_receive(pair.far.get(), message, stop);
    (void)spin_send(pair.far.get(), message, stop);
    (void)spin_receive(pair.near.get(), message, stop);
  }
}

}  // namespace plnet::bench
