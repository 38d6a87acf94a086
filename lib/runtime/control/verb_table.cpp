// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/verb_table.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/runtime/control/args_text.hpp"

namespace plnet::runtime {
namespace {

// An argument of a request.
struct ArgRow {
  std::string name;
  OptionKind kind;
  bool required;
};

std::vector<ArgRow> args_of(const VerbRow& row) {
  std::vector<ArgRow> args;
  if (const PositionalRow& positional = row.positional; !positional.arg.empty()) {
    const OptionKind kind = positional.max == 1 ? OptionKind::kText : OptionKind::kList;
    args.push_back({std::string(positional.arg), kind, positional.min > 0});
  }
  for (const OptionList* const list : {&row.options, &row.args}) {
    for (const OptionRow& option : *list)
      if (!option.local) args.push_back({arg_name(option.name), option.kind, option.required});
  }
  return args;
}

std::string_view kind_text(OptionKind kind) {
  using enum OptionKind;
  switch (kind) {
    case kText:
    case kTexts: return "a string";
    case kNumber:
    case kLevel: return "a whole number";
    case kFlag: return "true or false";
    case kList: return "a list of strings";
    case kAny: break;
  }
  return "anything";
}

bool is_of_kind(const nlohmann::json& value, OptionKind kind) {
  using enum OptionKind;
  switch (kind) {
    case kText:
    case kTexts: return value.is_string();
    case kNumber:
    case kLevel: return value.is_number_integer();
    case kFlag: return value.is_boolean();
    case kList:
      return value.is_array() &&
             std::ranges::all_of(value, [](const auto& item) { return item.is_string(); });
    case kAny: break;
  }
  return true;
}

std::string names_of(const std::vector<ArgRow>& rows) {
  if (rows.empty()) return "no argument";
  std::string names;
  for (const ArgRow& row : rows)
    names += (names.empty() ? "" : ", ") + row.name;
  return names;
}

}  // namespace

VerbToken::~VerbToken() {
  if (finish_)
    finish_(std::unexpected(VerbError(Error{Errc::kAborted, "the node dropped the request"})));
}

void VerbToken::finish(const VerbReply& reply) {
  PLNET_CHECK(finish_ != nullptr, "a request is answered once");
  std::exchange(finish_, nullptr)(reply);
}

std::string arg_name(std::string_view option) {
  std::string name(option);
  std::ranges::replace(name, '-', '_');
  return name;
}

void VerbTable::add(const VerbRow& row, VerbHandler handler) {
  insert({.row = row, .handler = std::move(handler)});
}

void VerbTable::add(const VerbRow& row, AsyncVerbHandler handler) {
  insert({.row = row, .async_handler = std::move(handler)});
}

void VerbTable::insert(Verb verb) {
  const std::string_view words = verb.row.words;
  PLNET_CHECK(!words.empty() && words.size() <= kVerbLengthMax, "a verb has a bounded name");
  PLNET_CHECK(verb.handler != nullptr || verb.async_handler != nullptr, "a verb has a handler");
  const bool added = verbs_.emplace(words, std::move(verb)).second;
  PLNET_CHECK(added, "a verb is added once");
}

const Verb* VerbTable::find(std::string_view words) const {
  const auto found = verbs_.find(words);
  return found == verbs_.end() ? nullptr : &found->second;
}

Outcome<void> check_args(const VerbRow& row, const nlohmann::json& args) {
  const std::vector<ArgRow> rows = args_of(row);
  for (const auto& [name, value] : args.items()) {
    const auto known = std::ranges::find(rows, name, &ArgRow::name);
    if (known == rows.end()) {
      return failure(Errc::kInvalid, fmt::format("{}: unknown argument '{}'; expected {}",
                                                 row.words, name, names_of(rows)));
    }
    if (!is_of_kind(value, known->kind)) {
      return failure(Errc::kInvalid,
                     fmt::format("{}: argument '{}' is a {}; expected {}", row.words, name,
                                 value.type_name(), kind_text(known->kind)));
    }
  }
  for (const ArgRow& arg : rows) {
    if (arg.required && !args.contains(arg.name)) {
      return failure(Errc::kMissing, fmt::format("{}: argument '{}' is missing; expected {}",
                                                 row.words, arg.name, kind_text(arg.kind)));
    }
  }
  return {};
}

// The answer may come after the request has ended. A missing table means failure.
VerbToken::Finish VerbTable::audited(const VerbRow& row, const Caller& caller,
                                     const nlohmann::json& args, VerbToken::Finish finish) const {
  return [this, &row, caller, text = args_text(args),
          finish = std::move(finish)](const VerbReply& reply) {
    if (reply) audit_(row, caller, text);
    finish(reply);
  };
}

void VerbTable::run(const ControlRequest& request, const Caller& caller,
                    VerbToken::Finish finish) const {
  const Verb* const verb = find(request.verb);
  const bool changes = verb != nullptr && verb->row.access == VerbAccess::kChanges;
  if (changes && audit_) finish = audited(verb->row, caller, request.args, std::move(finish));
  VerbToken token(std::move(finish));
  const auto refuse = [&token](Error error) {
    token.finish(std::unexpected(VerbError(std::move(error))));
  };
  if (verb == nullptr) {
    return refuse({Errc::kNotSupported,
                   fmt::format("verb '{}' is not known to this node; lnetctl and the node may be "
                               "of different releases",
                               request.verb)});
  }
  if (changes && !caller.may_change) {
    return refuse(
        {Errc::kNotPermitted,
         fmt::format("'{}' changes the node: user {} has read access only; use root, the node's "
                     "own user, or a member of its control group",
                     request.verb, caller.uid)});
  }
  if (auto checked = check_args(verb->row, request.args); !checked) {
    return refuse(std::move(checked.error()));
  }
  // Handlers report by value; exceptions of libraries end here instead of ending the node.
  VerbReply reply = std::unexpected(VerbError{});
  try {
    if (verb->async_handler) return verb->async_handler(request.args, caller, std::move(token));
    reply = verb->handler(request.args, caller);
  } catch (const std::exception& error) {
    // An asynchronous handler owns the token, whose destruction has answered.
    if (verb->async_handler) return;
    reply = std::unexpected(
        VerbError(Error{Errc::kIo, fmt::format("'{}' failed: {}", request.verb, error.what())}));
  }
  token.finish(reply);
}

}  // namespace plnet::runtime
