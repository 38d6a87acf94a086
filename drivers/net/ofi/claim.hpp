// SPDX-License-Identifier: BSD-3-Clause
// Owners of addresses that are names on this host. The provider shm (libfabric 1.17) mixes up names
// without an owner, uses the remains of a killed process, and takes an endpoint under a known name
// for the previous one. So each life of an endpoint has a name of its own (address.hpp), and the
// place, which all nodes know, is a file that names the present life. Its owner holds two locks on
// it, which end with the process: one from before its endpoint is made until after it has gone, and
// one for as long as the endpoint can be reached.
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

  // Called before the endpoint is made. Removes the remains of a killed process. kExists: a living
  // process has the place.
  [[nodiscard]] Result<void> take(const Process& process, Life life);
  // From now on, until hide(), others find the endpoint.
  [[nodiscard]] Result<void> publish();
  void hide();
  // Called after the endpoint has gone.
  void release();

 private:
  int file_ = -1;
  std::string place_;
};

// kNoLife: no endpoint can be reached there. Cold: some system calls.
[[nodiscard]] Life life_at(const Process& process);

}  // namespace plnet::ofi
