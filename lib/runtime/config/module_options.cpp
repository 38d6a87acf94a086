// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/module_options.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "lib/lnet/names/ip2nets_text.hpp"
#include "lib/lnet/names/networks_text.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/names/routes_text.hpp"
#include "lib/lnet/names/text_part.hpp"
#include "lib/lnet/node/router_options.hpp"
#include "lib/runtime/config/modprobe_lines.hpp"
#include "lib/runtime/config/module_option_names.hpp"
#include "lib/runtime/config/yaml_text.hpp"

namespace plnet::runtime {
namespace {

constexpr std::string_view kCfsModule = "libcfs";
constexpr std::int64_t kPartitionsMax = 256;  // as of the key plnet.cpts.partitions

constexpr std::size_t kOptionsMax = 1024;  // in one file; all modules together have about 120

// Applies the words of `options MODULE` lines.
class Reader {
 public:
  Reader(ConfigErrors& errors, std::string_view file, const lnet::NodeConfig& base)
      : errors_(errors), file_(file) {
    result_.config = base;
  }

  void read(std::string_view text) {
    ModprobeLines lines(text);
    for (auto words = lines.next(); !words.empty(); words = lines.next())
      take_line(words);
    join();
  }

  [[nodiscard]] ModuleOptions take() { return std::move(result_); }

 private:
  struct Given {
    std::string value;
    Position at;
  };

  void note(Position at, std::string_view what) {
    if (result_.notes.size() >= kMaxConfigErrors) return;
    result_.notes.push_back(fmt::format("{}:{}:{}: {}", file_, at.line, at.column, what));
  }

  void take_line(const std::vector<ModprobeWord>& words) {
    if (words[0].text != "options") {
      return note(words[0].at, fmt::format("'{}' is ignored", shown(words[0].text)));
    }
    if (words.size() < 2) return errors_.add(words[0].at, "'options' without a module");
    const std::string& module = words[1].text;
    if (kept_of(module).empty() && module != kSelftestModule && module != kCfsModule) {
      return note(words[1].at, fmt::format("options of module '{}' are ignored", shown(module)));
    }
    for (std::size_t i = 2; i < words.size(); ++i)
      take_option(module, words[i]);
  }

  void take_option(const std::string& module, const ModprobeWord& word) {
    const std::size_t equals = word.text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return errors_.add(word.at, fmt::format("'{}', expected name=value", shown(word.text)));
    }
    const std::string name = word.text.substr(0, equals);
    std::string value = word.text.substr(equals + 1);
    // 'networks="tcp(eth0)"': the inner quotes remain.
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    if (value.size() > lnet::kNamesTextMax) {
      return errors_.add(word.at, fmt::format("{}: {} characters, expected at most {}", name,
                                              value.size(), lnet::kNamesTextMax));
    }
    if (++count_ > kOptionsMax) return;
    if (take_cpts(module, name, {value, word.at})) return;
    if (const UselessOption* const useless = find_useless_option(module, name)) {
      note(word.at, fmt::format("option '{}' has no effect here: {}", name, useless->why));
    } else if (module == "lnet") {
      take_lnet(name, {value, word.at});
    } else if (module == kSelftestModule) {
      take_selftest(name, {value, word.at});
    } else if (module == kCfsModule) {
      note_unknown(module, name, {value, word.at});
    } else {
      take_of_driver(module, name, {value, word.at});
    }
  }

  void note_unknown(std::string_view module, const std::string& name, const Given& given) {
    note(given.at, fmt::format("option '{}' of {} is not supported", shown(name), module));
  }

  // False: no option about CPTs.
  bool take_cpts(const std::string& module, const std::string& name, const Given& given) {
    if (module != kCfsModule && module != "lnet") return false;
    if (name == "cpu_pattern") {
      result_.cpu_pattern = given.value;
      return true;
    }
    if (name != "cpu_npartitions") return false;
    if (const auto number = number_of(name, given, 0, kPartitionsMax))
      result_.cpu_npartitions = static_cast<std::uint32_t>(*number);
    return true;
  }

  void take_of_driver(const std::string& module, const std::string& name, const Given& given) {
    if (!is_in(kept_of(module), name)) {
      return note_unknown(module, name, given);
    }
    keep(module, name, given);
  }

  void take_selftest(const std::string& name, const Given& given) {
    auto* const seconds = name == "session_timeout" ? &result_.session_timeout_sec
                          : name == "rpc_timeout"   ? &result_.rpc_timeout_sec
                                                    : nullptr;
    if (seconds == nullptr) return note_unknown(kSelftestModule, name, given);
    if (const auto number = number_of(name, given, 0, kSelftestTimeoutSecMax))
      *seconds = static_cast<std::uint32_t>(*number);
  }

