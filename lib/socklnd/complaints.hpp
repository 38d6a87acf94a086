// SPDX-License-Identifier: BSD-3-Clause
// Peers and strangers that broke a rule, for log lines. They have been counted, and the connection
// is closed.
#pragma once

#include <string_view>

#include "lib/lnet/names/nid.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::socklnd {

struct Complaint {
  lnet::Nid nid = lnet::Nid::any();  // of a peer
  SocketAddress address;             // of a stranger, which has no NID yet
  std::string_view cause;            // the name of its counter; a string literal
};

class Complaints {
 public:
  virtual ~Complaints() = default;
  // Called on the shard of the connection. Never blocks, keeps a fixed number.
  virtual void tell(const Complaint& complaint) = 0;
};

}  // namespace plnet::socklnd
