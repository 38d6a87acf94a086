// SPDX-License-Identifier: BSD-3-Clause
// Files below /sys that the driver of a Slingshot NIC makes (shs-cxi-driver: cass_sysfs.c,
// cass_telem.c, cass_uc.c), as far as programs of libcxi read them: libcxi, libfabric's provider,
// cxi_stat and their tests. A value that a software NIC cannot have is "none", or the file is not
// there.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/plnet-cxi-lab/plan.hpp"

namespace plnet::cxi_lab {

// Counters that the software NIC has, by their names (shs-cassini-headers: cassini_cntr_desc.h).
// The library keeps their files up to date.
inline constexpr auto kTelemetry = std::to_array<std::string_view>(
    {"atu_odp_requests_0", "cq_success_tx_cntr", "cq_success_tgt_cntr", "cq_fail_tx_cntr",
     "cq_num_ll_cmds_0", "ee_events_enqueued_cntr_0", "ee_events_dropped_ordinary_cntr_0",
     "lpe_success_cntr", "lpe_fail_cntr", "lpe_plec_hits", "lpe_num_truncated_0",
     "ixe_rx_ptl_restricted_pkt", "ixe_dmawr_nic_amo_reqs", "ixe_dmawr_cpu_amo_reqs",
     "ixe_dmawr_cpu_ftch_amo_reqs", "ixe_dmawr_flush_reqs", "hni_hrp_ack"});

// A program may write to this one; it belongs to the NIC.
inline constexpr std::string_view kAtomicRemap = "properties/amo_remap_to_pcie_fadd";

// The module's folder below /sys/module, and its only parameter that is read: an address context
// has 1 GiB << 5 (cass_nta.c).
inline constexpr const char* kModule = "cxi_ss1";
inline constexpr std::pair<const char*, const char*> kModuleParameter{"ac_size_dbl", "5\n"};

// The folder of a NIC below /sys/class/cxi, and in it the folder of its device.
[[nodiscard]] std::string class_folder(unsigned nic);
[[nodiscard]] std::string device_folder(unsigned nic);
// Folders below device_folder(), each after the one that it is in.
[[nodiscard]] std::vector<std::string> driver_folders();
// Path below device_folder() and contents.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> driver_files(const Plan& plan,
                                                                            unsigned rank,
                                                                            unsigned nic);

}  // namespace plnet::cxi_lab
