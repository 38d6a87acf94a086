// SPDX-License-Identifier: BSD-3-Clause
// Who makes the load of a shard: by NID, by pair of networks, by portal; and how long the LNDs keep
// what goes to each next hop. Always on: one message in kSampleMean is looked at, at random
// distances, and stands for as many; all others cost a decrement. What is older than two windows is
// forgotten, but for how long next hops took. Windows begin at the same moments on all shards, so
// that what they say can be added up.
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
  NetId from = 0;  // that the message came in by
  NetId to = 0;    // of its destination

  friend bool operator==(const NetPair&, const NetPair&) = default;
};

// Of messages that have none: ACK and REPLY.
inline constexpr std::uint32_t kNoPortal = 0xffffffff;

// Copies of what there is; talkers in no order, those of several shards and windows side by side.
struct LoadSnapshot {
  // By the first shard in it; what others have is brought to the same length.
  Duration covered{};
  std::vector<Talker<Nid>> nids;
  std::vector<Talker<NetPair>> nets;
  std::vector<Talker<std::uint32_t>> portals;
  std::vector<Talker<Nid, HopTimes>> hops;
  // Since the beginning, but for hops that others have displaced: those begin anew.
  std::vector<Talker<Nid, HopTimes>> hops_of_all_time;
};

class LoadTally {
 public:
  static constexpr unsigned kSampleMean = 16;
  static constexpr Duration kWindow = std::chrono::seconds(10);

  // `talkers`: NIDs told apart, a power of two; half as many portals and next hops, and a quarter
  // of pairs of networks.
  LoadTally(std::uint64_t seed, Instant start, std::size_t talkers)
      : random_(seed),
        start_(start),
        window_begin_(window_of(start)),
        left_(distance()),
        left_sent_(distance()),
        windows_{Window(talkers), Window(talkers)},
        former_hops_(talkers / 2) {}

  // A message that has come in by the network `from`, whoever it is for.
  void count_arrival(const MessageHeader& header, NetId from, Instant now) {
    if (--left_ == 0) [[unlikely]]
      sample(header, from, now);
  }

  // The LND is done with a message to the next hop, which it had `since` then.
  void sent(const Nid& hop, std::uint32_t payload, Instant since, Instant now) {
    if (--left_sent_ == 0) [[unlikely]]
      sample_sent(hop, payload, since, now);
  }

  // The shard's: adds what it has to `snapshot`.
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

  // 1 … 2 * kSampleMean - 1, each as likely: kSampleMean on average, in step with nothing.
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
  TalkerTable<Nid, HopTimes> former_hops_;  // of windows that are over
};

}  // namespace plnet::lnet
