// SPDX-License-Identifier: BSD-3-Clause
// A running relay with its own thread.
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

struct Relay {
  std::function<void(RelayRun&)> work;  // runs until it is told to stop
  bool sleeps = false;                  // when there is no work
};

[[nodiscard]] inline Relay relay_of(TcpNode& router) {
  return {.work = [&router](RelayRun& run) {
    while (!run.stopped().load(std::memory_order_relaxed))
      run.note_turn(router.turn() > 0);
  }};
}

// Two connections, and the code that moves bytes between them.
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
    return {.work = [this](RelayRun& run) { relay_bytes(kind, from.get(), to.get(), run); },
            .sleeps = kind == RelayKind::kEpoll};
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
          if (::pthread_getcpuclockid(::pthread_self(), &clock) == 0) thread_clock_ = clock;
          relay_.work(run_);
        }) {}
  ~RelayThread() { run_.stop(); }
  RelayThread(const RelayThread&) = delete;
  RelayThread& operator=(const RelayThread&) = delete;

  [[nodiscard]] bool ready() const { return partner_.ready(); }
  // CPU time of the relay so far.
  [[nodiscard]] double cpu_seconds() const {
    if (!relay_.sleeps) return run_.busy_seconds();
    timespec spent{};
    (void)::clock_gettime(thread_clock_, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
  }

 private:
  const Relay relay_;
  const runtime::TscClock clock_;
  RelayRun run_{clock_};
  std::atomic<clockid_t> thread_clock_{CLOCK_MONOTONIC};
  const Partner partner_;  // declared last: the other members outlive its thread
};

}  // namespace plnet::bench
