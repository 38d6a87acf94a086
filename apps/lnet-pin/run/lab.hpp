// SPDX-License-Identifier: BSD-3-Clause
// The hosts of a sweep: network namespaces of this machine with wires between them, or other
// machines by ssh or Slurm.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/lnet-pin/plan/sweep.hpp"
#include "apps/lnet-pin/run/changes.hpp"

namespace plnet::pin {

class Lab {
 public:
  // Makes the namespaces, unless other hosts are given. `changes` outlives the lab.
  [[nodiscard]] static Outcome<std::unique_ptr<Lab>> set_up(const Sweep& sweep, Changes& changes);

  // The prefix of a command that runs on the host of that role.
  [[nodiscard]] std::vector<std::string> prefix(Role role) const;
  // The node is a process of this machine, so it can be observed.
  [[nodiscard]] bool is_local(Role role) const;
  // The NID of the role's NI on a side: 0 is the client's side, 1 the server's.
  [[nodiscard]] std::string nid(Role role, std::size_t side) const;
  // The NICs of the networks on a side; on this host they are named by the sweep, or software NICs.
  [[nodiscard]] const node::LabNic& nic(std::size_t side) const;
  [[nodiscard]] bool is_in_software(std::size_t side) const;
  // The folder of control sockets and other files, on each host.
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

// The configuration of a role's node. `placement`: of its CPTs; the other nodes have one CPT with a
// sleeping shard on each of `others`.
struct Placement;
[[nodiscard]] std::string node_config(const Lab& lab, Role role, const Placement* placement,
                                      const std::vector<unsigned>& others);

}  // namespace plnet::pin