  void keep(const std::string& module, const std::string& name, const Given& given) {
    auto& options = result_.config.module_options;
    const auto known = std::ranges::find_if(options, [&](const lnet::ModuleOption& option) {
      return option.module == module && option.name == name;
    });
    if (known != options.end()) {
      known->value = given.value;
    } else {
      options.push_back({module, name, given.value});
    }
  }

  void take_lnet(const std::string& name, const Given& given) {
    if (name == "networks" || name == "ip2nets" || name == "routes") {
      texts_.insert_or_assign(name, given);
    } else if (name == "forwarding") {
      take_forwarding(given);
    } else if (name.ends_with("_router_buffers")) {
      take_buffers(name, given);
    } else if (name == "lnet_peer_discovery_disabled") {
      if (const auto number = number_of(name, given, 0, 1)) {
        result_.config.parameters.discovery = *number == 0 ? 1 : 0;
      }
    } else if (is_in(kept_of("lnet"), name)) {
      take_kept(name, given);
    } else {
      take_variable(name, given);
    }
  }

  // Checked here, since the parts that read the option do not know the place.
  void take_kept(const std::string& name, const Given& given) {
    const auto* const option =
        std::ranges::find(lnet::kRouterOptions, name, &lnet::RouterOption::name);
    if (name == "live_router_check_interval" || name == "dead_router_check_interval") {
      note(given.at,
           fmt::format("option '{}' has no effect: alive_router_check_interval has", name));
    }
    if (name == "peer_buffer_credits" && !number_of(name, given, 0, INT32_MAX)) return;
    const bool fits = option == lnet::kRouterOptions.end() ||
                      number_of(name, given, option->least, option->most).has_value();
    if (fits) keep("lnet", name, given);
  }

  void take_variable(const std::string& name, const Given& given) {
    const auto* const option = std::ranges::find(kVariables, name, &VariableOption::name);
    if (option == kVariables.end()) {
      return errors_.add(given.at, fmt::format("module lnet has no option '{}'", shown(name)));
    }
    const auto number = number_of(name, given, 0, INT32_MAX);
    if (!number) return;
    const auto set = lnet::set_global_variable(
        result_.config.parameters, *lnet::find_global_variable(option->variable), *number);
    if (!set) errors_.add(given.at, fmt::format("{}: {}", name, set.error().what));
  }

  std::optional<std::int64_t> number_of(const std::string& name, const Given& given,
                                        std::int64_t low, std::int64_t high) {
    const auto number = parse_integer(given.value);
    if (number && *number >= low && *number <= high) return *number;
    errors_.add(given.at, fmt::format("{}: '{}', expected a number from {} to {}", name,
                                      shown(given.value), low, high));
    return std::nullopt;
  }

  void take_forwarding(const Given& given) {
    if (given.value == "enabled" || given.value == "disabled" || given.value.empty()) {
      result_.config.routing = given.value == "enabled";
      forwarding_given_ = !given.value.empty();
    } else {
      errors_.add(given.at, fmt::format("forwarding: '{}', expected enabled, disabled or nothing",
                                        shown(given.value)));
    }
  }

  void take_buffers(const std::string& name, const Given& given) {
    lnet::BuffersConfig& buffers = result_.config.buffers;
    std::int32_t* const buffer = name.starts_with("tiny_")    ? &buffers.tiny
                                 : name.starts_with("small_") ? &buffers.small
                                 : name.starts_with("large_") ? &buffers.large
                                                              : nullptr;
    if (buffer == nullptr) {
      return errors_.add(given.at, fmt::format("module lnet has no option '{}'", shown(name)));
    }
    if (const auto number = number_of(name, given, 0, INT32_MAX)) {
      *buffer = static_cast<std::int32_t>(*number);
    }
  }

  // Applies options that depend on each other, after all lines are read.
  void join() {
    const auto networks = texts_.find("networks");
    const auto ip2nets = texts_.find("ip2nets");
    const auto routes = texts_.find("routes");
    const bool both = networks != texts_.end() && !networks->second.value.empty() &&
                      ip2nets != texts_.end() && !ip2nets->second.value.empty();
    if (both) {
      return errors_.add(ip2nets->second.at, "both networks and ip2nets, expected one of them");
    }
    if (networks != texts_.end()) join_networks(networks->second);
    if (ip2nets != texts_.end()) join_ip2nets(ip2nets->second);
    if (routes != texts_.end()) join_routes(routes->second);
    if (routes != texts_.end() && !forwarding_given_) note_gateways(routes->second);
    if (!errors_.empty()) return;
    for (const lnet::NodeConfigIssue& issue : check_node_config(result_.config))
      errors_.add({}, fmt::format("{}: {}", issue.path, issue.what));
  }

