// SPDX-License-Identifier: BSD-3-Clause
// The sources of a shard's load: by NID, by pair of networks, by portal; and the times that LNDs
// keep messages to each next hop. Always on: one message in kSampleMean is a sample, at random
// distances, and counts as that many; every other message costs a decrement. Samples older than two
// windows are forgotten, except times of next hops. Windows begin at the same time on all shards,
// so that their counts can be added up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/load/hop_times.hpp"
#include "lib/lnet/load/talker_table.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

struct NetPair {
  NetId from = 0;  // of the NI that received the message
  NetId to = 0;    // of its destination

  friend bool operator==(const NetPair&, const NetPair&) = default;
};

// The portal of messages that have none: ACK and REPLY.
inline constexpr std::uint32_t kNoPortal = 0xffffffff;

// A copy of the tallies; talkers in no order, with separate entries for shards and windows.
struct LoadSnapshot {
  // The time covered, by the first shard; the counts of others are scaled to it.
  Duration covered{};
  std::vector<Talker<Nid>> nids;
  std::vector<Talker<NetPair>> nets;
  std::vector<Talker<std::uint32_t>> portals;
  std::vector<Talker<Nid, HopTimes>> hops;
  // Since the beginning, except for hops that others have displaced: those begin anew.
  std::vector<Talker<Nid, HopTimes>> hops_of_all_time;
};

class LoadTally {
 public:
  static constexpr unsigned kSampleMean = 16;
  static constexpr Duration kWindow = std::chrono::seconds(10);

  // `talkers`: the number of NIDs with their own entry, a power of two; half as many portals and
  // next hops, and a quarter of pairs of networks.
  LoadTally(std::uint64_t seed, Instant start, std::size_t talkers)
      : random_(seed),
        start_(start),
        window_begin_(window_of(start)),
        left_(distance()),
        left_sent_(distance()),
        windows_{Window(talkers), Window(talkers)},
        former_hops_(talkers / 2) {}

  // A message for any node has arrived by the network `from`.
  void count_arrival(const MessageHeader& header, NetId from, Instant now) {
    if (--left_ == 0) [[unlikely]]
      sample(header, from, now);
  }

  // The LND has ended a message to the next hop, which it got at `since`.
  void sent(const Nid& hop, std::uint32_t payload, Instant since, Instant now) {
    if (--left_sent_ == 0) [[unlikely]]
      sample_sent(hop, payload, since, now);
  }

  // On the shard: adds its tallies to `snapshot`.
  void copy_owner(LoadSnapshot& snapshot, Instant now);

 private:
  struct Window {
    explicit Window(std::size_t talkers)
        : nids(talkers), nets(talkers / 4), portals(talkers / 2), hops(talkers / 2) {}

    TalkerTable<Nid> nids;
    TalkerTable<NetPair> nets;
    TalkerTable<std::uint32_t> portals;
    TalkerTable<Nid, HopTimes> hops;

    void clear();
  };

  // 1 … 2 * kSampleMean - 1 with equal probability: kSampleMean on average, in step with no
  // traffic.
  [[nodiscard]] std::uint32_t distance() {
    return 1 + static_cast<std::uint32_t>(random_.below(2 * kSampleMean - 1));
  }
  void sample(const MessageHeader& header, NetId from, Instant now);
  void sample_sent(const Nid& hop, std::uint32_t payload, Instant since, Instant now);
  [[nodiscard]] static Instant window_of(Instant now) {
    return now - now.time_since_epoch() % kWindow;
  }
  void turn_windows(Instant now);
  void end(Window& window);

  Random random_;
  const Instant start_;
  Instant window_begin_;
  std::uint32_t left_;
  std::uint32_t left_sent_;
  unsigned current_ = 0;
  std::array<Window, 2> windows_;
  TalkerTable<Nid, HopTimes> former_hops_;  // of windows that have ended
};

}  // namespace plnet::lnet
