// SPDX-License-Identifier: BSD-3-Clause
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/lnet/names/ip2nets_text.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"

namespace plnet::runtime {
namespace {

using lnet::LnetControl;
using enum ArgKind;

void add_ip2net(LnetControl& control, const std::string& rules, VerbToken token) {
  control.edit(
      [rules](lnet::NodeConfig& config) -> Outcome<void> {
        config.ip2nets_text += config.ip2nets_text.empty() ? "" : "; ";
        config.ip2nets_text += rules;
        if (auto parsed = lnet::parse_ip2nets(config.ip2nets_text); !parsed)
          return std::unexpected(std::move(parsed.error()));
        return {};
      },
      silent(std::move(token)));
}

void add_net(LnetControl& control, const VerbArgs& args, VerbToken token) {
  if (const std::string rules = text_arg(args, "ip2net"); !rules.empty()) {
    return add_ip2net(control, rules, std::move(token));
  }
  auto net = net_to_add(args);
  if (!net) return fail(token, std::move(net.error()));
  control.add_net(std::move(*net), silent(std::move(token)));
}

}  // namespace

void show_nets(lnet::LnetControl& control, const VerbArgs& args, VerbToken token) {
  const auto net = net_arg(args, "net");
  if (!net) return fail(token, net.error());
  const int level = level_arg(args);
  control.nets(*net == lnet::kNetAny ? std::nullopt : std::optional(*net), level,
               printed<std::vector<lnet::NetReport>>(std::move(token), [level](const auto& nets) {
                 return nets_to_json(nets, level);
               }));
}

void add_net_verbs(VerbTable& verbs, lnet::LnetControl& control) {
  verbs.add({.verb = "lnet configure",
             .help = "start LNet",
             .args = {{"all", kFlag}, {"large", kFlag}},
             .async_handler = [&control](const VerbArgs& args, const Caller&, VerbToken token) {
               control.configure({flag_arg(args, "all"), flag_arg(args, "large")},
                                 silent(std::move(token)));
             }});
  verbs.add({.verb = "lnet unconfigure",
             .help = "stop LNet",
             .async_handler = [&control](const VerbArgs&, const Caller&, VerbToken token) {
               control.unconfigure(silent(std::move(token)));
             }});
  verbs.add({.verb = "net add",
             .help = "add a network, or NIs to it",
             .args = {{"net", kText},
                      {"if", kText},
                      {"nid", kText},
                      {"ip2net", kText},
                      {"peer_timeout", kNumber},
                      {"peer_credits", kNumber},
                      {"peer_buffer_credits", kNumber},
                      {"credits", kNumber},
                      {"cpt", kText},
                      {"conns_per_peer", kNumber},
                      {"skip_mr_route_setup", kFlag},
                      {"auth_key", kNumber},
                      {"traffic_class", kText},
                      {"tos", kNumber},
                      {"driver", kText}},
             .async_handler = [&control](const VerbArgs& args, const Caller&, VerbToken token) {
               add_net(control, args, std::move(token));
             }});
  verbs.add(
      {.verb = "net del",
       .help = "delete a network, or NIs of it",
       .args = {{"net", kText}, {"if", kText}, {"nid", kText}},
       .async_handler = judged(net_to_delete, [&control](lnet::NetSelection net, VerbToken token) {
         control.del_net(std::move(net), silent(std::move(token)));
       })});
  verbs.add({.verb = "net show",
             .access = VerbAccess::kReads,
             .help = "networks and NIs",
             .args = {{"net", kText}, {"verbose", kNumber}},
             .async_handler = [&control](const VerbArgs& args, const Caller&, VerbToken token) {
               show_nets(control, args, std::move(token));
             }});
  verbs.add({.verb = "net set",
             .help = "change NIs",
             .args = {{"nid", kText},
                      {"net", kText},
                      {"lnd_timeout", kNumber},
                      {"health", kNumber},
                      {"conns_per_peer", kNumber},
                      {"all", kFlag}},
             .async_handler = judged(ni_change, [&control](lnet::NiChange change, VerbToken token) {
               control.set_ni(change, silent(std::move(token)));
             })});
}

}  // namespace plnet::runtime
