// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/service/whole_node.hpp"

#include <optional>
#include <utility>

#include "apps/lnet-selftest/service/service.hpp"
#include "node/net/families.hpp"
#include "node/run/privileges.hpp"

namespace plnet::apps {

Outcome<void> run_node(const runtime::Settings& settings, node::NodeOptions options,
                       SelftestHost host) {
  if (auto done = node::give_up_privileges(settings, node::network_families(), options.socket);
      !done)
    return done;
  std::optional<SelftestService> selftest;
  if (settings.selftest.enable) {
    selftest.emplace(settings.selftest, std::move(host));
    options.residents = &*selftest;
    // The program or a flag may request the service where the files do not.
    if (options.reread) {
      options.reread = [reread = std::move(options.reread)] {
        auto again = reread();
        if (again) again->selftest.enable = true;
        return again;
      };
    }
  }
  auto node = node::Node::start(settings, options);
  if (!node) return std::unexpected(std::move(node.error()));
  (*node)->run();
  if (selftest) selftest->move_out();
  return {};
}

}  // namespace plnet::apps
