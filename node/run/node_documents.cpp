// SPDX-License-Identifier: BSD-3-Clause
#include "node/run/node_documents.hpp"

#include <algorithm>
#include <expected>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "lib/runtime/config/module_options.hpp"
#include "lib/runtime/config/settings_diff.hpp"
#include "lib/runtime/config/settings_export.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "lib/runtime/lnet/lnet_documents.hpp"
#include "node/admin/lnet_admin.hpp"
#include "node/admin/lnet_wanted.hpp"
#include "node/admin/router_options.hpp"
#include "node/admin/verb_replies.hpp"
#include "node/host/settled_config.hpp"
#include "node/host/useless_option.hpp"
#include "node/net/families.hpp"

namespace plnet::node {

using runtime::Caller;
using runtime::Json;
using runtime::Settings;
using runtime::VerbError;
using runtime::VerbReply;

namespace {

// A document, or options of kernel modules. Its meaning depends on the present settings.
struct ImportText {
  std::string text;
  std::string name;
  bool options = false;
  bool del = false;
};
struct Wanted {
  Settings settings;
  std::vector<std::string> notes;  // about lines without effect
};

void add_notes_of_options(Wanted& wanted, const Settings& now) {
  std::ranges::move(notes_of_useless_options(network_families(), wanted.settings.lnet, now.lnet),
                    std::back_inserter(wanted.notes));
}

std::expected<Wanted, runtime::ConfigErrors> wanted_settings(const Node& node,
                                                             const ImportText& asked,
                                                             const Settings& now) {
  if (asked.options) {
    auto read = runtime::read_module_options(asked.text, asked.name, now.lnet);
    if (!read) return std::unexpected(std::move(read.error()));
    Wanted wanted{.settings = now, .notes = std::move(read->notes)};
    apply(std::move(*read), wanted.settings);
    add_notes_of_options(wanted, now);
    return wanted;
  }
  auto read = asked.del ? runtime::reset_settings(node.schema(), asked.text, asked.name, now)
                        : runtime::read_settings(node.schema(), asked.text, asked.name, now);
  if (!read) return std::unexpected(std::move(read.error()));
  Wanted wanted{.settings = std::move(*read), .notes = {}};
  add_notes_of_options(wanted, now);
  return wanted;
}

// LNet's judgement; an error names the place in the text that is at fault.
Outcome<Judged> judge_lnet(const Node& node, const ImportText& asked,
                           const lnet::NodeConfig& wanted) {
  auto judged = node.lnet().judge_change(wanted);
  if (judged) return std::move(*judged);
  const runtime::SourceText text{.text = asked.text, .file = asked.name};
  return std::unexpected(located(judged.error(), text, asked.options));
}

// The settings that are wanted instead of `now`; they are judged already.
using Read = std::function<Outcome<Settings>(const Settings& now)>;

struct Import {
  Read read;
  Caller caller;
  std::optional<Settings>
      before{};  // set when its turn has come and the node's own part is applied
  Settings wanted{};
};

Outcome<Settings> read_import(const Node& node, bool with_lnet, const ImportText& asked,
                              const Settings& now) {
  auto wanted = wanted_settings(node, asked, now);
  if (!wanted) return failure(Errc::kInvalid, wanted.error().list().front().text());
  if (with_lnet && wanted->settings.lnet != now.lnet) {
    const auto judged = judge_lnet(node, asked, wanted->settings.lnet);
    if (!judged) return std::unexpected(judged.error());
  }
  return std::move(wanted->settings);
}

// Called when earlier changes of LNet have been carried out.
Outcome<void> begin_import(Node& node, Import& import, lnet::NodeConfig& config) {
  const Settings now = node.settings();
  auto wanted = import.read(now);
  if (!wanted) return std::unexpected(std::move(wanted.error()));
  import.wanted = std::move(*wanted);
  if (auto own = node.apply(import.wanted, import.caller); !own) return own;
  import.before = now;
  config = import.wanted.lnet;
  return {};
}

// LNet may refuse its part late. The node's own part is undone then, unless it has been changed
// again meanwhile.
void end_import(Node& node, Import& import, bool done) {
  if (!import.before) return;
  if (done) return node.log_lnet_changed(import.before->lnet, import.caller);
  Settings now = node.settings();
  now.lnet = import.wanted.lnet;
  if (now == import.wanted) (void)node.apply(*import.before, import.caller);
}

void carry_out_import(Node& node, lnet::LnetControl* lnet, Read read, const Caller& caller,
                      lnet::Reply<void> done) {
  const auto import = std::make_shared<Import>(std::move(read), caller);
  if (lnet == nullptr) {
    lnet::NodeConfig none;
    return done(begin_import(node, *import, none));
  }
  lnet->edit(
      [&node, import](lnet::NodeConfig& config) { return begin_import(node, *import, config); },
      [&node, import, done = std::move(done)](Outcome<void>&& ended) mutable {
        end_import(node, *import, ended.has_value());
        done(std::move(ended));
      });
}

// The list of changes.
Json plan_of(const Node& node, const Settings& wanted) {
  const Settings now = node.settings();
  auto changes = runtime::diff_settings(node.schema(), now, wanted);
  for (runtime::SettingChange& change : changes) {
    const bool live = change.path == "plnet.module_options" &&
                      differ_live_only(now.lnet, wanted.lnet, network_families());
    if (live) change.applies = runtime::Applies::kLive;
  }
  return {{"changes", runtime::changes_to_json(changes)}};
}

// Adds the notes to a successful reply.
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

// Replies with the plan, or with the refusal that carrying it out would meet.
void reply_plan(const Node& node, bool with_lnet, const ImportText& asked, Wanted wanted,
                runtime::VerbToken token) {
  if (with_lnet) {
    auto judged = judge_lnet(node, asked, wanted.settings.lnet);
    if (!judged) return token.finish(std::unexpected(VerbError(std::move(judged.error()))));
    wanted.settings.lnet = std::move(judged->config);
    std::ranges::move(judged->notes, std::back_inserter(wanted.notes));
  }
  with_notes(std::move(token), wanted.notes).finish(plan_of(node, wanted.settings));
}

// --show and --exec look at the objects that a document names.
void look_at_named(const Node& node, lnet::LnetControl& lnet, const std::string& text,
                   const std::string& name, bool exec, runtime::VerbToken token) {
  const auto named = runtime::read_named(node.schema(), text, name);
  if (!named) return token.finish(refuse(named.error(), true));
  return exec ? runtime::exec_named(lnet, *named, std::move(token))
              : runtime::show_named(lnet, *named, std::move(token));
}

}  // namespace

void import_document(Node& node, lnet::LnetControl* lnet, const nlohmann::json& args,
                     const Caller& caller, runtime::VerbToken token) {
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
  if (lnet == nullptr && action == "exec") return wrong("this node has no LNet, which exec needs");
  const bool looks = action == "show" || action == "exec";
  if (lnet != nullptr && looks) {
    return look_at_named(node, *lnet, text, name, action == "exec", std::move(token));
  }
  const Settings now = node.settings();
  const ImportText asked{.text = text, .name = name, .options = options, .del = action == "del"};
  const auto wanted = wanted_settings(node, asked, now);
  if (!wanted) return token.finish(refuse(wanted.error(), true));
  if (looks) return token.finish(export_settings(node.schema(), now, runtime::ExportForm::kFull));
  if (args.value("plan", false)) {
    return reply_plan(node, lnet != nullptr, asked, *wanted, std::move(token));
  }
  carry_out_import(
      node, lnet,
      [&node, with_lnet = lnet != nullptr, asked](const Settings& present) {
        return read_import(node, with_lnet, asked, present);
      },
      caller, answer_of(with_notes(std::move(token), wanted->notes)));
}

void reload_settings(Node& node, lnet::Reply<void> done) {
  const Read read = [&node](const Settings& now) -> Outcome<Settings> {
    auto wanted = node.options().reread();
    if (!wanted) return wanted;
    wanted->lnet.routing = will_route(wanted->lnet);
    if (wanted->lnet == now.lnet) return wanted;
    if (auto judged = node.lnet().judge_change(wanted->lnet); !judged)
      return std::unexpected(std::move(judged.error().error));
    return wanted;
  };
  carry_out_import(node, &node.lnet(), read, {.uid = ::geteuid(), .pid = ::getpid()},
                   std::move(done));
}

void export_document(const Node& node, lnet::LnetControl* lnet, bool backup,
                     runtime::VerbToken token) {
  if (lnet == nullptr || backup) {
    const auto form = backup ? runtime::ExportForm::kBackup : runtime::ExportForm::kFull;
    return token.finish(export_settings(node.schema(), node.settings(), form));
  }
  Settings own = node.settings();
  own.lnet = {.module_options = lnet->config().module_options};
  runtime::export_running(*lnet, export_settings(node.schema(), own, runtime::ExportForm::kFull),
                          std::move(token));
}

}  // namespace plnet::node
