// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl debugfs`: files by name. lnetctl prints their text as it is.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/node_rows.hpp"

namespace plnet::runtime {
namespace {

using lnet::LnetControl;

// The highest level that any file needs.
constexpr int kLevel = 2;

Json text_document(std::string text) {
  return {{"text", std::move(text)}};
}

template <class Report>
lnet::Reply<Report> as_text(VerbToken token, const auto& render) {
  return printed<Report>(std::move(token),
                         [render](const Report& report) { return text_document(render(report)); });
}

void stats(LnetControl& control, VerbToken token) {
  control.statistics(as_text<lnet::StatisticsReport>(
      std::move(token), [](const auto& report) { return debugfs_stats(report); }));
}

void nis(LnetControl& control, VerbToken token) {
  control.nets({}, kLevel,
               as_text<std::vector<lnet::NetReport>>(
                   std::move(token), [](const auto& nets) { return debugfs_nis(nets); }));
}

void peers(LnetControl& control, VerbToken token) {
  control.peers({}, kLevel,
                as_text<std::vector<lnet::PeerReport>>(
                    std::move(token), [](const auto& all) { return debugfs_peers(all); }));
}

void buffers(LnetControl& control, VerbToken token) {
  control.routing(as_text<lnet::RoutingReport>(
      std::move(token), [](const auto& report) { return debugfs_buffers(report); }));
}

void routes(LnetControl& control, VerbToken token) {
  control.routing([&control,
                   token = std::move(token)](Outcome<lnet::RoutingReport>&& routing) mutable {
    if (!routing) return fail(token, std::move(routing.error()));
    control.routes(as_text<std::vector<lnet::RouteReport>>(
        std::move(token),
        [routing = std::move(*routing)](const auto& all) { return debugfs_routes(routing, all); }));
  });
}

void routers(LnetControl& control, VerbToken token) {
  control.gateways(as_text<std::vector<lnet::GatewayReport>>(
      std::move(token), [](const auto& all) { return debugfs_routers(all); }));
}

void lnd_timeout(LnetControl& control, VerbToken token) {
  token.finish(text_document(fmt::format("{}\n", control.parameters().lnd_timeout_s())));
}

struct DebugfsFile {
  std::string_view name;
  void (*show)(LnetControl& control, VerbToken token);
};
constexpr std::array kFiles{DebugfsFile{"stats", stats},
                            DebugfsFile{"nis", nis},
                            DebugfsFile{"peers", peers},
                            DebugfsFile{"buffers", buffers},
                            DebugfsFile{"routers", routers},
                            DebugfsFile{"routes", routes},
                            DebugfsFile{"lnet_lnd_timeout", lnd_timeout}};

}  // namespace

void add_debugfs_verbs(VerbTable& verbs, LnetControl& control) {
  verbs.add(kNodeVerbs["debugfs"], [&control](const VerbArgs& args, const Caller&,
                                              VerbToken token) {
    const std::string name = text_arg(args, "file");
    std::string known;
    for (const DebugfsFile& file : kFiles) {
      if (file.name == name) return file.show(control, std::move(token));
      known += fmt::format("{}{}", known.empty() ? "" : ", ", file.name);
    }
    fail(token, {Errc::kNotFound, fmt::format("no file '{}', expected one of {}", name, known)});
  });
}

}  // namespace plnet::runtime
