// SPDX-License-Identifier: BSD-3-Clause
// Signal handlers stay as they are while a provider opens an endpoint: libfabric's shm provider
// replaces those of crashes and of requests to end. Its handlers remove files, which the next start
// does as well, but after them a core does not show the place of the crash.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>

namespace plnet::ofi {

class KeptSignals {
 public:
  KeptSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      (void)::sigaction(kSignals[i], nullptr, &before_[i]);
  }
  ~KeptSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      (void)::sigaction(kSignals[i], &before_[i], nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

  static constexpr std::array kSignals = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                          SIGABRT, SIGTRAP, SIGINT, SIGTERM};

 private:
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace plnet::ofi
