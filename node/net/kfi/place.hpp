// SPDX-License-Identifier: BSD-3-Clause
// kfi's place on a poller: the NIs of this shard, and the software NICs that it keeps. Always in
// the poller's list; without either it does nothing.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/pollable.hpp"
#include "lib/kfilnd/lnd.hpp"
#include "lib/kfilnd/node_gate.hpp"
#include "lib/kfilnd/node_homes.hpp"
#include "node/net/kfi/nic.hpp"

namespace plnet::node {

class KfiPlace;

// The parts under an LND, made before it and destroyed after it.
struct KfiGround {
  std::unique_ptr<KfiContext> context;
  std::unique_ptr<kfilnd::NodeHomes> homes;  // null: this shard is the home of all peers
  std::unique_ptr<kfilnd::NodeGate> gate;
};

// The LND of an NI on a shard with its parts, listed where it is polled. Owned by its shard.
class KfiNi final : private KfiGround, public kfilnd::KfiLnd {
 public:
  KfiNi(KfiPlace& place, KfiGround ground, const kfilnd::KfiLndConfig& config,
        lnet::LndUpcalls& core);
  ~KfiNi() override;

  unsigned poll(Instant now) { return KfiGround::context->pollable().poll(now); }
  [[nodiscard]] bool idle() const override {
    return KfiLnd::idle() && (homes == nullptr || homes->idle());
  }
  [[nodiscard]] const lnet::Nid& nid() const { return nid_; }
  [[nodiscard]] KfiContext& context() { return *KfiGround::context; }

 private:
  const lnet::Nid nid_;
  KfiPlace& place_;
};

class KfiPlace final : public Pollable {
 public:
  KfiPlace() { nis_.reserve(kKfiInterfacesMax * kKfiNisMax); }
  // The NICs of the node, some of which this shard may keep. Before the first poll.
  void set_nics(std::span<const std::unique_ptr<KfiNic>> nics) { nics_ = nics; }

  unsigned poll(Instant now) override {
    unsigned work = 0;
    for (const auto& nic : nics_) {
      if (nic->is_kept_by(*this)) work += nic->keep(now);
    }
    for (KfiNi* const ni : nis_)
      work += ni->poll(now);
    return work;
  }
  [[nodiscard]] std::string_view name() const override { return "kfi"; }
  // A NIC rings no doorbell: a shard with one naps.
  [[nodiscard]] bool woken_by_doorbell() const override {
    return nis_.empty() &&
           std::ranges::none_of(nics_, [this](const auto& nic) { return nic->is_kept_by(*this); });
  }
  [[nodiscard]] Instant next_deadline() const override;

  // Only on the shard.
  [[nodiscard]] const std::vector<KfiNi*>& nis() const { return nis_; }
  // Null: no such NI here.
  [[nodiscard]] KfiNi* ni(const lnet::Nid& nid) const;

 private:
  friend class KfiNi;
  std::span<const std::unique_ptr<KfiNic>> nics_;
  std::vector<KfiNi*> nis_;
};

}  // namespace plnet::node
