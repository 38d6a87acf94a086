// SPDX-License-Identifier: BSD-3-Clause
#include "node/run/node_verbs.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/runtime/config/settings_reader.hpp"
#include "lib/runtime/lnet/lnet_variables.hpp"
#include "lib/runtime/lnet/lnet_verbs.hpp"
#include "lib/runtime/verbs/node_rows.hpp"
#include "node/admin/lnet_admin.hpp"
#include "node/admin/router_options.hpp"
#include "node/admin/verb_replies.hpp"
#include "node/host/useless_option.hpp"
#include "node/net/families.hpp"
#include "node/run/node_documents.hpp"
#include "node/run/node_report.hpp"
#include "node/watch/lnet_standing.hpp"

namespace plnet::node {
namespace {

using runtime::Caller;
using runtime::Json;
using runtime::kNodeVerbs;
using runtime::Settings;
using runtime::VerbError;
using runtime::VerbReply;
using Args = nlohmann::json;

// The variables of `lnetctl set` and their places in the document. The document's reader checks the
// values, so that both ways accept the same.
struct Variable {
  std::string_view name;
  std::string_view section;
  std::string_view key;
};
constexpr std::array kVariables{
    Variable{"idle", "pollers", "idle"},
    Variable{"turn_limit_usec", "pollers", "turn_limit_usec"},
    Variable{"exchange", "exchange", "enable"},
    Variable{"exchange_in_flight", "exchange", "in_flight"},
    Variable{"exchange_work_nsec", "exchange", "work_nsec"},
    Variable{"log_level", "log", "level"},
    Variable{"metrics_listen", "metrics", "listen"},
    Variable{"status_page_listen", "status_page", "listen"},
};

// Changes one value of the document on the running node.
VerbReply set_value(Node& node, std::string_view section, std::string_view key, const Args& value,
                    const Caller& caller) {
  const Args document{{"plnet", {{section, {{key, value}}}}}};  // JSON is YAML
  const auto wanted =
      runtime::read_settings(node.schema(), document.dump(), "set", node.settings());
  if (!wanted) return refuse(wanted.error(), false);
  return reply_of(node.apply(*wanted, caller));
}

using SetOption = std::function<Outcome<void>(lnet::NodeConfig& config, std::string_view name,
                                              std::string_view value)>;

void set_variable(Node& node, lnet::LnetControl* lnet, const Args& args, const Caller& caller,
                  runtime::VerbToken token) {
  const auto name = args.at("variable").get<std::string>();
  if (lnet != nullptr && runtime::is_lnet_variable(name)) {
    return runtime::set_lnet_variable(*lnet, name, args.at("value"), std::move(token));
  }
  if (const std::string why = why_useless(network_families(), name); !why.empty()) {
    return token.finish(std::unexpected(VerbError(
        Error{Errc::kNotSupported, fmt::format("'{}' has no effect here: {}", name, why)})));
  }
  if (lnet != nullptr) {
    const Args& value = args.at("value");
    const auto text = value.is_string() ? value.get<std::string>() : value.dump();
    std::vector<SetOption> setters{&set_router_option};
    for (const NetworkFamily* family : network_families())
      setters.emplace_back(
          [family](lnet::NodeConfig& config, std::string_view option, std::string_view to) {
            return family->set_option(config, option, to);
          });
    for (const SetOption& set_option : setters) {
      lnet::NodeConfig tried = lnet->config();
      auto set = set_option(tried, name, text);
      if (!set && set.error().code == Errc::kNotFound) continue;
      if (!set) return token.finish(reply_of(std::move(set)));
      return lnet->edit([set_option, name,
                         text](lnet::NodeConfig& config) { return set_option(config, name, text); },
                        answer_of(std::move(token)));
    }
  }
  std::string known = lnet != nullptr ? runtime::lnet_variable_names() : std::string{};
  for (const auto& variable : kVariables) {
    if (variable.name == name) {
      return token.finish(
          set_value(node, variable.section, variable.key, args.at("value"), caller));
    }
    if (!known.empty()) known += ", ";
    known += variable.name;
  }
  if (lnet != nullptr) known += ", or an option of a module such as ksocklnd.sock_timeout";
  token.finish(std::unexpected(
      VerbError(Error{Errc::kInvalid, "variable '" + name + "': expected one of " + known})));
}

VerbReply change_exchange(Node& node, const Args& args, std::optional<bool> enable,
                          const Caller& caller) {
  const Settings now = node.settings();
  Args section = Args::object();
  if (enable) section["enable"] = *enable ? 1 : 0;
  for (const auto* key : {"in_flight", "work_nsec"}) {
    if (args.contains(key)) section[key] = args.at(key);
  }
  const Args document{{"plnet", {{"exchange", section}}}};
  const auto read = runtime::read_settings(node.schema(), document.dump(), "exchange", now);
  if (!read) return refuse(read.error(), false);
  return reply_of(node.apply(*read, caller));
}

// Rates cover the time since the last report to any client.
struct ExchangeView {
  std::vector<runtime::HopSummary> seen;
  Instant at{};

