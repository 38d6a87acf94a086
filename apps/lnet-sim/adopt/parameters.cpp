// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/adopt/parameters.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "lib/base/counted.hpp"
#include "lib/base/joined.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/router_options.hpp"
#include "lib/runtime/config/yaml_text.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr std::int32_t kSiteSecondsMax = 1000;    // of a site's timeouts
constexpr std::int32_t kCheckIntervalMax = 3600;  // between checks of a gateway
constexpr std::int32_t kTcpPeerCredits = 8;       // LNet's defaults
constexpr std::int32_t kTcpCredits = 256;
constexpr std::int32_t kSitePeerCreditsMax = 256;  // of a site
constexpr std::int32_t kSiteCreditsMax = 4096;

constexpr std::array<std::string_view, 6> kNotInSites{
    "numa_range",        "max_interfaces", "drop_asym_route",
    "response_tracking", "recovery_limit", "max_recovery_ping_interval"};

class Parameterizer {
 public:
  Parameterizer(std::span<const ConfigFile> files, SiteConfig& site,
                std::vector<std::string>& notes)
      : files_(files), site_(site), notes_(notes) {}

  void run() {
    adopt_variables();
    compare_variables();
    adopt_gateways();
    adopt_credits();
    for (const ConfigFile& file : files_)
      note_rest(file);
  }

 private:
  void note(const ConfigFile& file, std::string what) {
    notes_.push_back(fmt::format("{}: {}", file.title, std::move(what)));
  }

  unsigned bounded(std::string_view name, std::int32_t value, std::int32_t low, std::int32_t high) {
    const std::int32_t fits = std::clamp(value, low, high);
    if (fits != value)
      note(files_.front(), fmt::format("{} {}: {} in the site, its limit", name, value, fits));
    return static_cast<unsigned>(fits);
  }

  void adopt_variables() {
    const ParameterValues& values = files_.front().settings.lnet.parameters;
    site_.discovery = values.discovery != 0;
    site_.transaction_timeout_s =
        bounded("transaction_timeout", values.transaction_timeout_s, 1, kSiteSecondsMax);
    site_.lnd_timeout_s = bounded("lnd_timeout", values.lnd_timeout_s(), 1, kSiteSecondsMax);
    site_.health = {
        .retry_count = bounded("retry_count", values.retry_count, 0, 100),
        .health_sensitivity = bounded("health_sensitivity", values.health_sensitivity, 0, 1000),
        .router_sensitivity = bounded("router_sensitivity", values.router_sensitivity, 0, 100),
        .recovery_interval_s = bounded("recovery_interval", values.recovery_interval_s, 1, 3600)};
    const ParameterValues usual;
    for (const GlobalVariable& variable : global_variables()) {
      const std::int32_t value = values.*variable.member;
      if (std::ranges::find(kNotInSites, variable.name) != kNotInSites.end() &&
          value != usual.*variable.member)
        note(files_.front(),
             fmt::format("{} {}: a site has no such parameter", variable.name, value));
    }
  }

  void compare_variables() {
    const ConfigFile& first = files_.front();
    for (const ConfigFile& file : files_.subspan(1)) {
      for (const GlobalVariable& variable : global_variables()) {
        const std::int32_t value = file.settings.lnet.parameters.*variable.member;
        const std::int32_t kept = first.settings.lnet.parameters.*variable.member;
        if (value != kept)
          note(file, fmt::format("{} {}: {} in the site, as in {}", variable.name, value, kept,
                                 first.title));
      }
    }
  }

  // The value of the first file that sets the option, else LNet's default.
  std::int32_t option_of(std::string_view module, std::string_view name, std::int32_t usual) {
    std::int32_t value = usual;
    const ConfigFile* from = nullptr;
    for (const ConfigFile& file : files_) {
      const auto number = runtime::parse_integer(file.settings.lnet.module_option(module, name));
      if (!number) continue;
      if (from == nullptr) {
        from = &file;
        value = static_cast<std::int32_t>(std::clamp<std::int64_t>(*number, INT32_MIN, INT32_MAX));
      } else if (*number != value) {
        note(file,
             fmt::format("{} {}: {} in the site, as in {}", name, *number, value, from->title));
      }
    }
    return value;
  }

