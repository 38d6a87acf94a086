// SPDX-License-Identifier: BSD-3-Clause
// What peers and strangers did that they should not have, for whoever wants to say it. It has been
// counted, and the connection is closed; this is for people.
#pragma once

#include <string_view>

#include "lib/lnet/names/nid.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::socklnd {

struct Complaint {
  lnet::Nid nid = lnet::Nid::any();  // a peer's
  SocketAddress address;             // a stranger's, who has no NID yet
  std::string_view cause;            // the name of what counts it; stays
};

class Complaints {
 public:
  virtual ~Complaints() = default;
  // On the shard where it happened. Never blocks, keeps a fixed amount.
  virtual void tell(const Complaint& complaint) = 0;
};

}  // namespace plnet::socklnd