  Json show(Node& node) {
    auto hops = node.exchange().summary();
    const Instant now = node.clock().now();
    const auto rates =
        seen.empty() ? std::vector<double>{} : runtime::hop_rates(seen, hops, now - at);
    auto report = report_exchange(node, hops, rates);
    seen = std::move(hops);
    at = now;
    return report;
  }
};

void add_views(runtime::VerbTable& verbs, Node& node) {
  verbs.add(kNodeVerbs["status"], [&node](const Args&, const auto&, runtime::VerbToken token) {
    ask_standing(node.lnet(), node.loop(),
                 [&node, token = std::move(token)](LnetStanding standing) mutable {
                   // The answer of a poller may come while the node ends.
                   if (!node.is_ending()) token.finish(report_status(node, std::move(standing)));
                 });
  });
  verbs.add(kNodeVerbs["cpt show"], [&node](const Args& args, const auto&) -> VerbReply {
    return report_cpts(node, args.value("verbose", 0));
  });
  verbs.add(kNodeVerbs["counters show"],
            [&node](const Args&, const auto&) -> VerbReply { return report_counters(node); });
  verbs.add(kNodeVerbs["counters reset"], [&node](const Args&, const auto&) -> VerbReply {
    return reply_of(node.reset_counters());
  });
  verbs.add(kNodeVerbs["metrics show"], [&node](const Args&, const auto&) -> VerbReply {
    return Json{{"text", node.metrics().prometheus_text()}};
  });
  verbs.add(kNodeVerbs["log show"], [&node](const Args&, const auto&) -> VerbReply {
    return Json{{"log",
                 {{"level", name_of(node.log().level())},
                  {"suppressed", node.log().suppressed()},
                  {"lost", node.log().lost()}}}};
  });
}

void add_exchange(runtime::VerbTable& verbs, Node& node) {
  verbs.add(kNodeVerbs["exchange show"],
            [&node, view = std::make_shared<ExchangeView>()](
                const Args&, const auto&) -> VerbReply { return view->show(node); });
  const auto add = [&](const runtime::VerbRow& row, std::optional<bool> enable) {
    verbs.add(row, [&node, enable](const Args& args, const Caller& caller) -> VerbReply {
      return change_exchange(node, args, enable, caller);
    });
  };
  add(kNodeVerbs["exchange start"], true);
  add(kNodeVerbs["exchange stop"], false);
  add(kNodeVerbs["exchange set"], std::nullopt);
}

void add_settings(runtime::VerbTable& verbs, Node& node, lnet::LnetControl* lnet) {
  verbs.add(kNodeVerbs["set"],
            [&node, lnet](const Args& args, const Caller& caller, runtime::VerbToken token) {
              set_variable(node, lnet, args, caller, std::move(token));
            });
  verbs.add(kNodeVerbs["log set"], [&node](const Args& args, const Caller& caller) -> VerbReply {
    return set_value(node, "log", "level", args.at("level"), caller);
  });
  verbs.add(kNodeVerbs["import"],
            [&node, lnet](const Args& args, const Caller& caller, runtime::VerbToken token) {
              import_document(node, lnet, args, caller, std::move(token));
            });
  verbs.add(kNodeVerbs["export"],
            [&node, lnet](const Args& args, const auto&, runtime::VerbToken token) {
              export_document(node, lnet, args.value("backup", false), std::move(token));
            });
}

}  // namespace

void add_node_verbs(runtime::VerbTable& verbs, Node& node, lnet::LnetControl* lnet) {
  add_views(verbs, node);
  add_exchange(verbs, node);
  add_settings(verbs, node, lnet);
  if (lnet != nullptr) runtime::add_lnet_verbs(verbs, *lnet);
}

}  // namespace plnet::node
