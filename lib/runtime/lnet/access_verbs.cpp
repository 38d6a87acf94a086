// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl access`: the rules in their order, by index. Arguments have the names and forms of a
// document (config/access_schema.hpp).
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/runtime/config/lnet_schema.hpp"
#include "lib/runtime/config/settings_export.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"

namespace plnet::runtime {
namespace {

using lnet::AccessAction;
using lnet::AccessRule;
using lnet::AccessUse;
using lnet::LnetControl;

struct AccessToAdd {
  AccessRule rule;
  std::optional<std::size_t> at;
};

// The word with that name, or `otherwise` if the argument is missing.
template <class Word>
Outcome<Word> word_arg(const VerbArgs& args, const char* name, std::span<const Word> words,
                       std::optional<Word> otherwise) {
  const std::string text = text_arg(args, name);
  if (text.empty() && otherwise) return *otherwise;
  std::string known;
  for (const Word word : words) {
    if (name_of(word) == text) return word;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(word));
  }
  return failure(text.empty() ? Errc::kMissing : Errc::kInvalid,
                 fmt::format("--{}: expected one of {}", name, known));
}

// A missing argument means all; an empty one is an unset variable of a script.
Outcome<void> check_not_empty(const VerbArgs& args) {
  for (const char* const name : {"source", "dest", "from", "to"}) {
    if (!args.contains(name) || !text_arg(args, name).empty()) continue;
    return failure(Errc::kInvalid,
                   fmt::format("--{}: nothing, expected a list; leave it out for all", name));
  }
  return {};
}

Outcome<AccessToAdd> access_to_add(const VerbArgs& args) {
  if (auto given = check_not_empty(args); !given) return std::unexpected(std::move(given.error()));
  static constexpr std::array kActions{AccessAction::kAllow, AccessAction::kDeny};
  static constexpr std::array kUses{AccessUse::kAll, AccessUse::kConnect, AccessUse::kForward};
  const auto action = word_arg<AccessAction>(args, "action", kActions, std::nullopt);
  if (!action) return std::unexpected(action.error());
  const auto use = word_arg<AccessUse>(args, "for", kUses, AccessUse::kAll);
  if (!use) return std::unexpected(use.error());
  const auto at = number_arg(args, "idx", 0, lnet::kAccessRulesMax);
  if (!at) return std::unexpected(at.error());
  AccessToAdd wanted{.rule = {.action = *action, .use = *use}, .at = std::nullopt};
  if (auto taken = take_texts(args, access_keys(), &wanted.rule); !taken)
    return std::unexpected(std::move(taken.error()));
  if (const auto& given = *at) wanted.at = static_cast<std::size_t>(*given);
  return wanted;
}

Outcome<std::optional<std::size_t>> access_to_delete(const VerbArgs& args) {
  const auto at = number_arg(args, "idx", 0, lnet::kAccessRulesMax);
  if (!at) return std::unexpected(at.error());
  const auto& given = *at;
  const bool all = flag_arg(args, "all");
  if (all == given.has_value()) return failure(Errc::kMissing, "expected --idx or --all");
  if (all) return std::nullopt;
  return static_cast<std::size_t>(*given);
}

Json access_to_json(std::span<const lnet::AccessReport> reports) {
  Json list = Json::array();
  for (const lnet::AccessReport& report : reports) {
    Json line{{"idx", list.size()}};
    line.update(export_keys(access_keys(), &report.rule, ExportForm::kBackup));
    line["matched"] = report.matched;
    if (report.rule.action == AccessAction::kDeny) {
      line["refused connections"] = report.connections;
      line["dropped messages"] = report.matched - report.connections;
    }
    list.push_back(std::move(line));
  }
  return document_of("access", std::move(list));
}

}  // namespace

void add_access_verbs(VerbTable& verbs, LnetControl& control) {
  verbs.add(kLnetVerbs["access add"],
            judged(access_to_add, [&control](AccessToAdd wanted, VerbToken token) {
              control.add_access(std::move(wanted.rule), wanted.at, silent(std::move(token)));
            }));
  verbs.add(kLnetVerbs["access del"],
            judged(access_to_delete, [&control](std::optional<std::size_t> at, VerbToken token) {
              control.del_access(at, silent(std::move(token)));
            }));
  verbs.add(kLnetVerbs["access show"], [&control](const VerbArgs&, const Caller&, VerbToken token) {
    control.access(printed<std::vector<lnet::AccessReport>>(
        std::move(token), [](const auto& reports) { return access_to_json(reports); }));
  });
}

}  // namespace plnet::runtime
