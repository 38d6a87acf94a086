// SPDX-License-Identifier: BSD-3-Clause
// Peers that cannot be connected: log lines about their loss and return, and their list for
// `status`. A loss that many peers share is one line. Owned by the admin thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/lnet/peers/reachability.hpp"
#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::node {

// "no answer for 12 s: …", with the family's explanation, else the error's text.
[[nodiscard]] std::string trouble_text(Errc trouble, std::optional<Duration> silent,
                                       const std::string& explanation);

#define PLNET_REACH_NOW(X) \
  X(kUnreachable, "unreachable", "interfaces", kGauge, "peer NIs that cannot be connected now")
PLNET_COUNTERS(ReachNow, PLNET_REACH_NOW);

class ReachWatch {
 public:
  // Limit of peers remembered by name; further ones are counted.
  static constexpr std::size_t kKnownMax = 4096;
  // Peers with a line of their own in a window; further ones share one at its end.
  static constexpr unsigned kLines = 8;
  static constexpr Duration kWindow = std::chrono::seconds(10);
  // A flapping peer gets no line of its own again before this.
  static constexpr Duration kQuiet = std::chrono::minutes(1);

  // The likely reasons, and the remedy, from the network family. It may ask the system.
  using Explain = std::function<std::string(const lnet::PeerNews& news)>;

  void hear(const lnet::PeerNews& news, Instant now, const Explain& explain, runtime::Log& log);
  // Periodically: writes the shared lines. `unreachable`: the count of the shards.
  void step(Instant now, std::uint64_t unreachable, runtime::Log& log);
  void clear();
  // Entries of the list of warnings.
  [[nodiscard]] runtime::Json warnings(Instant now, const Explain& explain) const;
  [[nodiscard]] CounterView counters() const { return counters_.view(); }

 private:
  struct Known {
    lnet::PeerNews news;
    Instant lost_at{};
    std::optional<Instant> heard_at{};  // before it was lost
    std::optional<Instant> named_at{};  // in a line of its own
  };
  // Peers that share a line.
  struct Shared {
    std::uint64_t peers = 0;
    std::string examples;
    void add(const lnet::Nid& nid);
  };

  void lose(const lnet::PeerNews& news, Instant now, const Explain& explain, runtime::Log& log);
  void find(const lnet::PeerNews& news, Instant now, runtime::Log& log);
  [[nodiscard]] bool takes_line(Known& known, Instant now);
  void forget_stale(Instant now);

  std::unordered_map<lnet::Nid, Known, lnet::NidHash> known_;
  Counters<ReachNow> counters_;
  unsigned lines_left_ = kLines;
  Instant window_ends_{};
  Shared lost_;
  Shared found_;
};

}  // namespace plnet::node
