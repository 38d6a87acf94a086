// SPDX-License-Identifier: BSD-3-Clause
// The decision about a packet that timed out or was refused: repeat, when, or give up. Pure policy:
// it answers; the caller sends.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "drivers/net/cassini/soft/codes.hpp"
#include "drivers/net/cassini/soft/wire.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::soft {

struct RetryOptions {
  // False: no handler runs, and nothing is repeated. A lost packet ends at its timeout, a refused
  // one at once.
  bool running = true;
  std::uint64_t packet_timeout_ns = std::uint64_t{1} << 30;
  std::uint64_t target_timeout_ns = std::uint64_t{1} << 35;
  std::array<std::uint64_t, 4> retry_intervals_ns{0, 4'000'000'000, 8'000'000'000, 12'000'000'000};
  unsigned timeouts_max = 4;                       // repetitions before giving up
  std::uint64_t idle_ns = std::uint64_t{1} << 20;  // until a connection is closed; hardware: 2^15
  unsigned close_tries_max = 4;                    // unanswered, then it is closed by force
  unsigned resource_busy_max = 10;
  unsigned pending_response_max = 10;
  unsigned nack_backoff_start = 3;
  unsigned batch = 4;
  std::uint64_t down_nid_ns = 96'000'000'000;
  unsigned down_nid_packets = 2;
  unsigned down_switch_nids = 3;
  std::uint32_t switch_mask = 0xfffc0;
  // Tests: divides all the times above.
  std::uint64_t time_divisor = 1;
};

#define PLNET_CASSINI_RETRY_COUNTERS(X)                                                            \
  X(kTimeouts, "timeouts", "packets", kCount, "not answered in time")                              \
  X(kNacks, "nacks", "packets", kCount, "refused by the target")                                   \
  X(kRetries, "retries", "packets", kCount, "to be sent again")                                    \
  X(kUndeliverable, "undeliverable", "packets", kCount, "given up after timeouts")                 \
  X(kCanceled, "canceled", "packets", kCount, "given up after refusals")                           \
  X(kNidsParked, "nids_parked", "nids", kCount, "not sent to for a while")                         \
  X(kSwitchesParked, "switches_parked", "switches", kCount, "likewise, with all NIDs behind them") \
  X(kResourceBusy, "nack_resource_busy", "packets", kCount, "the target was out of table space")   \
  X(kSequence, "nack_sequence_error", "packets", kCount, "an earlier packet was missing")          \
  X(kNoMatchingConn, "nack_no_matching_conn", "packets", kCount,                                   \
    "the target did not know the connection")                                                      \
  X(kNoTarget, "nack_no_target", "packets", kCount, "no connection, message or answer state left")
PLNET_COUNTERS(RetryCounters, PLNET_CASSINI_RETRY_COUNTERS);

// The history of one packet.
struct PacketHistory {
  std::uint8_t timeouts = 0;
  std::uint8_t nacks = 0;
  std::uint8_t resource_busy = 0;
  std::uint8_t pending_response = 0;
  std::uint8_t no_matching = 0;
};
struct PacketName {
  unsigned sct = 0;
  unsigned spt = 0;
  NicAddress nid = 0;
};

class RetryLog {
 public:
  virtual ~RetryLog() = default;
  virtual void line(std::string_view text) = 0;
};

class RetryHandler {
 public:
  struct Decision {
    bool again = false;
    ReturnCode code = ReturnCode::kOk;  // if it is not repeated
    std::uint64_t after_ns = 0;         // if it is repeated
    bool small_batch = false;
  };
  RetryHandler(const RetryOptions& options, Random random, RetryLog* log = nullptr);

  // `with_it`: other packets of its connection that are given up with it.
  [[nodiscard]] Decision timed_out(const PacketName& packet, PacketHistory& history,
                                   std::uint64_t now_ns, unsigned with_it = 0);
  [[nodiscard]] Decision refused(const PacketName& packet, PacketHistory& history, ReturnCode code,
                                 bool established);
  // The packet, or its response, will certainly never arrive. Does not count against the NID.
  [[nodiscard]] Decision undeliverable(const PacketName& packet);
  // The NID is parked: requests to it end at once.
  [[nodiscard]] bool parked(NicAddress nid, std::uint64_t now_ns) const;

  [[nodiscard]] std::uint64_t idle_ns() const { return options_.idle_ns / options_.time_divisor; }
  [[nodiscard]] bool running() const { return options_.running; }
  [[nodiscard]] unsigned close_tries_max() const {
    return options_.running ? options_.close_tries_max : 1;
  }
  [[nodiscard]] std::uint64_t packet_timeout_ns() const {
    return options_.packet_timeout_ns / options_.time_divisor;
  }
  [[nodiscard]] std::uint64_t target_timeout_ns() const {
    return options_.target_timeout_ns / options_.time_divisor;
  }
  [[nodiscard]] unsigned batch() const { return options_.batch; }
  [[nodiscard]] CounterView counters() const { return stats_.view(); }
  [[nodiscard]] std::uint64_t count(RetryCounters::Id id) const { return stats_.get(id); }

 private:
  struct Down {
    NicAddress nid = 0;
    unsigned packets = 0;
    std::uint64_t until_ns = 0;  // 0: not parked
    std::uint64_t seen_ns = 0;
  };
  void gave_up(NicAddress nid, unsigned packets, std::uint64_t now_ns);
  Decision end(const PacketName& packet, ReturnCode code, ReturnCode why);
  void say(std::string_view what, const PacketName& packet, ReturnCode code);

  RetryOptions options_;
  Random random_;
  RetryLog* log_;
  Counters<RetryCounters> stats_;
  std::array<Down, 64> down_{};  // the oldest is replaced
};

// The name of a code in log lines.
[[nodiscard]] std::string_view name_of(ReturnCode code);

}  // namespace plnet::cassini::soft
