// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/environment.hpp"

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::kfilnd {

Environment::Environment(const KfiLndConfig& the_config, lnet::LndUpcalls& the_core,
                         EndpointDriver& the_driver)
    : config(the_config),
      timeout(lnd_timeout(the_config.tunables, the_config.lnet_lnd_timeout)),
      nid64(lnet::to_nid64(the_config.nid).value),
      own_nic_address(nic_address_of(the_config.nid)),
      core(the_core),
      driver(the_driver),
      now(the_config.start),
      nic_address(own_nic_address) {
  PLNET_CHECK(config.nid.is_of(lnet::NetType::kKfi) && !config.nid.is_large(), "a NID of kfi");
  PLNET_CHECK(config.arenas != nullptr, "payload lies in arenas");
  PLNET_CHECK(timeout > Duration{}, "the LND timeout is positive");
  PLNET_CHECK(config.peers_max > 0 && config.receives_max > 0,
              "room for a peer and a received message at least");
  PLNET_CHECK((config.mail == nullptr) == (config.homes == nullptr), "both or neither");
  PLNET_CHECK(config.mail == nullptr || config.mail->context() == driver.limits().receive_context,
              "the letters of our own context");
}

}  // namespace plnet::kfilnd
