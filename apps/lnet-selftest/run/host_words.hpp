// SPDX-License-Identifier: BSD-3-Clause
// Nodes of a plan by host names: from a file, or of a Slurm job.
//
//   hostfile:hosts.txt@tcp       every host of the file; NIDs may be in it, too
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

// Resolves hosts; tests provide their own.
class HostDirectory {
 public:
  virtual ~HostDirectory() = default;
  [[nodiscard]] virtual Outcome<std::string> read_file(const std::string& path) const = 0;
  // Hosts of a job, in Slurm's order. "": of the allocation of this process.
  [[nodiscard]] virtual Outcome<std::vector<std::string>> hosts_of_job(
      const std::string& job) const = 0;
  // The address in the form of NIDs.
  [[nodiscard]] virtual Outcome<std::string> address_of(const std::string& host) const = 0;
};

// The first word of each line, without the suffixes of MPI launchers (`:4`, `slots=4`); text after
// a '#' is ignored.
[[nodiscard]] std::vector<std::string> hosts_of_file(std::string_view text);

// Replaces host words by NIDs; other words stay. kInvalid: an invalid word, or missing hosts; else
// the directory's error.
[[nodiscard]] Outcome<void> replace_hosts(std::vector<std::string>& words,
                                          const HostDirectory& directory);

}  // namespace plnet::run
