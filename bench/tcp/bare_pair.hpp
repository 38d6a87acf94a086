// SPDX-License-Identifier: BSD-3-Clause
// The floor of small messages over TCP: there and back on plain sockets.
#pragma once

#include <benchmark/benchmark.h>

#include "apps/lnet-selftest/baseline/bare_pair.hpp"

namespace plnet::bench {

using baseline::BarePair;
using baseline::kSmallBytes;
using baseline::loopback;
using baseline::spin_receive;
using baseline::spin_send;

// By two threads, each spinning at its end; by one thread at both ends.
void bare_ping_pong(benchmark::State& state);
void bare_exchange(benchmark::State& state);

}  // namespace plnet::bench
