// SPDX-License-Identifier: BSD-3-Clause
// PIDs among processes that share a NIC: each one belongs to one of them.
#pragma once

namespace plnet::cassini::soft {

class PidOwners {
 public:
  virtual ~PidOwners() = default;

  // False: another process has it. A process may claim again what it has.
  [[nodiscard]] virtual bool claim(unsigned vni, unsigned pid) = 0;
  virtual void release(unsigned vni, unsigned pid) = 0;
};

}  // namespace plnet::cassini::soft
