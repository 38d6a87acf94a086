// SPDX-License-Identifier: BSD-3-Clause
#include "apps/plnet-cxi-lab/driver_files.hpp"

#include <chrono>

#include <fmt/format.h>

namespace plnet::cxi_lab {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

struct Value {
  const char* name;
  std::string text;
};

// The limits and the description of the software NIC, as cxil_get_device_list() tells them. The
// driver keeps one RGID for itself (cass_rgid.c).
std::vector<Value> properties(std::uint32_t address) {
  const std::string nid = fmt::format("{:#x}", address);
  return {{"nic_addr", nid},
          {"nid", nid},
          {"pid_bits", "9"},
          {"pid_count", "511"},
          {"pid_granule", "256"},
          {"min_free_shift", "0"},
          {"rdzv_get_idx", "255"},
          {"hpc_mtu", "9000"},
          {"speed", "200000"},
          {"link", "1"},
          {"rev", "0"},
          {"proto", "0"},
          {"platform", "0"},
          {"system_type_identifier", "2"},
          {"cassini_version", "2.0"},
          {"uc_nic", "0"},
          {"num_ptes", "2048"},
          {"num_txqs", "1024"},
          {"num_tgqs", "512"},
          {"num_eqs", "2048"},
          {"num_cts", "2048"},
          {"num_acs", "1024"},
          {"num_tles", "2048"},
          {"num_les", "65535"},
          {"rgids_avail", "255"},
          {"pct_eq", "1"},
          {"driver_rev", "plnet " PLNET_VERSION},
          {"current_esm_link_speed", "Disabled"},
          {"rdzv_get_en", "0"},
          {"amo_remap_to_pcie_fadd", "-1"},
          {"ats_enabled", "0"}};
}

// The driver's names for a second-generation NIC, as cxi_stat reads them.
std::vector<Value> port() {
  return {
      {"media/type", "none"}, {"link/speed", "bs200G"},         {"link/state", "up"},
      {"llr/state", "off"},   {"link/config/loopback", "none"}, {"link/config/pause_map", "none"}};
}

// Files of the PCI core. There is no PCIe link.
std::vector<Value> pci(unsigned nic) {
  return {{"vendor", "0x17db"},
          {"device", "0x0501"},
          {"numa_node", "-1"},
          {"current_link_speed", "Unknown"},
          {"current_link_width", "0"},
          {"uevent",
           fmt::format("DRIVER=soft\nPCI_ID=17DB:0501\nPCI_SLOT_NAME=0000:00:{:02x}.0", nic)}};
}

void add(Files& files, const std::string& folder, const std::vector<Value>& values) {
  for (const Value& value : values)
    files.emplace_back(folder + value.name, value.text + "\n");
}

std::string now() {
  using namespace std::chrono;
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  const std::int64_t ns = nanoseconds(system_clock::now().time_since_epoch()).count();
  return fmt::format("{}.{:09}", ns / kNsPerSecond, ns % kNsPerSecond);
}

}  // namespace

std::string class_folder(unsigned nic) {
  return fmt::format("cxi{}", nic);
}

std::string device_folder(unsigned nic) {
  return fmt::format("cxi{0}/0000:00:{0:02x}.0", nic);
}

std::vector<std::string> driver_folders() {
  return {"properties", "fru",         "uc",           "telemetry",  "port",
          "port/0",     "port/0/link", "port/0/media", "port/0/llr", "port/0/link/config"};
}

Files driver_files(const Plan& plan, unsigned rank, unsigned nic) {
  Files files;
  add(files, "", pci(nic));
  add(files, "properties/", properties(plan.nic_address(rank, nic)));
  add(files, "port/0/", port());
  add(files, "fru/",
      {{"description", "software Cassini"},
       {"manufacturer", "plnet"},
       {"part_number", "none"},
       {"serial_number", "none"},
       {"version", PLNET_VERSION}});
  add(files, "uc/", {{"qspi_blob_version", "none"}});
  const std::string none = "0@" + now();
  for (const std::string_view name : kTelemetry)
    files.emplace_back(fmt::format("telemetry/{}", name), none + "\n");
  return files;
}

}  // namespace plnet::cxi_lab
