// SPDX-License-Identifier: BSD-3-Clause
// Host information of this machine: its resolver, its files, and the commands of Slurm.
#pragma once

#include <string>
#include <vector>

#include "apps/lnet-selftest/run/host_words.hpp"

namespace plnet::apps {

class SystemHosts final : public run::HostDirectory {
 public:
  // `own_nodes`: SLURM_JOB_NODELIST; "": no allocation.
  explicit SystemHosts(std::string own_nodes) : own_nodes_(std::move(own_nodes)) {}

  [[nodiscard]] Outcome<std::string> read_file(const std::string& path) const override;
  [[nodiscard]] Outcome<std::vector<std::string>> hosts_of_job(
      const std::string& job) const override;
  // The first IPv4 address of its name, else the first IPv6 address; if there is no such name but a
  // Slurm node, its NodeAddr.
  [[nodiscard]] Outcome<std::string> address_of(const std::string& host) const override;

 private:
  const std::string own_nodes_;
};

}  // namespace plnet::apps
