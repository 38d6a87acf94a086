// SPDX-License-Identifier: BSD-3-Clause
// Counters of a device by the numbers and names of the driver (shs-cassini-headers:
// cassini_cntr_defs.h, cassini_cntr_desc.h), as far as the software NIC has an equivalent.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "drivers/net/cassini/soft/nic.hpp"

namespace plnet::cassini::soft {

struct DriverCounter {
  unsigned number;
  std::string_view name;
};
inline constexpr auto kDriverCounters = std::to_array<DriverCounter>({
    {393, "atu_odp_requests_0"},
    {480, "cq_success_tx_cntr"},
    {481, "cq_success_tgt_cntr"},
    {482, "cq_fail_tx_cntr"},
    {536, "cq_num_ll_cmds_0"},
    {800, "ee_events_enqueued_cntr_0"},
    {812, "ee_events_dropped_ordinary_cntr_0"},
    {992, "lpe_success_cntr"},
    {993, "lpe_fail_cntr"},
    {1047, "lpe_plec_hits"},
    {1128, "lpe_num_truncated_0"},
    {1178, "ixe_rx_ptl_restricted_pkt"},
    {1302, "ixe_dmawr_nic_amo_reqs"},
    {1303, "ixe_dmawr_cpu_amo_reqs"},
    {1304, "ixe_dmawr_cpu_ftch_amo_reqs"},
    {1305, "ixe_dmawr_flush_reqs"},
    {1582, "hni_hrp_ack"},
});

// The sum over all processes that share the NIC. 0: the software NIC does not have it.
[[nodiscard]] std::uint64_t driver_counter(const Nic& nic, unsigned number);

}  // namespace plnet::cassini::soft
