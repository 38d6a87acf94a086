// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/family.hpp"

#include <algorithm>

#include "node/host/machine.hpp"
#include "node/host/peer_count.hpp"
#include "node/host/useless_option.hpp"
#include "node/net/tcp/host.hpp"
#include "node/net/tcp/options.hpp"
#include "node/net/tcp/rules.hpp"
#include "node/net/tcp/settings.hpp"

namespace plnet::node {

Outcome<void> TcpFamily::check_options(const lnet::NodeConfig& config) const {
  const auto options = tcp_options_of(config);
  return options ? Outcome<void>{} : std::unexpected(options.error());
}

std::string_view TcpFamily::why_useless(std::string_view module, std::string_view option) const {
  const bool is_ours = module.empty() || module == "ksocklnd";
  return is_ours ? why_ignored(socklnd::tunable_table(), option) : std::string_view{};
}

bool TcpFamily::is_live(const lnet::ModuleOption& option) const {
  return is_live_tcp_option(option);
}

Outcome<void> TcpFamily::set_option(lnet::NodeConfig& config, std::string_view option,
                                    std::string_view value) const {
  return set_tcp_option(config, option, value);
}

std::unique_ptr<FamilyRules> TcpFamily::rules(const lnet::NodeConfig& config,
                                              const runtime::Settings* /*settings*/,
                                              const FamilyHost* host) const {
  const auto options = tcp_options_of(config);
  const auto* const tcp = static_cast<const TcpHost*>(host);
  return std::make_unique<TcpRules>(options.value_or(TcpOptions{}),
                                    tcp == nullptr ? nullptr : &tcp->by_link());
}

Outcome<FamilyNeeds> TcpFamily::needs(const runtime::Settings& settings) const {
  const auto options = tcp_options_of(settings.lnet);
  if (!options) return std::unexpected(options.error());
  const bool listens = options->accept != socklnd::AcceptPolicy::kNone;
  return FamilyNeeds{.accept_port = listens
                                        ? static_cast<std::uint16_t>(options->tunables.accept_port)
                                        : std::uint16_t{0}};
}

Outcome<std::unique_ptr<FamilyHost>> TcpFamily::open(const FamilyParts& parts) const {
  const auto options = tcp_options_of(parts.settings.lnet);
  if (!options) return std::unexpected(options.error());
  const auto& sockets = parts.settings.sections.of<TcpSettings>();
  auto cpt_of_shard = parts.machine.cpt_of_shard();
  const runtime::LnetLimits limits = settled(
      parts.settings.lnet_limits, parts.settings.lnet.routing, parts.machine.available_memory());
  const std::size_t shards = cpt_of_shard.size();
  return TcpHost::create(
      {.shards = static_cast<unsigned>(shards),
       .cpt_of_shard = std::move(cpt_of_shard),
       .options = *options,
       .streams_max = connections_of_shard(limits.peers, shards),
       .strangers_max = std::max<std::size_t>(limits.peers / 4, socklnd::kStrangersMax),
       .any_address = sockets.any_address,
       .busy_poll = {sockets.busy_poll_usec, sockets.busy_poll_budget},
       .relay_bytes_min = sockets.relay_bytes_min,
       .down_grace = std::chrono::milliseconds(sockets.down_grace_msec),
       .silence_max = std::chrono::seconds(sockets.silence_sec),
       .payload_rate_min = sockets.payload_rate_min,
       .congestion_control = sockets.congestion_control});
}

}  // namespace plnet::node
