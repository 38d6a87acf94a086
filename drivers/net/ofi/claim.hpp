// SPDX-License-Identifier: BSD-3-Clause
// Who is there, for addresses that are names on this host. The provider shm (libfabric 1.17) mixes
// up names that are nobody's yet, uses what a killed process has left, and takes who comes back
// under a name for who had it before. So each life of an endpoint has a name that no other has
// (address.hpp), and the place, which all know, is a file that tells whose life it is. Its owner
// holds two locks on it, which end with the process: one from before its endpoint is made until
// after it has gone, and one for as long as the endpoint can be reached.
#pragma once

#include <string>

#include "drivers/net/ofi/address.hpp"

namespace plnet::ofi {

class Claim {
 public:
  Claim() = default;
  ~Claim() { release(); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // Before the endpoint is made. What a killed process has left there is removed. kExists: somebody
  // alive has the place.
  [[nodiscard]] Result<void> take(const Process& process, Life life);
  // From here on others find it; until hide().
  [[nodiscard]] Result<void> publish();
  void hide();
  // After the endpoint has gone.
  void release();

 private:
  int file_ = -1;
  std::string place_;
};

// kNoLife: nobody can be reached there. Cold: some system calls.
[[nodiscard]] Life life_at(const Process& process);

}  // namespace plnet::ofi
