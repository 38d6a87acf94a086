// SPDX-License-Identifier: BSD-3-Clause
// Nodes of a plan by the names of their hosts: those of a file, or of a Slurm job.
//
//   hostfile:hosts.txt@tcp       every host of the file; NIDs may stand there, too
//   hostfile:hosts.txt:1-4@tcp   the first four of them
//   slurm:4711:5-8@tcp1          of job 4711
//   slurm::1-4@tcp               of the allocation that this runs in
//
// Without a network: tcp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::run {

// What knows about hosts; tests bring their own.
class HostDirectory {
 public:
  virtual ~HostDirectory() = default;
  [[nodiscard]] virtual Outcome<std::string> read_file(const std::string& path) const = 0;
  // Hosts of a job, in Slurm's order. "": of the allocation that this process is in.
  [[nodiscard]] virtual Outcome<std::vector<std::string>> hosts_of_job(
      const std::string& job) const = 0;
  // As it stands in a NID.
  [[nodiscard]] virtual Outcome<std::string> address_of(const std::string& host) const = 0;
};

// The first word of each line, without what MPI launchers write behind a name (`:4`, `slots=4`);
// what follows a '#' is passed over.
[[nodiscard]] std::vector<std::string> hosts_of_file(std::string_view text);

// Puts NIDs in the place of words that stand for hosts; others stay. kInvalid: a word that is none,
// hosts that there are not; else what the directory says.
[[nodiscard]] Outcome<void> replace_hosts(std::vector<std::string>& words,
                                          const HostDirectory& directory);

}  // namespace plnet::run
