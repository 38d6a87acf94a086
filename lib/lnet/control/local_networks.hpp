// SPDX-License-Identifier: BSD-3-Clause
// The networks and NIs of this node. The coordinator makes and retires them; a change publishes a
// new LocalView. NIs and views that are removed stay until no shard can read them. Adding and
// removing may allocate.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/qsbr.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/peers/net_interface.hpp"

namespace plnet::lnet {

struct NiSetup {
  Nid nid;
  std::vector<std::uint16_t> cpts;  // restricted to these; empty: all
  std::uint16_t device_cpt = 0;
  NiTunables tunables;
  std::vector<std::string> interfaces;
  ShardSet shards;
  Duration lnd_timeout{};  // of its LND; 0: it has none of its own
  std::vector<LndTunable> lnd_tunables;
  std::uint64_t incarnation = 0;
};

class LocalNetworks {
 public:
  // Has only 0@lo, on all shards of the node.
  LocalNetworks(Qsbr& qsbr, unsigned shards);
  ~LocalNetworks();

  // Any shard.
  [[nodiscard]] const LocalView& view() const {
    return *published_.load(std::memory_order_acquire);
  }

  // The rest is for the coordinator.

  // kInvalid: an NI cannot have this NID; kExists; kTooBig: there are kNisMax - 1 NIs.
  [[nodiscard]] Outcome<Ni*> add(const NiSetup& config);
  // No view lists the NI from now on; its object stays until released() and a grace period.
  // kNotFound.
  [[nodiscard]] Outcome<Ni*> remove(const Nid& nid);
  // No other part uses the removed NI any more.
  void released(Ni& ni);
  // True when no reader can find the NI of the last remove().
  [[nodiscard]] bool readers_passed(Ni& ni);
  // Frees objects that no shard can read any more.
  void step();

  [[nodiscard]] bool has_net(NetId net) const { return view().net(net) != nullptr; }

 private:
  // An NI, and the arrays of its views.
  struct Place {
    Ni ni;
    std::unique_ptr<Ni::CreditView[]> tx_credits;
    Qsbr::Grace grace = 0;
    bool released = false;
  };
  struct Priority {
    NetId net = 0;
    std::uint16_t number = 0;
    Relaxed<std::uint32_t> value{kPriorityLowest};
  };
  struct Published {
    LocalView view;
    std::vector<std::vector<Ni*>> nis_of;
    Qsbr::Grace grace = 0;
  };

  void publish();
  [[nodiscard]] std::uint16_t free_number() const;
  [[nodiscard]] Priority& priority_of(NetId net);

  Qsbr& qsbr_;
  const std::unique_ptr<Place> loopback_;
  std::vector<std::unique_ptr<Place>> places_;  // in the order of configuration
  std::vector<std::unique_ptr<Place>> leaving_;
  // Priorities of present nets, and of some that were removed.
  std::vector<std::unique_ptr<Priority>> priorities_;
  std::unique_ptr<Published> current_;
  std::vector<std::unique_ptr<Published>> old_;
  std::atomic<const LocalView*> published_{nullptr};
};

}  // namespace plnet::lnet
