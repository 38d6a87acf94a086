// SPDX-License-Identifier: BSD-3-Clause
// The place of kfi networks on a poller: the NIs that this shard serves, and under them their NICs
// as far as they are software. Always in the poller's list; without an NI it does nothing.
#pragma once

#include <memory>
#include <vector>

#include "apps/assembly/kfi_nic.hpp"
#include "lib/base/pollable.hpp"
#include "lib/kfilnd/lnd.hpp"

namespace plnet::apps {

class KfiPlace;

// What stands under an LND, made before it and gone after it.
struct KfiGround {
  std::unique_ptr<KfiLease> lease;
};

// The LND of an NI with everything that it needs, enrolled where it is polled. Its shard's.
class KfiNi final : private KfiGround, public kfilnd::KfiLnd {
 public:
  KfiNi(KfiPlace& place, std::unique_ptr<KfiLease> lease, const kfilnd::KfiLndConfig& config,
        lnet::LndUpcalls& core);
  ~KfiNi() override;

  unsigned poll(Instant now) {
    return KfiGround::lease->nic().poll(now) + KfiGround::lease->pollable().poll(now);
  }
  [[nodiscard]] const lnet::Nid& nid() const { return nid_; }
  [[nodiscard]] KfiLease& lease() { return *KfiGround::lease; }

 private:
  const lnet::Nid nid_;
  KfiPlace& place_;
};

class KfiPlace final : public Pollable {
 public:
  KfiPlace() { nis_.reserve(runtime::kKfiInterfacesMax); }

  unsigned poll(Instant now) override {
    unsigned work = 0;
    for (KfiNi* const ni : nis_)
      work += ni->poll(now);
    return work;
  }
  [[nodiscard]] std::string_view name() const override { return "kfi"; }
  // A NIC wakes nobody: with one a shard naps.
  [[nodiscard]] bool woken_by_doorbell() const override { return nis_.empty(); }
  [[nodiscard]] Instant next_deadline() const override;

  // The shard's own.
  [[nodiscard]] const std::vector<KfiNi*>& nis() const { return nis_; }
  // Null: no such NI here.
  [[nodiscard]] KfiNi* ni(const lnet::Nid& nid) const;

 private:
  friend class KfiNi;
  std::vector<KfiNi*> nis_;
};

}  // namespace plnet::apps
