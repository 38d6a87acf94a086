// SPDX-License-Identifier: BSD-3-Clause
// The hosts of a sweep: network namespaces of this machine with wires between them, or other
// machines that are reached by ssh or Slurm.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/lnet-pin/plan/sweep.hpp"
#include "apps/lnet-pin/run/changes.hpp"

namespace plnet::pin {

class Lab {
 public:
  // Makes the namespaces, if there are no other hosts. Changes outlives this.
  [[nodiscard]] static Outcome<std::unique_ptr<Lab>> set_up(const Sweep& sweep, Changes& changes);

  // The words before a command that is to run on the host of that role.
  [[nodiscard]] std::vector<std::string> prefix(Role role) const;
  // The node is a process of this machine, so that it can be watched.
  [[nodiscard]] bool is_local(Role role) const;
  // The NID of the role's NI on a side: 0 is the client's side, 1 the server's.
  [[nodiscard]] std::string nid(Role role, std::size_t side) const;
  // The NICs of the networks on a side; they are named, on this host, and made by software.
  [[nodiscard]] const node::LabNic& nic(std::size_t side) const;
  [[nodiscard]] bool is_in_software(std::size_t side) const;
  // Control sockets and such, on each host.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::vector<Role> roles() const;
  [[nodiscard]] std::size_t side_of(Role role) const;
  [[nodiscard]] const Sweep& sweep() const { return sweep_; }

 private:
  Lab(const Sweep& sweep, Changes& changes);
  [[nodiscard]] Outcome<void> make_namespaces();
  [[nodiscard]] Outcome<void> wire(Role left, std::size_t side, Role right);
  [[nodiscard]] const std::string& network_of(std::size_t side) const;
  [[nodiscard]] std::string namespace_of(Role role) const;

  const Sweep& sweep_;
  Changes& changes_;
  std::string tag_;
  std::string folder_;
};

// The configuration of a role's node. `placement`: of its CPTs; the other nodes have one CPT of a
// shard on each of `others`, which sleeps.
struct Placement;
[[nodiscard]] std::string node_config(const Lab& lab, Role role, const Placement* placement,
                                      const std::vector<unsigned>& others);

}  // namespace plnet::pin
