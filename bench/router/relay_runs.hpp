// SPDX-License-Identifier: BSD-3-Clause
// A relay at work: what it is, and the thread that it has to itself.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include <pthread.h>
#include <time.h>

#include "bench/harness/partner.hpp"
#include "bench/router/flow.hpp"
#include "bench/router/relays.hpp"
#include "bench/router/routed_flow.hpp"

namespace plnet::bench {

// Runs until it is told to stop.
using Relay = std::function<void(const std::atomic<bool>& stop)>;

[[nodiscard]] inline Relay relay_of(TcpNode& router) {
  return [&router](const std::atomic<bool>& stop) {
    while (!stop.load(std::memory_order_relaxed))
      router.turn();
  };
}

// Two connections, and what moves bytes from one to the other.
struct BareRelay {
  explicit BareRelay(RelayKind kind_of) : kind(kind_of) {
    SocketPair in = connect_pair();
    SocketPair out = connect_pair();
    ends = {.from = nid_of(0x7f000002),
            .to = nid_of(0x7f000003, 1),
            .source = std::move(in.near),
            .sink = std::move(out.far)};
    from = std::move(in.far);
    to = std::move(out.near);
  }
  [[nodiscard]] Relay relay() const {
    return [this](const std::atomic<bool>& stop) { relay_bytes(kind, from.get(), to.get(), stop); };
  }

  RelayKind kind;
  FlowEnds ends;
  drivers::TcpSocket from;
  drivers::TcpSocket to;
};

// Stops and ends with its scope.
class RelayThread {
 public:
  RelayThread(benchmark::State& state, Relay relay)
      : relay_(std::move(relay)), partner_(state, [this] {
          clockid_t clock{};
          if (::pthread_getcpuclockid(::pthread_self(), &clock) == 0) clock_ = clock;
          relay_(stop_);
        }) {}
  ~RelayThread() { stop_ = true; }
  RelayThread(const RelayThread&) = delete;
  RelayThread& operator=(const RelayThread&) = delete;

  [[nodiscard]] bool ready() const { return partner_.ready(); }
  // That the relay has used so far.
  [[nodiscard]] double cpu_seconds() const {
    timespec spent{};
    (void)::clock_gettime(clock_, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
  }

 private:
  const Relay relay_;
  std::atomic<bool> stop_{false};
  std::atomic<clockid_t> clock_{CLOCK_MONOTONIC};
  const Partner partner_;  // the last: the others outlive its thread
};

}  // namespace plnet::bench
