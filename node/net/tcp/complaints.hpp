// SPDX-License-Identifier: BSD-3-Clause
// A shard's complaints about peers and strangers of its TCP networks, on their way to the log.
#pragma once

#include <string>

#include "lib/base/counters.hpp"
#include "lib/base/ring.hpp"
#include "lib/runtime/admin/once_log.hpp"
#include "lib/socklnd/complaints.hpp"

namespace plnet::node {

#define PLNET_TCP_COMPLAINT_COUNTERS(X)                                                \
  X(kTold, "told", "complaints", kCount, "about invalid input of peers and strangers") \
  X(kUnheard, "unheard", "complaints", kCount, "complaints dropped, since too many came at a time")

PLNET_COUNTERS(TcpComplaintTable, PLNET_TCP_COMPLAINT_COUNTERS);

class TcpComplaints final : public socklnd::Complaints {
 public:
  // Complaints between two drains of the admin thread, 100 ms: more than the log would write.
  static constexpr std::size_t kWaitingMax = 256;

  // On the shard.
  void tell(const socklnd::Complaint& complaint) override {
    counters_.add(Id::kTold);
    if (!waiting_.push(complaint)) counters_.add(Id::kUnheard);
  }
  // On the admin thread.
  void say(runtime::OnceLog& log);

  [[nodiscard]] CounterView counters() const { return counters_.view(); }

 private:
  using Id = TcpComplaintTable::Id;

  SpscRing<socklnd::Complaint> waiting_{kWaitingMax};
  Counters<TcpComplaintTable> counters_;
};

// The NID, or the address of a stranger without its port, which changes with each attempt.
[[nodiscard]] std::string culprit_of(const socklnd::Complaint& complaint);

}  // namespace plnet::node
