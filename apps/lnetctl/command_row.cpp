// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/command_row.hpp"

#include "apps/lnetctl/option_parser.hpp"
#include "lib/runtime/control/verb_table.hpp"
#include "lib/runtime/control/yaml_printer.hpp"

namespace plnet::apps {

std::string Arguments::text(std::string_view name) const {
  const auto found = options.find(name);
  return found == options.end() ? std::string() : found->second;
}

std::optional<std::int64_t> Arguments::number(std::string_view name) const {
  const auto found = options.find(name);
  if (found == options.end()) return std::nullopt;
  return parse_c_number(found->second);
}

nlohmann::json args_by_name(const Arguments& arguments, const CommandRow& row) {
  nlohmann::json args = nlohmann::json::object();
  for (const OptionRow& option : row.verb.options) {
    if (option.local || !arguments.has(option.name)) continue;
    nlohmann::json& value = args[runtime::arg_name(option.name)];
    if (option.kind == OptionKind::kFlag) {
      value = true;
    } else if (option.kind == OptionKind::kNumber || option.kind == OptionKind::kLevel) {
      value = arguments.number(option.name).value_or(0);
    } else {
      value = arguments.text(option.name);
    }
  }
  const runtime::PositionalRow& positional = row.verb.positional;
  if (positional.arg.empty() || arguments.positional.empty()) return args;
  nlohmann::json& value = args[std::string(positional.arg)];
  if (positional.max == 1) {
    value = arguments.positional.front();
  } else {
    value = arguments.positional;
  }
  return args;
}

void print_text(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

int print_error(Session& session, const CommandRow& row, const runtime::VerbError& error) {
  Json list = Json::array();
  for (const runtime::VerbFault& fault : error.faults) {
    Json body = Json::object();
    if (fault.seq_no >= 0) body["seq_no"] = fault.seq_no;
    body["errno"] = runtime::wire_errno(fault.code);
    const bool says_where = fault.where.empty() || fault.what.starts_with(fault.where);
    body["descr"] = says_where ? fault.what : fault.where + ": " + fault.what;
    list.push_back(
        {{fault.entity.empty() ? std::string(row.verb.entity) : fault.entity, std::move(body)}});
  }
  print_text(session.err,
             runtime::print_yaml({{std::string(row.verb.operation), std::move(list)}}));
  return runtime::wire_errno(error.faults.front().code) & 0xff;
}

int print_result(Session& session, const CommandRow& row, const Json& result) {
  using enum runtime::VerbAnswer;
  if (session.json) {
    print_text(session.out, result.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } else if (row.print != nullptr) {
    print_text(session.out, row.print(result));
  } else if (row.verb.answer == kText && result.is_object() && result.contains("text")) {
    // Without comments: Prometheus has none behind a value.
    print_text(session.out, result["text"].get<std::string>());
  } else if (row.verb.answer == kNothing) {
    // On standard error, so that scripts find standard output empty as with the kernel's lnetctl.
    for (const Json& note :
         result.is_object() ? result.value("notes", Json::array()) : Json::array())
      print_text(session.err, note.get<std::string>() + "\n");
  } else {
    print_text(session.out, session.names.annotate(runtime::print_yaml(result, row.booleans)));
  }
  return 0;
}

}  // namespace plnet::apps
