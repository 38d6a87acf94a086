// SPDX-License-Identifier: BSD-3-Clause
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/lnet/names/ip2nets_text.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"

namespace plnet::runtime {
namespace {

using lnet::LnetControl;

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
  verbs.add(kLnetVerbs["lnet configure"], [&control](const VerbArgs& args, const Caller&,
                                                     VerbToken token) {
    control.configure({flag_arg(args, "all"), flag_arg(args, "large")}, silent(std::move(token)));
  });
  verbs.add(kLnetVerbs["lnet unconfigure"],
            [&control](const VerbArgs&, const Caller&, VerbToken token) {
              control.unconfigure(silent(std::move(token)));
            });
  verbs.add(kLnetVerbs["net add"], bound(control, add_net));
  verbs.add(kLnetVerbs["net del"],
            judged(net_to_delete, [&control](lnet::NetSelection net, VerbToken token) {
              control.del_net(std::move(net), silent(std::move(token)));
            }));
  verbs.add(kLnetVerbs["net show"], bound(control, show_nets));
  verbs.add(kLnetVerbs["net set"],
            judged(ni_change, [&control](lnet::NiChange change, VerbToken token) {
              control.set_ni(change, silent(std::move(token)));
            }));
}

}  // namespace plnet::runtime