  void join_networks(const Given& given) {
    auto networks = lnet::parse_networks(given.value);
    if (!networks) return errors_.add(given.at, fmt::format("networks: {}", networks.error().what));
    auto& nets = result_.config.nets;
    nets.clear();
    for (const lnet::NetworkSpec& network : *networks) {
      lnet::NetConfig& net = nets.emplace_back();
      net.net = network.net;
      for (const lnet::InterfaceSpec& interface : network.interfaces) {
        lnet::NiConfig& ni = net.nis.emplace_back();
        if (!interface.name.empty()) ni.interfaces = {interface.name};
        ni.cpts = interface.cpts;
      }
    }
  }

  void join_ip2nets(const Given& given) {
    if (auto rules = lnet::parse_ip2nets(given.value); !rules) {
      return errors_.add(given.at, fmt::format("ip2nets: {}", rules.error().what));
    }
    result_.config.ip2nets_text = given.value;
  }

  // A node that is a gateway of a route is a router (lustre-release lnet/lnet/router.c:
  // lnet_rtrpools_alloc()). This node's NIDs are not known yet.
  void note_gateways(const Given& given) {
    const auto routes = lnet::parse_routes(given.value);
    if (!routes) return;
    auto& gateways = result_.config.routes_if_ours;
    gateways.clear();
    for (const lnet::RouteSpec& route : *routes) {
      if (std::ranges::find(gateways, route.gateway) == gateways.end())
        gateways.push_back(route.gateway);
    }
  }

  // A site has the same routes on all its nodes. So routes to a network of this node are left out,
  // and a repeated route counts once (lustre-release lnet/lnet/config.c: lnet_parse_route()).
  void join_routes(const Given& given) {
    auto routes = lnet::parse_routes(given.value);
    if (!routes) return errors_.add(given.at, fmt::format("routes: {}", routes.error().what));
    lnet::NodeConfig& config = result_.config;
    config.routes.clear();
    std::set<std::string> seen;
    for (const lnet::RouteSpec& route : *routes) {
      const std::string gateway = text_of(route.gateway);
      if (config.net(route.net) != nullptr || route.gateway.net() == route.net) {
        note(given.at, fmt::format("route to {} by {} is left out: a network of this node",
                                   lnet::text_of_net(route.net), gateway));
      } else if (seen.insert(fmt::format("{} {}", route.net, gateway)).second) {
        config.routes.push_back(route);
        config.routes.back().of_site = true;
      }
    }
  }

  ConfigErrors& errors_;
  std::string_view file_;
  ModuleOptions result_;
  std::map<std::string, Given, std::less<>> texts_;
  bool forwarding_given_ = false;
  std::size_t count_ = 0;
};

}  // namespace

std::expected<ModuleOptions, ConfigErrors> read_module_options(std::string_view text,
                                                               std::string_view file_name,
                                                               const lnet::NodeConfig& base) {
  ConfigErrors errors(text, file_name);
  // Options become part of a document, so they must be text that a document can hold.
  if (const auto unfit = find_unfit_text(text)) {
    errors.add(unfit->at, unfit->what);
    return std::unexpected(std::move(errors));
  }
  Reader reader(errors, file_name, base);
  reader.read(text);
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return reader.take();
}

void apply(ModuleOptions options, Settings& settings) {
  settings.lnet = std::move(options.config);
  SelftestSettings& selftest = settings.selftest;
  selftest.session_timeout_sec = options.session_timeout_sec.value_or(selftest.session_timeout_sec);
  selftest.rpc_timeout_sec = options.rpc_timeout_sec.value_or(selftest.rpc_timeout_sec);
  if (!options.cpu_npartitions && !options.cpu_pattern) return;
  CptPlanRequest& cpts = settings.cpts;
  cpts.partitions = options.cpu_npartitions.value_or(0);
  cpts.pattern = options.cpu_pattern.value_or("");
  cpts.by = cpts.pattern.empty() ? CptPlanRequest::By::kPartitions : CptPlanRequest::By::kPattern;
}

}  // namespace plnet::runtime
