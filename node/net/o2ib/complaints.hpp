// SPDX-License-Identifier: BSD-3-Clause
// Breaches of the protocol on a shard's o2ib networks, on their way to the log.
#pragma once

#include <string>

#include "lib/base/counters.hpp"
#include "lib/base/ring.hpp"
#include "lib/o2iblnd/complaints.hpp"
#include "lib/runtime/admin/once_log.hpp"

namespace plnet::node {

#define PLNET_O2IB_COMPLAINT_COUNTERS(X)                                              \
  X(kTold, "told", "complaints", kCount, "of peers and strangers that sent bad data") \
  X(kUnheard, "unheard", "complaints", kCount, "too many at a time to be logged")

PLNET_COUNTERS(O2ibComplaintTable, PLNET_O2IB_COMPLAINT_COUNTERS);

class O2ibComplaints final : public o2iblnd::Complaints {
 public:
  // Between two looks of the admin thread, 100 ms: more than the log would say.
  static constexpr std::size_t kWaitingMax = 256;

  // The shard's.
  void tell(const o2iblnd::Complaint& complaint) override {
    counters_.add(Id::kTold);
    if (!waiting_.push(complaint)) counters_.add(Id::kUnheard);
  }
  // The admin thread's.
  void say(runtime::OnceLog& log);

  [[nodiscard]] CounterView counters() const { return counters_.view(); }

 private:
  using Id = O2ibComplaintTable::Id;

  SpscRing<o2iblnd::Complaint> waiting_{kWaitingMax};
  Counters<O2ibComplaintTable> counters_;
};

// A NID, or of a stranger the address.
[[nodiscard]] std::string culprit_of(const o2iblnd::Complaint& complaint);

// "10.0.0.1", of an address in host order.
[[nodiscard]] std::string ipv4_text(std::uint32_t address);

}  // namespace plnet::node
