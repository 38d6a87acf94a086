// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/command_row.hpp"

#include "apps/lnetctl/option_parser.hpp"
#include "lib/runtime/control/yaml_printer.hpp"

namespace plnet::apps {

namespace {

std::string lower_name(std::string_view positional) {
  std::string name;
  for (const char c : positional) {
    if (c >= 'A' && c <= 'Z') name += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') name += c;
    if (c == ' ') break;
  }
  return name;
}

}  // namespace

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
  for (const OptionRow& option : row.options) {
    if (!arguments.has(option.name)) continue;
    std::string name(option.name);
    std::ranges::replace(name, '-', '_');
    switch (option.kind) {
      case OptionKind::kFlag: args[name] = true; break;
      case OptionKind::kText:
      case OptionKind::kTexts: args[name] = arguments.text(option.name); break;
      case OptionKind::kNumber:
      case OptionKind::kLevel: args[name] = arguments.number(option.name).value_or(0); break;
    }
  }
  if (!arguments.positional.empty()) {
    const std::string name = lower_name(row.positional);
    if (row.positional_max == 1) {
      args[name] = arguments.positional.front();
    } else {
      args[name] = arguments.positional;
    }
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
        {{fault.entity.empty() ? std::string(row.entity) : fault.entity, std::move(body)}});
  }
  print_text(session.err, runtime::print_yaml({{std::string(row.operation), std::move(list)}}));
  return runtime::wire_errno(error.faults.front().code) & 0xff;
}

int print_result(Session& session, const CommandRow& row, const Json& result) {
  if (session.json) {
    print_text(session.out, result.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    // What is printed in a form of its own need not know comments: Prometheus has none behind a
    // value.
    print_text(session.out, row.print != nullptr
                                ? row.print(result)
                                : session.names.annotate(runtime::print_yaml(result)));
  }
  return 0;
}

}  // namespace plnet::apps
