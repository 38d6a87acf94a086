// SPDX-License-Identifier: BSD-3-Clause
// Breaches of the protocol on a shard's o2ib networks, on their way to the log.
#pragma once

#include <string>

#include "lib/base/counters.hpp"
#include "lib/base/ring.hpp"
#include "lib/o2iblnd/complaints.hpp"
#include "lib/runtime/admin/once_log.hpp"

namespace plnet::node {

#define PLNET_O2IB_COMPLAINT_COUNTERS(X)                                                         \
  X(kTold, "told", "complaints", kCount, "complaints about invalid data of peers and strangers") \
  X(kUnheard, "unheard", "complaints", kCount, "complaints dropped, since too many came at a time")

PLNET_COUNTERS(O2ibComplaintTable, PLNET_O2IB_COMPLAINT_COUNTERS);

class O2ibComplaints final : public o2iblnd::Complaints {
 public:
  // Complaints between two drains of the admin thread, 100 ms: more than the log would write.
  static constexpr std::size_t kWaitingMax = 256;

  // On the shard.
  void tell(const o2iblnd::Complaint& complaint) override {
    counters_.add(Id::kTold);
    if (!waiting_.push(complaint)) counters_.add(Id::kUnheard);
  }
  // On the admin thread.
  void say(runtime::OnceLog& log);

  [[nodiscard]] CounterView counters() const { return counters_.view(); }

 private:
  using Id = O2ibComplaintTable::Id;

  SpscRing<o2iblnd::Complaint> waiting_{kWaitingMax};
  Counters<O2ibComplaintTable> counters_;
};

// A NID, or the address of a stranger.
[[nodiscard]] std::string culprit_of(const o2iblnd::Complaint& complaint);

// "10.0.0.1" for an address in host order.
[[nodiscard]] std::string ipv4_text(std::uint32_t address);

}  // namespace plnet::node
