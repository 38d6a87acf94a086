// SPDX-License-Identifier: BSD-3-Clause
// The kernel's LND modules and the module options that a configuration may keep, even for networks
// without an LND here. Checked against lustre-release lnet/klnds/*/*_modparams.c.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace plnet::lnet {

struct LndModule {
  std::string_view name;
  std::span<const std::string_view> options;
};

inline constexpr std::array<std::string_view, 30> kOfSocklnd{"sock_timeout",
                                                             "credits",
                                                             "peer_credits",
                                                             "peer_buffer_credits",
                                                             "peer_timeout",
                                                             "nconnds",
                                                             "nconnds_max",
                                                             "min_reconnectms",
                                                             "max_reconnectms",
                                                             "eager_ack",
                                                             "typed_conns",
                                                             "min_bulk",
                                                             "tx_buffer_size",
                                                             "rx_buffer_size",
                                                             "nagle",
                                                             "round_robin",
                                                             "keepalive",
                                                             "keepalive_idle",
                                                             "keepalive_count",
                                                             "keepalive_intvl",
                                                             "enable_csum",
                                                             "inject_csum_error",
                                                             "nonblk_zcack",
                                                             "zc_min_payload",
                                                             "zc_recv",
                                                             "zc_recv_min_nfrags",
                                                             "conns_per_peer",
                                                             "skip_mr_route_setup",
                                                             "tos",
                                                             "nscheds"};

inline constexpr std::array<std::string_view, 27> kOfO2iblnd{"service",
                                                             "cksum",
                                                             "timeout",
                                                             "nscheds",
                                                             "conns_per_peer",
                                                             "ntx",
                                                             "credits",
                                                             "peer_credits",
                                                             "peer_credits_hiw",
                                                             "peer_buffer_credits",
                                                             "peer_timeout",
                                                             "ipif_name",
                                                             "retry_count",
                                                             "rnr_retry_count",
                                                             "keepalive",
                                                             "ib_mtu",
                                                             "concurrent_sends",
                                                             "map_on_demand",
                                                             "fmr_pool_size",
                                                             "fmr_flush_trigger",
                                                             "fmr_cache",
                                                             "dev_failover",
                                                             "require_privileged_port",
                                                             "use_privileged_port",
                                                             "wrq_sge",
                                                             "tos",
                                                             "use_fastreg_gaps"};

inline constexpr std::array<std::string_view, 21> kOfKfilnd{"cksum",
                                                            "kfi_timeout",
                                                            "tx_scale_factor",
                                                            "rx_cq_scale_factor",
                                                            "tx_cq_scale_factor",
                                                            "eq_size",
                                                            "immediate_rx_buf_count",
                                                            "prov_cpu_exclusive",
                                                            "wq_high_priority",
                                                            "wq_cpu_intensive",
                                                            "wq_max_active",
                                                            "credits",
                                                            "peer_credits",
                                                            "peer_buffer_credits",
                                                            "peer_timeout",
                                                            "tn_reserve_min",
                                                            "msg_reserve_min",
                                                            "prov_major_version",
                                                            "prov_minor_version",
                                                            "auth_key",
                                                            "traffic_class"};

inline constexpr std::array<LndModule, 3> kLndModules{{
    {"ksocklnd", kOfSocklnd},
    {"ko2iblnd", kOfO2iblnd},
    {"kkfilnd", kOfKfilnd},
}};

}  // namespace plnet::lnet
