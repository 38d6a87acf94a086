// SPDX-License-Identifier: BSD-3-Clause
// Refused messages and claims of neighbours, with the neighbour's NID, for the log. Counters count
// all of them; of a burst, some are not logged.
#pragma once

#include <string_view>

#include "lib/base/ring.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

struct PeerComplaint {
  Nid nid = Nid::any();    // of the neighbour
  std::string_view cause;  // the name of a counter; static
};

// One thread adds, the admin thread takes.
class PeerComplaints {
 public:
  // Between two looks of the admin thread, which are 100 ms apart; the log prints fewer.
  static constexpr std::size_t kWaitingMax = 16;

  void add(const Nid& nid, std::string_view cause) { (void)waiting_.push({nid, cause}); }
  [[nodiscard]] bool take(PeerComplaint& complaint) { return waiting_.pop(complaint); }

 private:
  SpscRing<PeerComplaint> waiting_{kWaitingMax};
};

}  // namespace plnet::lnet
