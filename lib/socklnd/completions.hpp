// SPDX-License-Identifier: BSD-3-Clause
// The messages that the core has lent to one LND, and how those that have ended are reported.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/socklnd/environment.hpp"
#include "lib/socklnd/transmit_queue.hpp"

namespace plnet::socklnd {

class Completions {
 public:
  // Whether bytes of a failed message may have left this machine.
  enum class Left : std::uint8_t { kPerhaps, kNothing };

  explicit Completions(Environment& environment) : environment_(environment) {}

  // The core has lent one more message.
  void lend(lnet::Transmit& transmit) {
    PLNET_DEBUG_CHECK(transmit.next_hop != nullptr, "a message has a next hop");
    transmit.lnd_state = 0;
    ++messages_;
  }
  // Ends a message that is in no other queue. The core is told by report().
  void end(lnet::Transmit& transmit, Result<void> status, Health health,
           Left left = Left::kPerhaps);
  void end_all(TransmitQueue& queue, Errc cause, Health health, Left left = Left::kPerhaps);
  void report();

  [[nodiscard]] std::size_t messages() const { return messages_; }

 private:
  static constexpr std::size_t kReportedAtOnce = 32;

  Environment& environment_;
  std::size_t messages_ = 0;  // that the core has lent and was not told the end of
  TransmitQueue ended_;       // lnd_state holds the outcome
  std::array<lnet::Completion, kReportedAtOnce> reported_{};
};

}  // namespace plnet::socklnd
