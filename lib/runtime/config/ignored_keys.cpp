// SPDX-License-Identifier: BSD-3-Clause
// Keys that exports of LNet's tools carry and their import ignores. A name that ends with "[]"
// stands for any index: "cpt[0]", "cpt[1]", ….
// Checked against lustre-release lnet/utils/lnetconfig/liblnetconfig.c: the *_show functions write
// them, the yaml_config_* ones do not read them.
#include <array>

#include "lib/runtime/config/schema.hpp"

namespace plnet::runtime {
namespace {

constexpr std::array kIgnoredKeys{
    IgnoredKey{"", "statistics"},
    IgnoredKey{"net[]", "seq_no"},
    IgnoredKey{"net[].local NI(s)[]", "status"},
    IgnoredKey{"net[].local NI(s)[]", "statistics"},
    IgnoredKey{"net[].local NI(s)[]", "udsp info"},
    IgnoredKey{"net[].local NI(s)[]", "sent_stats"},
    IgnoredKey{"net[].local NI(s)[]", "received_stats"},
    IgnoredKey{"net[].local NI(s)[]", "dropped_stats"},
    IgnoredKey{"net[].local NI(s)[]", "health stats"},
    IgnoredKey{"net[].local NI(s)[]", "dev cpt"},
    IgnoredKey{"net[].local NI(s)[]", "ksocklnd parameters"},  // ours
    IgnoredKey{"net[].local NI(s)[]", "kkfilnd parameters"},   // ours
    IgnoredKey{"net[].local NI(s)[]", "status cause"},         // ours
    IgnoredKey{"net[].local NI(s)[]", "status changes"},       // ours
    IgnoredKey{"route[]", "seq_no"},
    IgnoredKey{"route[]", "state"},
    IgnoredKey{"route[]", "state cause"},  // ours
    IgnoredKey{"route[]", "type"},
    IgnoredKey{"route[]", "changes"},  // ours
    IgnoredKey{"route[]", "health_sensitivity"},
    IgnoredKey{"peer[]", "seq_no"},
    IgnoredKey{"peer[]", "peer state"},
    IgnoredKey{"peer[].peer ni[]", "udsp info"},
    IgnoredKey{"peer[].peer ni[]", "state"},
    IgnoredKey{"peer[].peer ni[]", "max_ni_tx_credits"},
    IgnoredKey{"peer[].peer ni[]", "available_tx_credits"},
    IgnoredKey{"peer[].peer ni[]", "min_tx_credits"},
    IgnoredKey{"peer[].peer ni[]", "tx_q_num_of_buf"},
    IgnoredKey{"peer[].peer ni[]", "available_rtr_credits"},
    IgnoredKey{"peer[].peer ni[]", "min_rtr_credits"},
    IgnoredKey{"peer[].peer ni[]", "state cause"},  // ours
    IgnoredKey{"peer[].peer ni[]", "refcount"},
    IgnoredKey{"peer[].peer ni[]", "statistics"},
    IgnoredKey{"peer[].peer ni[]", "sent_stats"},
    IgnoredKey{"peer[].peer ni[]", "received_stats"},
    IgnoredKey{"peer[].peer ni[]", "dropped_stats"},
    IgnoredKey{"peer[].peer ni[]", "health stats"},
    IgnoredKey{"global", "seq_no"},
    IgnoredKey{"routing", "seq_no"},
    IgnoredKey{"buffers", "seq_no"},
    IgnoredKey{"udsp[]", "seq_no"},
    IgnoredKey{"net[]", "detail"},
    IgnoredKey{"net[].local NI(s)[]", "seq_no"},
    IgnoredKey{"net[].local NI(s)[]", "tcp bonding"},  // 2.12
    IgnoredKey{"ip2nets[]", "seq_no"},
    IgnoredKey{"route[]", "detail"},
    IgnoredKey{"routing[]", "cpt[]"},
    IgnoredKey{"routing[]", "seq_no"},
    IgnoredKey{"routing[]", "change"},    // ours
    IgnoredKey{"routing[]", "starving"},  // ours
    IgnoredKey{"routing", "cpt[]"},
    IgnoredKey{"peer[]", "detail"},
    IgnoredKey{"peer[].peer ni[]", "seq_no"},
    IgnoredKey{"numa", "seq_no"},
    IgnoredKey{"ping[]", "seq_no"},
    IgnoredKey{"ping[]", "Multi-Rail"},
    IgnoredKey{"ping[]", "peer ni"},
    IgnoredKey{"ping[]", "peer_ni"},  // 2.17
    IgnoredKey{"ping[]", "errno"},
    IgnoredKey{"discover[]", "seq_no"},
    IgnoredKey{"discover[]", "Multi-Rail"},
    IgnoredKey{"discover[]", "peer ni"},
    IgnoredKey{"discover[]", "peer_ni"},
    IgnoredKey{"discover[]", "errno"},
};

}  // namespace

std::span<const IgnoredKey> ignored_keys() {
  return kIgnoredKeys;
}

}  // namespace plnet::runtime
