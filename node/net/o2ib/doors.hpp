// SPDX-License-Identifier: BSD-3-Clause
// Listeners of o2ib NIs, one for each address, which NIs of several networks may share. They are on
// shard 0 with the coordinator, which knows the homes of peers: a connect request goes to the shard
// of its peer. Used by shard 0 only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/counters.hpp"
#include "lib/base/pollable.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/o2iblnd/negotiation.hpp"
#include "node/net/o2ib/adapter.hpp"

namespace plnet::node {

// Finds the destination of requests.
class O2ibHomes {
 public:
  virtual ~O2ibHomes() = default;
  // The home shard of `peer`, or a shard that serves the NI instead; a stranger becomes a peer.
  // Nothing: there is no room for it now, or the NI is missing.
  [[nodiscard]] virtual std::optional<lnet::ShardId> home_of(const lnet::Nid& local,
                                                             const lnet::Nid& peer) = 0;
  // Any shard that serves the NI. Nothing: the NI is missing.
  [[nodiscard]] virtual std::optional<lnet::ShardId> any_of(const lnet::Nid& local) = 0;
  // False: too many requests wait for the shard.
  [[nodiscard]] virtual bool bring(lnet::ShardId shard, const O2ibRequest& request,
                                   O2ibAdapter& adapter, const lnet::Nid& local) = 0;
};

#define PLNET_O2IB_DOOR_COUNTERS(X)                                                      \
  X(kRequests, "requests", "connections", kCount, "connect requests received")           \
  X(kHandedOver, "handed_over", "connections", kCount, "of these, passed to a shard")    \
  X(kNoHome, "no_home", "connections", kCount, "rejected: no room for another peer now") \
  X(kNoRoom, "no_room", "connections", kCount, "rejected: too many wait for a shard")    \
  X(kUnclear, "unclear", "connections", kCount,                                          \
    "requests that name no peer of this network; an "                                    \
    "NI judges them")
PLNET_COUNTERS(O2ibDoorTable, PLNET_O2IB_DOOR_COUNTERS);

struct O2ibDoorNi {
  lnet::Nid nid;
  std::uint64_t incarnation = 0;
  o2iblnd::Tunables tunables;
};

class O2ibDoor final : private o2iblnd::VerbsEvents {
 public:
  // The adapter and `homes` outlive the door. The error names the remedy.
  [[nodiscard]] static Outcome<std::unique_ptr<O2ibDoor>> open(O2ibAdapter& adapter,
                                                               const o2iblnd::Ipv4Endpoint& local,
                                                               O2ibHomes& homes,
                                                               Counters<O2ibDoorTable>& counters);
  ~O2ibDoor() override;

  [[nodiscard]] const o2iblnd::Ipv4Endpoint& local() const { return local_; }
  [[nodiscard]] O2ibAdapter& adapter() const { return adapter_; }
  [[nodiscard]] std::vector<O2ibDoorNi>& nis() { return nis_; }
  [[nodiscard]] Pollable& pollable() { return pairs_->pollable(); }
  [[nodiscard]] CounterView counters() const { return pairs_->driver().counters(); }

 private:
  using Id = O2ibDoorTable::Id;

  O2ibDoor(O2ibAdapter& adapter, const o2iblnd::Ipv4Endpoint& local, O2ibHomes& homes,
           Counters<O2ibDoorTable>& counters)
      : adapter_(adapter), local_(local), homes_(homes), counters_(counters) {}

  // VerbsEvents: only the first occurs at a listener; others end requests that wait here.
  void on_connect_request(o2iblnd::QueuePairId request, const o2iblnd::Ipv4Endpoint& from,
                          const o2iblnd::Ipv4Endpoint& to,
                          std::span<const std::byte> data) override;
  void on_completions(std::span<const o2iblnd::WorkCompletion> /*burst*/) override {}
  void on_established(o2iblnd::QueuePairId /*pair*/, std::span<const std::byte> /*data*/) override {
  }
  void on_rejected(o2iblnd::QueuePairId /*pair*/, o2iblnd::RejectKind /*kind*/,
                   std::span<const std::byte> /*data*/) override {}
  void on_disconnected(o2iblnd::QueuePairId /*pair*/, Errc /*cause*/) override {}
  void on_drained(o2iblnd::QueuePairId /*pair*/) override {}
  void on_device(bool /*usable*/, Errc /*cause*/) override {}

  [[nodiscard]] const O2ibDoorNi* asked_for(const o2iblnd::Message& message) const;
  void refuse(o2iblnd::QueuePairId request, const o2iblnd::Message& message, const O2ibDoorNi& ni);

  O2ibAdapter& adapter_;
  const o2iblnd::Ipv4Endpoint local_;
  O2ibHomes& homes_;
  Counters<O2ibDoorTable>& counters_;
  std::unique_ptr<O2ibQueuePairs> pairs_;
  std::vector<O2ibDoorNi> nis_;  // oldest first; never empty while it is polled
  o2iblnd::Message message_;     // the one being examined
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the counters lie apart
class O2ibDoors {
 public:
  explicit O2ibDoors(O2ibHomes& homes) : homes_(homes) {}

  // Peers of the NI may connect from now on. The error names the remedy.
  [[nodiscard]] Outcome<void> open(O2ibAdapter& adapter, const O2ibDoorNi& ni);
  // close() removes the older of two doors with this NID, close_newest() the newer one. Both
  // succeed without a door.
  void close(const lnet::Nid& nid);
  void close_newest(const lnet::Nid& nid);

  unsigned poll(Instant now);
  [[nodiscard]] Instant next_deadline() const;
  [[nodiscard]] bool empty() const { return doors_.empty(); }
  [[nodiscard]] CounterView counters() const { return counters_.view(); }

 private:
  void close_one(O2ibDoor& door, std::vector<O2ibDoorNi>::iterator ni);

  O2ibHomes& homes_;
  Counters<O2ibDoorTable> counters_;
  std::vector<std::unique_ptr<O2ibDoor>> doors_;
};

}  // namespace plnet::node
