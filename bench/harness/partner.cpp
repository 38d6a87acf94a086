// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/partner.hpp"

#include <optional>
#include <utility>

#include <sched.h>

namespace plnet::bench {

Partner::Partner(benchmark::State& state, std::function<void()> work) : work_(std::move(work)) {
  const std::optional<int> cpu = nth_usable_cpu(1);
  if (!cpu || !pin_to_nth_cpu(0)) {
    state.SkipWithError("needs two CPUs that this process may use");
    return;
  }
  // Created on its CPU: moving a running thread would count as an involuntary switch.
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(*cpu, &only);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setaffinity_np(&attributes, sizeof only, &only);
  started_ = pthread_create(&thread_, &attributes, &Partner::run, this) == 0;
  pthread_attr_destroy(&attributes);
  if (!started_) {
    state.SkipWithError("cannot start the second thread");
    return;
  }
  while (!running_.load(std::memory_order_acquire)) {
  }
}

Partner::~Partner() {
  if (started_) pthread_join(thread_, nullptr);
}

void* Partner::run(void* self) {
  auto* partner = static_cast<Partner*>(self);
  partner->running_.store(true, std::memory_order_release);
  partner->work_();
  return nullptr;
}

}  // namespace plnet::bench
