// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/lnet/names/nid_range.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/path_json.hpp"
#include "lib/runtime/lnet/routing_outlook.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"

namespace plnet::runtime {
namespace {

using lnet::LnetControl;

Outcome<void> change_all(lnet::NodeConfig& config, const std::vector<lnet::RouteConfig>& routes,
                         bool add) {
  for (const lnet::RouteConfig& route : routes) {
    const auto gone = std::erase_if(config.routes, [&route](const auto& other) {
      return other.net == route.net && other.gateway == route.gateway;
    });
    if (add && gone > 0) {
      return failure(Errc::kExists,
                     fmt::format("there is a route to {} by {}", lnet::text_of_net(route.net),
                                 text_of(route.gateway)));
    }
    if (add) {
      config.routes.push_back(route);
    } else if (gone == 0) {
      return failure(Errc::kNotFound,
                     fmt::format("no route to {} by {}", lnet::text_of_net(route.net),
                                 text_of(route.gateway)));
    }
  }
  if (const auto issues = check_node_config(config); !issues.empty())
    return failure(Errc::kInvalid, issues.front().what);
  return {};
}

// Several routes are added all or none.
void change_routes(LnetControl& control, const std::vector<lnet::RouteConfig>& routes, bool add,
                   VerbToken token) {
  if (routes.size() == 1) {
    auto done = silent(std::move(token));
    return add ? control.add_route(routes[0], std::move(done))
               : control.del_route(routes[0].net, routes[0].gateway, std::move(done));
  }
  control.edit([routes, add](lnet::NodeConfig& config) { return change_all(config, routes, add); },
               silent(std::move(token)));
}

// A day: longer than any drain, and short enough for a Duration.
constexpr std::int64_t kDrainSecondsMax = 86'400;

void drain_routing(LnetControl& control, const VerbArgs& args, VerbToken token) {
  lnet::DrainOrder order{.full_notice = flag_arg(args, "full_notice")};
  if (args.contains("timeout")) {
    const auto seconds = args.at("timeout").get<std::int64_t>();
    if (seconds < 0 || seconds > kDrainSecondsMax) {
      return fail(token, {Errc::kOutOfRange, fmt::format("timeout: {}, expected 0 to {} seconds",
                                                         seconds, kDrainSecondsMax)});
    }
    order.bound = std::chrono::seconds(seconds);
  }
  control.drain_routing(order, with_outlook(control, std::move(token)));
}

// A filter of gateways by a NID or a list of ranges of any size; without the argument all match.
using GatewayFilter = std::function<bool(const lnet::Nid& gateway)>;
Outcome<GatewayFilter> gateways_meant(const VerbArgs& args) {
  const std::string text = text_arg(args, "gateway");
  if (text.empty()) return [](const lnet::Nid& /*gateway*/) { return true; };
  if (const auto nid = lnet::parse_nid(text))
    return [one = *nid](const lnet::Nid& gateway) { return gateway == one; };
  auto ranges = lnet::NidRangeList::parse(text);
  if (!ranges) {
    return failure(Errc::kInvalid,
                   fmt::format("cannot parse gateway NID '{}': {}", text, ranges.error().what));
  }
  return [meant = std::move(*ranges)](const lnet::Nid& gateway) { return meant.matches(gateway); };
}

// Filters as in lnetctl: all that are given must match.
Outcome<void> keep_fitting(std::vector<lnet::RouteReport>& routes, const VerbArgs& args) {
  const auto net = net_arg(args, "net");
  if (!net) return std::unexpected(net.error());
  const auto is_meant = gateways_meant(args);
  if (!is_meant) return std::unexpected(is_meant.error());
  const auto number = [&args](const char* name) {
    return args.contains(name) ? std::optional(args.at(name).get<std::int64_t>()) : std::nullopt;
  };
  const auto hop = number(args.contains("hop_count") ? "hop_count" : "hop");
  const auto priority = number("priority");
  std::erase_if(routes, [&](const lnet::RouteReport& report) {
    return (*net != lnet::kNetAny && report.route.net != *net) ||
           !(*is_meant)(report.route.gateway) || (hop && report.route.hops != *hop) ||
           (priority && report.route.priority != *priority);
  });
  return {};
}

}  // namespace

void show_routes(lnet::LnetControl& control, const VerbArgs& args, VerbToken token) {
  control.routes(
      [args, token = std::move(token)](Outcome<std::vector<lnet::RouteReport>>&& routes) mutable {
        if (!routes) return fail(token, std::move(routes.error()));
        if (auto kept = keep_fitting(*routes, args); !kept)
          return fail(token, std::move(kept.error()));
        const Json document = routes_to_json(*routes, level_arg(args));
        token.finish(document.is_null() ? Json::object() : document);
      });
}

void show_routing(lnet::LnetControl& control, VerbToken token) {
  control.routing(printed<lnet::RoutingReport>(std::move(token), [](lnet::RoutingReport report) {
    // The buffers that exist, added up as in the kernel, instead of the configured counts.
    report.buffers = {};
    for (const lnet::RoutingReport::OfCpt& cpt : report.cpts) {
      report.buffers.tiny += cpt.tiny.buffers;
      report.buffers.small += cpt.small.buffers;
      report.buffers.large += cpt.large.buffers;
    }
    return routing_to_json(report);
  }));
}

void show_routing_as_configured(lnet::LnetControl& control, VerbToken token) {
  control.routing(printed<lnet::RoutingReport>(std::move(token), [](lnet::RoutingReport report) {
    using enum lnet::RoutingState;
    report.state = report.configured ? kEnabled : kDisabled;
    report.change.reset();
    report.starving.clear();
    return routing_to_json(report);
  }));
}

namespace {

Outcome<lnet::PathQuestion> path_question(const VerbArgs& args) {
  const auto ends = args.at("src").get<std::vector<std::string>>();
  if (ends.size() != 2) return failure(Errc::kMissing, "expected SRC and DST");
  const auto source = lnet::parse_nid_or_any(ends[0]);
  if (!source) return std::unexpected(source.error());
  if (lnet::is_any_on_net(*source)) {
    return failure(Errc::kInvalid, "expected one NID as SRC, or * for any of this node's");
  }
  const auto destination = lnet::parse_nid(ends[1]);
  if (!destination) return std::unexpected(destination.error());
  return lnet::PathQuestion{.source = *source, .destination = *destination};
}

}  // namespace

void add_route_verbs(VerbTable& verbs, lnet::LnetControl& control) {
  verbs.add(kLnetVerbs["route explain"],
            judged(path_question, [&control](const lnet::PathQuestion& question, VerbToken token) {
              control.explain(question,
                              printed<lnet::PathReport>(std::move(token), [](const auto& report) {
                                return path_to_json(report);
                              }));
            }));
  verbs.add(kLnetVerbs["route add"],
            judged(routes_of, [&control](const auto& routes, VerbToken token) {
              change_routes(control, routes, true, std::move(token));
            }));
  verbs.add(kLnetVerbs["route del"],
            judged(routes_of, [&control](const auto& routes, VerbToken token) {
              change_routes(control, routes, false, std::move(token));
            }));
  verbs.add(kLnetVerbs["route show"], bound(control, show_routes));
  verbs.add(kLnetVerbs["routing drain"], bound(control, drain_routing));
  verbs.add(kLnetVerbs["routing undrain"],
            [&control](const VerbArgs&, const Caller&, VerbToken token) {
              control.undrain_routing(with_outlook(control, std::move(token)));
            });
  verbs.add(kLnetVerbs["routing show"], bound(control, show_routing));
}

}  // namespace plnet::runtime
