// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/node_verbs.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "apps/assembly/node_report.hpp"
#include "apps/assembly/router_options.hpp"
#include "apps/assembly/tcp_options.hpp"
#include "lib/runtime/config/module_options.hpp"
#include "lib/runtime/config/settings_diff.hpp"
#include "lib/runtime/config/settings_export.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "lib/runtime/lnet/lnet_documents.hpp"
#include "lib/runtime/lnet/lnet_variables.hpp"
#include "lib/runtime/lnet/lnet_verbs.hpp"

namespace plnet::apps {
namespace {

using runtime::ArgKind;
using runtime::Caller;
using runtime::Json;
using runtime::Settings;
using runtime::VerbAccess;
using runtime::VerbError;
using runtime::VerbFault;
using runtime::VerbReply;
using Args = nlohmann::json;

// The variables of `lnetctl set` and where they stand in the document. Values are checked by the
// document's own reader, so that both ways in accept the same.
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
};

std::unexpected<VerbError> refuse(const runtime::ConfigErrors& errors, bool with_place) {
  std::vector<VerbFault> faults;
  for (const auto& error : errors.list()) {
    VerbFault fault{Errc::kInvalid, error.what, {}, {}, -1};
    if (with_place) {
      fault.what = error.text();
      fault.where = error.where();
    }
    faults.push_back(std::move(fault));
  }
  return std::unexpected(VerbError(std::move(faults)));
}

VerbReply reply_of(Outcome<void> done) {
  if (!done) return std::unexpected(VerbError(std::move(done.error())));
  return Json::object();
}

lnet::Reply<void> answer_of(runtime::VerbToken token) {
  return [token = std::move(token)](Outcome<void>&& done) mutable {
    token.finish(reply_of(std::move(done)));
  };
}

// One value of the document, changed on the running node.
VerbReply set_value(Node& node, std::string_view section, std::string_view key, const Args& value,
                    const Caller& caller) {
  const Args document{{"plnet", {{section, {{key, value}}}}}};  // JSON is YAML
  const auto wanted = runtime::read_settings(document.dump(), "set", node.settings());
  if (!wanted) return refuse(wanted.error(), false);
  return reply_of(node.apply(*wanted, caller));
}

void set_variable(Node& node, lnet::LnetControl* lnet, const Args& args, const Caller& caller,
                  runtime::VerbToken token) {
  const auto name = args.at("variable").get<std::string>();
  if (lnet != nullptr && runtime::is_lnet_variable(name)) {
    return runtime::set_lnet_variable(*lnet, name, args.at("value"), std::move(token));
  }
  if (lnet != nullptr) {
    const Args& value = args.at("value");
    const auto text = value.is_string() ? value.get<std::string>() : value.dump();
    for (const auto set_option : {&set_tcp_option, &set_router_option}) {
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
  const auto read = runtime::read_settings(document.dump(), "exchange", now);
  if (!read) return refuse(read.error(), false);
  return reply_of(node.apply(*read, caller));
}

// A document, or options of kernel modules. What it asks for depends on what is there.
struct ImportText {
  std::string text;
  std::string name;
  bool options = false;
  bool del = false;
};
struct Wanted {
  Settings settings;
  std::vector<std::string> notes;  // what has no effect
};

std::expected<Wanted, runtime::ConfigErrors> wanted_settings(const ImportText& asked,
                                                             const Settings& now) {
  if (asked.options) {
    auto read = runtime::read_module_options(asked.text, asked.name, now.lnet);
    if (!read) return std::unexpected(std::move(read.error()));
    Wanted wanted{.settings = now, .notes = std::move(read->notes)};
    wanted.settings.lnet = std::move(read->config);
    return wanted;
  }
  auto read = asked.del ? runtime::reset_settings(asked.text, asked.name, now)
                        : runtime::read_settings(asked.text, asked.name, now);
  if (!read) return std::unexpected(std::move(read.error()));
  return Wanted{.settings = std::move(*read), .notes = {}};
}

struct Import {
  ImportText asked;
  Caller caller;
  std::optional<Settings> before{};  // from when its turn has come and its own part is done
  Settings wanted{};
};

// Its turn has come, and changes of LNet that were asked for before have been carried out.
Outcome<void> begin_import(Node& node, Import& import, lnet::NodeConfig& config) {
  const Settings now = node.settings();
  auto wanted = wanted_settings(import.asked, now);
  if (!wanted) return failure(Errc::kInvalid, wanted.error().list().front().text());
  import.wanted = std::move(wanted->settings);
  if (auto own = node.apply(import.wanted, import.caller); !own) return own;
  import.before = now;
  config = import.wanted.lnet;
  return {};
}

// LNet's part may be refused late: the node's own part goes back with it, unless somebody else has
// changed that meanwhile.
void end_import(Node& node, Import& import, bool done) {
  if (!import.before) return;
  if (done) return node.say_lnet_changed(import.before->lnet, import.caller);
  Settings now = node.settings();
  now.lnet = import.wanted.lnet;
  if (now == import.wanted) (void)node.apply(*import.before, import.caller);
}

void carry_out_import(Node& node, lnet::LnetControl* lnet, ImportText asked, const Caller& caller,
                      runtime::VerbToken token) {
  const auto import = std::make_shared<Import>(std::move(asked), caller);
  if (lnet == nullptr) {
    lnet::NodeConfig none;
    return token.finish(reply_of(begin_import(node, *import, none)));
  }
  lnet->edit(
      [&node, import](lnet::NodeConfig& config) { return begin_import(node, *import, config); },
      [&node, import, token = std::move(token)](Outcome<void>&& done) mutable {
        end_import(node, *import, done.has_value());
        token.finish(reply_of(std::move(done)));
      });
}

// What would change, and how.
Json plan_of(const Settings& now, const Settings& wanted) {
  auto changes = runtime::diff_settings(now, wanted);
  for (runtime::SettingChange& change : changes) {
    const bool live =
        change.path == "plnet.module_options" && differ_live_only(now.lnet, wanted.lnet);
    if (live) change.applies = runtime::Applies::kLive;
  }
  return {{"changes", runtime::changes_to_json(changes)}};
}

// A success says the notes as well.
runtime::VerbToken with_notes(runtime::VerbToken token, std::vector<std::string> notes) {
  if (notes.empty()) return token;
  const auto told = std::make_shared<runtime::VerbToken>(std::move(token));
  return runtime::VerbToken([told, notes = std::move(notes)](const VerbReply& reply) {
    if (!reply) return told->finish(reply);
    Json document = reply->is_object() ? *reply : Json::object();
    document["notes"] = notes;
    told->finish(document);
  });
}

// Or why it would be refused, as carrying it out would tell.
void tell_plan(const Node& node, bool with_lnet, const ImportText& asked, Wanted wanted,
               runtime::VerbToken token) {
  if (with_lnet) {
    auto judged = node.lnet().judge_change(wanted.settings.lnet);
    if (!judged) {
      const runtime::SourceText text{.text = asked.text, .file = asked.name};
      return token.finish(std::unexpected(VerbError(located(judged.error(), text, asked.options))));
    }
    wanted.settings.lnet = std::move(judged->config);
    std::ranges::move(judged->notes, std::back_inserter(wanted.notes));
  }
  with_notes(std::move(token), wanted.notes).finish(plan_of(node.settings(), wanted.settings));
}

// --show and --exec look at what a document names.
void look_at_named(lnet::LnetControl& lnet, const std::string& text, const std::string& name,
                   bool exec, runtime::VerbToken token) {
  const auto named = runtime::read_named(text, name);
  if (!named) return token.finish(refuse(named.error(), true));
  return exec ? runtime::exec_named(lnet, *named, std::move(token))
              : runtime::show_named(lnet, *named, std::move(token));
}

void import_document(Node& node, lnet::LnetControl* lnet, const Args& args, const Caller& caller,
                     runtime::VerbToken token) {
  const auto text = args.at("text").get<std::string>();
  const auto name = args.value("name", std::string("<text>"));
  const auto action = args.value("action", std::string("add"));
  const bool options = args.value("options", false);
  const auto wrong = [&token](std::string what) {
    token.finish(std::unexpected(VerbError(Error{Errc::kInvalid, std::move(what)})));
  };
  if (action != "add" && action != "del" && action != "show" && action != "exec") {
    return wrong("action '" + action + "': expected add, del, show or exec");
  }
  if (options && action != "add") return wrong("options of kernel modules can only be added");
  if (lnet == nullptr && action == "exec") return wrong("this node has no LNet to ping with");
  const bool looks = action == "show" || action == "exec";
  if (lnet != nullptr && looks) {
    return look_at_named(*lnet, text, name, action == "exec", std::move(token));
  }
  const Settings now = node.settings();
  const ImportText asked{.text = text, .name = name, .options = options, .del = action == "del"};
  const auto wanted = wanted_settings(asked, now);
  if (!wanted) return token.finish(refuse(wanted.error(), true));
  if (looks) return token.finish(export_settings(now, runtime::ExportForm::kFull));
  if (args.value("plan", false)) {
    return tell_plan(node, lnet != nullptr, asked, *wanted, std::move(token));
  }
  carry_out_import(node, lnet, asked, caller, with_notes(std::move(token), wanted->notes));
}

void export_document(const Node& node, lnet::LnetControl* lnet, bool backup,
                     runtime::VerbToken token) {
  if (lnet == nullptr || backup) {
    const auto form = backup ? runtime::ExportForm::kBackup : runtime::ExportForm::kFull;
    return token.finish(export_settings(node.settings(), form));
  }
  Settings own = node.settings();
  own.lnet = {.module_options = lnet->config().module_options};
  runtime::export_running(*lnet, export_settings(own, runtime::ExportForm::kFull),
                          std::move(token));
}

// Rates are over the time since somebody last looked.
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
  verbs.add(
      {.verb = "status",
       .access = VerbAccess::kReads,
       .help = "the node on one screen",
       .handler = [&node](const Args&, const auto&) -> VerbReply { return report_status(node); }});
  verbs.add({.verb = "cpt show",
             .access = VerbAccess::kReads,
             .help = "CPTs and shards with their counters",
             .args = {{"verbose", ArgKind::kNumber}},
             .handler = [&node](const Args& args, const auto&) -> VerbReply {
               return report_cpts(node, args.value("verbose", 0));
             }});
  verbs.add({.verb = "counters show",
             .access = VerbAccess::kReads,
             .help = "every counter",
             .args = {{"verbose", ArgKind::kNumber}},
             .handler = [&node](const Args&, const auto&) -> VerbReply {
               return report_counters(node);
             }});
  verbs.add({.verb = "counters reset",
             .help = "high-water marks and histograms start anew",
             .handler = [&node](const Args&, const auto&) -> VerbReply {
               return reply_of(node.reset_counters());
             }});
  verbs.add({.verb = "metrics show",
             .access = VerbAccess::kReads,
             .help = "what a scrape gets",
             .handler = [&node](const Args&, const auto&) -> VerbReply {
               return Json{{"text", node.metrics().prometheus_text()}};
             }});
  verbs.add({.verb = "log show",
             .access = VerbAccess::kReads,
             .help = "the level and what was left out",
             .handler = [&node](const Args&, const auto&) -> VerbReply {
               return Json{{"log",
                            {{"level", name_of(node.log().level())},
                             {"suppressed", node.log().suppressed()},
                             {"lost", node.log().lost()}}}};
             }});
}

void add_exchange(runtime::VerbTable& verbs, Node& node) {
  verbs.add({.verb = "exchange show",
             .access = VerbAccess::kReads,
             .help = "what a hop between shards costs",
             .args = {{"verbose", ArgKind::kNumber}},
             .handler = [&node, view = std::make_shared<ExchangeView>()](
                            const Args&, const auto&) -> VerbReply { return view->show(node); }});
  const auto add = [&](std::string verb, std::string help, std::optional<bool> enable) {
    verbs.add({.verb = std::move(verb),
               .help = std::move(help),
               .args = {{"in_flight", ArgKind::kNumber}, {"work_nsec", ArgKind::kNumber}},
               .handler = [&node, enable](const Args& args, const Caller& caller) -> VerbReply {
                 return change_exchange(node, args, enable, caller);
               }});
  };
  add("exchange start", "let shards pass tokens to one another", true);
  add("exchange stop", "draw the tokens in", false);
  add("exchange set", "change how many tokens and how much work", std::nullopt);
}

void add_settings(runtime::VerbTable& verbs, Node& node, lnet::LnetControl* lnet) {
  verbs.add({.verb = "set",
             .help = "set a live variable",
             .args = {{"variable", ArgKind::kText, true}, {"value", ArgKind::kAny, true}},
             .async_handler = [&node, lnet](const Args& args, const Caller& caller,
                                            runtime::VerbToken token) {
               set_variable(node, lnet, args, caller, std::move(token));
             }});
  verbs.add({.verb = "log set",
             .help = "set the log level",
             .args = {{"level", ArgKind::kText, true}},
             .handler = [&node](const Args& args, const Caller& caller) -> VerbReply {
               return set_value(node, "log", "level", args.at("level"), caller);
             }});
  verbs.add({.verb = "import",
             .help = "apply a document, or say what it would change",
             .args = {{"text", ArgKind::kText, true},
                      {"name", ArgKind::kText},
                      {"action", ArgKind::kText},
                      {"plan", ArgKind::kFlag},
                      {"options", ArgKind::kFlag}},
             .async_handler = [&node, lnet](const Args& args, const Caller& caller,
                                            runtime::VerbToken token) {
               import_document(node, lnet, args, caller, std::move(token));
             }});
  verbs.add(
      {.verb = "export",
       .access = VerbAccess::kReads,
       .help = "the settings as a document",
       .args = {{"backup", ArgKind::kFlag}},
       .async_handler = [&node, lnet](const Args& args, const auto&, runtime::VerbToken token) {
         export_document(node, lnet, args.value("backup", false), std::move(token));
       }});
}

}  // namespace

void add_node_verbs(runtime::VerbTable& verbs, Node& node, lnet::LnetControl* lnet) {
  add_views(verbs, node);
  add_exchange(verbs, node);
  add_settings(verbs, node, lnet);
  if (lnet != nullptr) runtime::add_lnet_verbs(verbs, *lnet);
}

}  // namespace plnet::apps
