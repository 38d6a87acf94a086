// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/verb_table.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/runtime/control/args_text.hpp"

namespace plnet::runtime {
namespace {

std::string_view kind_text(ArgKind kind) {
  switch (kind) {
    case ArgKind::kText: return "a string";
    case ArgKind::kNumber: return "a whole number";
    case ArgKind::kFlag: return "true or false";
    case ArgKind::kTexts: return "a list of strings";
    case ArgKind::kAny: break;
  }
  return "anything";
}

bool is_of_kind(const nlohmann::json& value, ArgKind kind) {
  switch (kind) {
    case ArgKind::kText: return value.is_string();
    case ArgKind::kNumber: return value.is_number_integer();
    case ArgKind::kFlag: return value.is_boolean();
    case ArgKind::kTexts:
      return value.is_array() &&
             std::ranges::all_of(value, [](const auto& item) { return item.is_string(); });
    case ArgKind::kAny: break;
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
  if (finish_) finish_(std::unexpected(VerbError(Error{Errc::kAborted, "given up by the node"})));
}

void VerbToken::finish(const VerbReply& reply) {
  PLNET_CHECK(finish_ != nullptr, "a request is answered once");
  std::exchange(finish_, nullptr)(reply);
}

void VerbTable::add(VerbRow row) {
  PLNET_CHECK(!row.verb.empty() && row.verb.size() <= kVerbLengthMax, "a verb has a bounded name");
  PLNET_CHECK((row.handler != nullptr) != (row.async_handler != nullptr),
              "a verb has one handler, at once or later");
  std::string verb = row.verb;
  const bool added = rows_.emplace(std::move(verb), std::move(row)).second;
  PLNET_CHECK(added, "a verb is added once");
}

const VerbRow* VerbTable::find(std::string_view verb) const {
  const auto found = rows_.find(verb);
  return found == rows_.end() ? nullptr : &found->second;
}

Outcome<void> check_args(const VerbRow& row, const nlohmann::json& args) {
  for (const auto& [name, value] : args.items()) {
    const auto known = std::ranges::find(row.args, name, &ArgRow::name);
    if (known == row.args.end()) {
      return failure(Errc::kInvalid, fmt::format("{}: unknown argument '{}'; expected {}", row.verb,
                                                 name, names_of(row.args)));
    }
    if (!is_of_kind(value, known->kind)) {
      return failure(Errc::kInvalid, fmt::format("{}: argument '{}' is a {}; expected {}", row.verb,
                                                 name, value.type_name(), kind_text(known->kind)));
    }
  }
  for (const ArgRow& arg : row.args) {
    if (arg.required && !args.contains(arg.name)) {
      return failure(Errc::kMissing, fmt::format("{}: argument '{}' is missing; expected {}",
                                                 row.verb, arg.name, kind_text(arg.kind)));
    }
  }
  return {};
}

// The answer may come when the request is gone. If the table is gone too, it is no success.
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
  const VerbRow* const row = find(request.verb);
  if (row != nullptr && row->access == VerbAccess::kChanges && audit_)
    finish = audited(*row, caller, request.args, std::move(finish));
  VerbToken token(std::move(finish));
  const auto refuse = [&token](Error error) {
    token.finish(std::unexpected(VerbError(std::move(error))));
  };
  if (row == nullptr) {
    return refuse({Errc::kNotSupported,
                   fmt::format("verb '{}' is not known to this node; lnetctl and the node may be "
                               "of different releases",
                               request.verb)});
  }
  if (row->access == VerbAccess::kChanges && !caller.may_change) {
    return refuse({Errc::kNotPermitted,
                   fmt::format("'{}' changes the node: user {} may only look; use root, the node's "
                               "own user, or a member of its control group",
                               request.verb, caller.uid)});
  }
  if (auto checked = check_args(*row, request.args); !checked) {
    return refuse(std::move(checked.error()));
  }
  // Handlers report by value; what a library still throws ends here rather than the node.
  VerbReply reply = std::unexpected(VerbError{});
  try {
    if (row->async_handler) return row->async_handler(request.args, caller, std::move(token));
    reply = row->handler(request.args, caller);
  } catch (const std::exception& error) {
    // An asynchronous handler has the token, whose end has answered.
    if (row->async_handler) return;
    reply = std::unexpected(
        VerbError(Error{Errc::kIo, fmt::format("'{}' failed: {}", request.verb, error.what())}));
  }
  token.finish(reply);
}

}  // namespace plnet::runtime
