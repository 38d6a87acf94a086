// SPDX-License-Identifier: BSD-3-Clause
// Refusals of neighbours' messages and claims, with the neighbour's NID, for the log. All are
// counted elsewhere; of many at a time some are left out here.
#pragma once

#include <string_view>

#include "lib/base/ring.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

struct PeerComplaint {
  Nid nid = Nid::any();    // of the neighbour
  std::string_view cause;  // a counter's name; stays
};

// One thread tells, the admin thread takes.
class PeerComplaints {
 public:
  // Between two looks of the admin thread, 100 ms; the log takes fewer.
  static constexpr std::size_t kWaitingMax = 16;

  void add(const Nid& nid, std::string_view cause) { (void)waiting_.push({nid, cause}); }
  [[nodiscard]] bool take(PeerComplaint& complaint) { return waiting_.pop(complaint); }

 private:
  SpscRing<PeerComplaint> waiting_{kWaitingMax};
};

}  // namespace plnet::lnet