  void adopt_gateways() {
    const Parameters usual;
    const std::int32_t interval =
        option_of("lnet", "alive_router_check_interval", usual.alive_router_check_interval_s.get());
    site_.gateways.check_interval_s =
        bounded("alive_router_check_interval", interval <= 0 ? kCheckIntervalMax : interval, 1,
                kCheckIntervalMax);
    if (interval <= 0)
      note(files_.front(), fmt::format("alive_router_check_interval {}: {} in the site, which has "
                                       "no routers without checks",
                                       interval, kCheckIntervalMax));
    const std::int32_t timeout =
        option_of("lnet", "router_ping_timeout", usual.router_ping_timeout_s.get());
    site_.gateways.ping_timeout_s = bounded("router_ping_timeout", timeout, 1, kCheckIntervalMax);
    if (site_.gateways.ping_timeout_s <= site_.lnd_timeout_s) {
      site_.gateways.ping_timeout_s = site_.lnd_timeout_s + 1;
      note(files_.front(),
           fmt::format("router_ping_timeout {}: {} in the site, which needs more "
                       "than lnd_timeout ({})",
                       timeout, site_.gateways.ping_timeout_s, site_.lnd_timeout_s));
    }
    site_.gateways.check_before_use = option_of("lnet", "check_routers_before_use", 0) != 0;
  }

  std::int32_t tunable_of(NetId net, std::int32_t RequestedTunables::* which, std::string_view name,
                          std::int32_t usual) {
    const ConfigFile* from = nullptr;
    std::int32_t value = usual;
    for (const ConfigFile& file : files_) {
      const NetConfig* const config = file.settings.lnet.net(net);
      for (const NiConfig& ni : config == nullptr ? std::span<const NiConfig>() : config->nis) {
        const std::int32_t own = ni.tunables.*which;
        if (own == kDriverDefault) continue;
        if (from == nullptr) {
          from = &file;
          value = own;
        } else if (own != value) {
          note(file, fmt::format("{} {} of {}: {} in the site, as in {}", name, own,
                                 text_of_net(net), value, from->title));
        }
      }
    }
    return value;
  }

  void adopt_credits() {
    const std::int32_t peer_usual = option_of("ksocklnd", "peer_credits", kTcpPeerCredits);
    const std::int32_t usual = option_of("ksocklnd", "credits", kTcpCredits);
    for (NetPlan& net : site_.nets) {
      const NetId id = parse_net(net.name).value_or(kNetAny);
      if (net.kind != NetKind::kTcp) {
        const std::int32_t depth =
            tunable_of(id, &RequestedTunables::peer_credits, "peer_credits", kDriverDefault);
        if (depth != kDriverDefault)
          note(files_.front(), fmt::format("credits of {}: the site's simulated devices have a "
                                           "depth of their own",
                                           net.name));
        continue;
      }
      net.peer_credits =
          bounded("peer_credits",
                  tunable_of(id, &RequestedTunables::peer_credits, "peer_credits", peer_usual), 1,
                  kSitePeerCreditsMax);
      net.credits =
          bounded("credits", tunable_of(id, &RequestedTunables::credits, "credits", usual), 1,
                  kSiteCreditsMax);
    }
  }

  void note_rest(const ConfigFile& file) {
    const NodeConfig& config = file.settings.lnet;
    const auto note_count = [&](std::size_t count, std::string_view noun, std::string_view why) {
      if (count > 0) note(file, fmt::format("{}: {}", counted(count, noun), why));
    };
    note_count(config.peers.size(), "peer", "nodes of a site find their peers by discovery");
    note_count(config.udsps.size(), "selection policy", "a site has none");
    note_count(config.faults.size(), "fault rule", "a site has none; see `faults` of a net");
    note_count(config.access.size(), "access rule", "a site has none");
    if (!config.nets.empty())
      note_count(config.ip2nets.size(), "ip2nets rule", "the networks of the file count");
    std::set<std::string> tunables;
    for (const NetConfig& net : config.nets) {
      for (const NiConfig& ni : net.nis) {
        for (const LndTunable& tunable : ni.lnd_tunables)
          tunables.insert(tunable.name);
      }
    }
    if (!tunables.empty())
      note(file, fmt::format("lnd tunables {}: simulated LNDs have their defaults",
                             joined(tunables, ", ")));
    for (const ModuleOption& option : config.module_options) {
      if (!is_adopted(option))
        note(file, fmt::format("options {} {}={}: a site has no such parameter", option.module,
                               option.name, option.value));
    }
    runtime::Settings rest;
    rest.lnet = config;
    if (!(rest == file.settings))
      note(file,
           "keys of `plnet`, or options of libcfs and lnet_selftest: CPTs, pollers, memory "
           "and the like are the simulator's");
    for (const std::string& each : file.notes)
      notes_.push_back(each);
  }

  static bool is_adopted(const ModuleOption& option) {
    if (option.module == "ksocklnd")
      return option.name == "peer_credits" || option.name == "credits";
    return option.module == "lnet" &&
           (option.name == "peer_buffer_credits" || option.name == "alive_router_check_interval" ||
            option.name == "router_ping_timeout" || option.name == "check_routers_before_use");
  }

  std::span<const ConfigFile> files_;
  SiteConfig& site_;
  std::vector<std::string>& notes_;
};

}  // namespace

void adopt_parameters(std::span<const ConfigFile> files, SiteConfig& site,
                      std::vector<std::string>& notes) {
  Parameterizer(files, site, notes).run();
}

}  // namespace plnet::sim
