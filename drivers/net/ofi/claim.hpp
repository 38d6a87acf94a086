// SPDX-License-Identifier: BSD-3-Clause
// Who is there, for addresses that are names on this host. The provider shm (libfabric 1.17) does
// not say whether a name that it is given is anybody's: it mixes up names that are nobody's yet,
// and it uses what a killed process has left. So each endpoint holds a lock on the file behind its
// name, which ends with the process, and asks for the peer's before it tells the provider.
#pragma once

#include "drivers/net/ofi/address.hpp"

namespace plnet::ofi {

class Claim {
 public:
  Claim() = default;
  ~Claim() { release(); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // Before the endpoint is enabled. What a dead process has left is removed, so that peers who
  // still have it mapped do not write into what is made now. kExists: somebody alive has the name.
  [[nodiscard]] static Result<void> prepare(const ProviderAddress& name);
  // Once it can be reached.
  [[nodiscard]] Result<void> take(const ProviderAddress& name);
  void release();

 private:
  int file_ = -1;
};

// Cold: some system calls.
[[nodiscard]] bool is_claimed(const ProviderAddress& name);

}  // namespace plnet::ofi
