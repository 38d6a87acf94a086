// SPDX-License-Identifier: BSD-3-Clause
// Names, addresses and files of a lab, computed from its size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plnet::cxi_lab {

// Variables of each rank, which `plnet-cxi-lab exec` reads.
inline constexpr const char* kFolderVariable = "CXI_LAB_FOLDER";
inline constexpr const char* kNodesVariable = "CXI_LAB_NODES";

struct Plan {
  unsigned nodes = 2;
  unsigned nics_per_rank = 1;
  std::string folder;   // seen by all ranks and by nobody else
  std::string library;  // libcxi.so.1

  [[nodiscard]] std::string fabric() const { return folder + "/fabric"; }
  [[nodiscard]] std::string rank_folder(unsigned rank) const;
  // Files of the NICs' driver, which programs of the rank see in /sys/class/cxi.
  [[nodiscard]] std::string driver_folder(unsigned rank) const;
  // Ethernet and NIC address of Slingshot go together: an algorithmic MAC address (AMA) is locally
  // administered and ends with the 20 bits of the NIC's.
  [[nodiscard]] std::uint32_t nic_address(unsigned rank, unsigned nic) const;
  [[nodiscard]] std::string mac(unsigned rank, unsigned nic) const;
  [[nodiscard]] static std::string ip(unsigned rank, unsigned nic);
  // Also the name of the rank's host.
  [[nodiscard]] static std::string host_name(unsigned rank);
  // The rank with that number, host name or IP address.
  [[nodiscard]] std::optional<unsigned> rank_of(std::string_view host) const;
  // The number of the process whose namespaces are those of the rank.
  [[nodiscard]] std::string process_file(unsigned rank) const;
  // Lines of /etc/hosts.
  [[nodiscard]] std::string host_lines() const;
  // The file beside the rank's libcxi.so.1.
  [[nodiscard]] std::string library_config(unsigned rank) const;
  // Environment of the rank's command. LD_LIBRARY_PATH is the rank's folder before `library_path`,
  // which loses the folders of other ranks.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> environment(
      unsigned rank, const std::string& library_path) const;
  // Input of `ip -batch`: for the lab itself, for the cables to a rank in the namespace of that
  // process, and for the rank.
  [[nodiscard]] std::string bridge_commands() const;
  [[nodiscard]] std::string cable_commands(unsigned rank, int process) const;
  [[nodiscard]] std::string interface_commands(unsigned rank) const;
  // /sys/class/net as libfabric's provider reads it (prov/cxi/src/cxip_if.c): path below it and
  // contents.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> sysfs_files(unsigned rank) const;
};

}  // namespace plnet::cxi_lab
