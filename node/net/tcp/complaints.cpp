// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/complaints.hpp"

#include "drivers/net/tcp/socket.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {

void TcpComplaints::say(runtime::OnceLog& log) {
  socklnd::Complaint complaint;
  for (std::size_t i = 0; i < kWaitingMax && waiting_.pop(complaint); ++i)
    log.tell(culprit_of(complaint), complaint.cause);
}

std::string culprit_of(const socklnd::Complaint& complaint) {
  if (!complaint.nid.is_any()) return lnet::text_of(complaint.nid);
  const std::string text = drivers::text_of(complaint.address);
  return text.substr(0, text.rfind(':'));
}

}  // namespace plnet::node
