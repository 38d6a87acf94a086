// SPDX-License-Identifier: BSD-3-Clause
// Breaches of the protocol by peers and strangers, for a log that names each NID once. They have
// been counted, and the connection is closed or rejected.
#pragma once

#include <string_view>

#include "lib/lnet/names/nid.hpp"

namespace plnet::o2iblnd {

struct Complaint {
  lnet::Nid nid = lnet::Nid::any();  // any: a stranger, at `address`
  std::uint32_t address = 0;         // IPv4, host order
  std::string_view cause;            // the name of the counter; a string literal
};

class Complaints {
 public:
  virtual ~Complaints() = default;
  // Called on the shard of the connection. Never blocks, keeps a fixed number.
  virtual void tell(const Complaint& complaint) = 0;
};

}  // namespace plnet::o2iblnd
