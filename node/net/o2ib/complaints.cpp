// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/complaints.hpp"

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {

void O2ibComplaints::say(runtime::OnceLog& log) {
  o2iblnd::Complaint complaint;
  for (std::size_t i = 0; i < kWaitingMax && waiting_.pop(complaint); ++i)
    log.tell(culprit_of(complaint), complaint.cause);
}

std::string culprit_of(const o2iblnd::Complaint& complaint) {
  return complaint.nid.is_any() ? ipv4_text(complaint.address) : lnet::text_of(complaint.nid);
}

std::string ipv4_text(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24U, (address >> 16U) & 0xffU,
                     (address >> 8U) & 0xffU, address & 0xffU);
}

}  // namespace plnet::node
