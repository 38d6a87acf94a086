// SPDX-License-Identifier: BSD-3-Clause
// Lines of the retry handler of a NIC in software for the log.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "drivers/net/cassini/soft/retry_handler.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/ring.hpp"
#include "lib/runtime/admin/log.hpp"

namespace plnet::node {

#define PLNET_KFI_RETRY_LINE_COUNTERS(X)                                              \
  X(kTold, "told", "lines", kCount, "about lost packets and NICs that do not answer") \
  X(kUnheard, "unheard", "lines", kCount, "lines dropped, since too many came at a time")

PLNET_COUNTERS(KfiRetryLineTable, PLNET_KFI_RETRY_LINE_COUNTERS);

class KfiRetryLines final : public cassini::soft::RetryLog {
 public:
  // Lines between two drains of the admin thread, 100 ms: more than the log would write.
  static constexpr std::size_t kWaitingMax = 64;

  // On the thread of the NIC's keeper.
  void line(std::string_view text) override;
  // On the admin thread.
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
