// SPDX-License-Identifier: BSD-3-Clause
// What the retry handler of a NIC in software has to say, on its way to the log.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "drivers/net/cassini/soft/retry_handler.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/ring.hpp"
#include "lib/runtime/admin/log.hpp"

namespace plnet::node {

#define PLNET_KFI_RETRY_LINE_COUNTERS(X)                                                         \
  X(kTold, "told", "lines", kCount, "of packets that were given up and NICs that do not answer") \
  X(kUnheard, "unheard", "lines", kCount, "too many at a time to be said")

PLNET_COUNTERS(KfiRetryLineTable, PLNET_KFI_RETRY_LINE_COUNTERS);

class KfiRetryLines final : public cassini::soft::RetryLog {
 public:
  // Between two looks of the admin thread, 100 ms: more than the log would say.
  static constexpr std::size_t kWaitingMax = 64;

  // Whoever has the NIC in its care.
  void line(std::string_view text) override;
  // The admin thread's.
  void say(const std::string& interface, runtime::Log& log);

  [[nodiscard]] CounterView counters() const { return counters_.view(); }

 private:
  using Id = KfiRetryLineTable::Id;
  struct Line {
    std::uint8_t length = 0;
    std::array<char, 127> text{};
  };

  SpscRing<Line> waiting_{kWaitingMax};
  Counters<KfiRetryLineTable> counters_;
};

}  // namespace plnet::node
