// SPDX-License-Identifier: BSD-3-Clause
#include "apps/plnet-cxi-lab/plan.hpp"

#include <fmt/format.h>

#include "apps/plnet-cxi-lab/command_line.hpp"

namespace plnet::cxi_lab {
namespace {

constexpr unsigned kFirstNet = 201;             // 10.201.0.RANK: within the namespaces only
constexpr std::uint32_t kFirstAddress = 0x100;  // of the NICs
constexpr unsigned kSpeedMbps = 200'000;

std::string without_folders_below(std::string_view folder, std::string_view path) {
  std::string kept;
  while (!path.empty()) {
    const std::string_view one = path.substr(0, path.find(':'));
    path.remove_prefix(one.size() == path.size() ? one.size() : one.size() + 1);
    if (one.starts_with(folder)) continue;
    kept += kept.empty() ? "" : ":";
    kept += one;
  }
  return kept;
}

}  // namespace

std::string Plan::rank_folder(unsigned rank) const {
  return fmt::format("{}/rank-{}", folder, rank);
}

std::string Plan::driver_folder(unsigned rank) const {
  return rank_folder(rank) + "/cxi";
}

std::uint32_t Plan::nic_address(unsigned rank, unsigned nic) const {
  return kFirstAddress + rank * nics_per_rank + nic;
}

std::string Plan::mac(unsigned rank, unsigned nic) const {
  const std::uint32_t address = nic_address(rank, nic);
  return fmt::format("02:00:00:{:02x}:{:02x}:{:02x}", address >> 16, address >> 8 & 0xff,
                     address & 0xff);
}

std::string Plan::ip(unsigned rank, unsigned nic) {
  return fmt::format("10.{}.0.{}", kFirstNet + nic, rank + 1);
}

std::string Plan::host_name(unsigned rank) {
  return fmt::format("rank-{}", rank);
}

std::optional<unsigned> Plan::rank_of(std::string_view host) const {
  for (unsigned rank = 0; rank < nodes; ++rank) {
    if (host == std::to_string(rank) || host == host_name(rank)) return rank;
    for (unsigned nic = 0; nic < kNicsMax; ++nic)
      if (host == ip(rank, nic)) return rank;
  }
  return std::nullopt;
}

std::string Plan::process_file(unsigned rank) const {
  return rank_folder(rank) + "/process";
}

std::string Plan::host_lines() const {
  std::string text;
  for (unsigned rank = 0; rank < nodes; ++rank)
    text += fmt::format("{} {}\n", ip(rank, 0), host_name(rank));
  return text;
}

std::string Plan::library_config(unsigned rank) const {
  std::string text = fmt::format("devices = {}\n", nics_per_rank);
  for (unsigned nic = 0; nic < nics_per_rank; ++nic)
    text += fmt::format("address.{} = {:#x}\n", nic, nic_address(rank, nic));
  // The driver's VNIs of the default service (cass_svc.c: default_vnis), of which libfabric takes
  // the first one, and LNet's.
  text += "vnis = 1 10 255\n";
  return text + fmt::format("join = local {}\nstate = {}\n", fabric(), rank_folder(rank));
}

std::vector<std::pair<std::string, std::string>> Plan::environment(
    unsigned rank, const std::string& library_path) const {
  std::string addresses;
  for (unsigned one = 0; one < nodes; ++one)
    addresses += (one == 0 ? "" : " ") + ip(one, 0);
  const std::string own = rank_folder(rank);
  const std::string others = without_folders_below(folder + "/rank-", library_path);
  return {{"CXI_LAB_RANK", std::to_string(rank)},
          {kNodesVariable, std::to_string(nodes)},
          {kFolderVariable, folder},
          {"CXI_LAB_ADDRESS", ip(rank, 0)},
          {"CXI_LAB_ADDRESSES", addresses},
          {"LD_LIBRARY_PATH", others.empty() ? own : own + ":" + others}};
}

std::string Plan::bridge_commands() const {
  std::string text;
  for (unsigned nic = 0; nic < nics_per_rank; ++nic)
    text += fmt::format("link add switch{0} type bridge\nlink set switch{0} up\n", nic);
  return text;
}

std::string Plan::cable_commands(unsigned rank, int process) const {
  std::string text;
  for (unsigned nic = 0; nic < nics_per_rank; ++nic) {
    const std::string port = fmt::format("port{}-{}", rank, nic);
    text += fmt::format(
        "link add {0} type veth peer name hsn{1} netns {2}\nlink set {0} master switch{1}\n"
        "link set {0} up\n",
        port, nic, process);
  }
  return text;
}

std::string Plan::interface_commands(unsigned rank) const {
  std::string text = "link set lo up\n";
  for (unsigned nic = 0; nic < nics_per_rank; ++nic) {
    text += fmt::format("link set hsn{0} address {1}\naddress add {2}/24 dev hsn{0}\n", nic,
                        mac(rank, nic), ip(rank, nic));
    text += fmt::format("link set hsn{} up\n", nic);
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> Plan::sysfs_files(unsigned rank) const {
  constexpr const char* kSetByUser = "3";  // NET_ADDR_SET
  std::vector<std::pair<std::string, std::string>> files;
  for (unsigned nic = 0; nic < nics_per_rank; ++nic) {
    for (const auto& [name, value] :
         {std::pair<const char*, std::string>{"address", mac(rank, nic)},
          {"addr_assign_type", kSetByUser},
          {"operstate", "up"},
          {"carrier", "1"},
          {"speed", std::to_string(kSpeedMbps)},
          {"mtu", "1500"}})
      files.emplace_back(fmt::format("hsn{}/{}", nic, name), value + "\n");
  }
  return files;
}

}  // namespace plnet::cxi_lab
