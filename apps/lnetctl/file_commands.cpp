// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl import` and `lnetctl export`: the commands that read and write files. The text goes to
// the node as it is; the node reads it, so that errors come with line and column from one place.

#include <fmt/format.h>

#include "apps/lnetctl/commands.hpp"
#include "apps/lnetctl/routes_file.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "lib/runtime/files/text_file.hpp"

namespace plnet::apps {
namespace {

constexpr Duration kExecPatience = std::chrono::hours(1);

// JSON carries nothing else.
bool is_utf8(const std::string& text) {
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

}  // namespace

int run_import(const Arguments& arguments, const CommandRow& row, Session& session) {
  CommandRow said = row;  // errors name what was really asked
  if (arguments.has("del")) said.verb.operation = "del";
  if (arguments.has("show")) said.verb.operation = "show";
  if (arguments.has("exec")) said.verb.operation = "exec";
  const int actions =
      arguments.has("add") + arguments.has("del") + arguments.has("show") + arguments.has("exec");
  if (actions > 1) {
    return print_error(
        session, said,
        Error{Errc::kInvalid, "import: expected one of --add, --del, --show and --exec"});
  }
  const bool from_file = !arguments.positional.empty();
  const std::string name = from_file ? arguments.positional[0] : "<stdin>";
  auto text = from_file ? runtime::read_file(name) : runtime::read_all(session.in, name);
  if (!text) return print_error(session, said, std::move(text.error()));
  if (!is_utf8(*text)) {
    return print_error(session, said,
                       Error{Errc::kMalformed, fmt::format("'{}' is not text in UTF-8", name)});
  }
  if (!arguments.has("options") && is_routes_file(*text)) {
    text = document_of_routes(*text, name);
    if (!text) return print_error(session, said, std::move(text.error()));
  }
  nlohmann::json args = args_by_name(arguments, row);
  args.update({{"text", std::move(*text)}, {"name", name}, {"action", said.verb.operation}});
  // Pings and discoveries one after the other, each bounded by the node.
  session.patience = arguments.has("exec") ? kExecPatience : runtime::kChangePatience;
  auto reply = session.ask("import", args);
  session.patience = {};
  if (!reply) return print_error(session, said, reply.error());
  if (!session.json && reply->is_object() && reply->contains("notes")) {
    print_text(session.err, runtime::print_yaml({{"notes", (*reply)["notes"]}}));
    reply->erase("notes");
  }
  const bool silent = reply->is_null() || reply->empty();
  return silent && !session.json ? 0 : print_result(session, said, *reply);
}

int run_export(const Arguments& arguments, const CommandRow& row, Session& session) {
  const auto reply = session.ask(row.verb.words, args_by_name(arguments, row));
  if (!reply) return print_error(session, row, reply.error());
  if (session.json) return print_result(session, row, *reply);
  const bool is_text =
      reply->is_object() && reply->contains("text") && (*reply)["text"].is_string();
  const std::string text =
      is_text ? (*reply)["text"].get<std::string>() : runtime::print_yaml(*reply);
  if (arguments.positional.empty()) {
    print_text(session.out, text);
    return 0;
  }
  const auto written = runtime::write_file(arguments.positional[0], text);
  return written ? 0 : print_error(session, row, written.error());
}

}  // namespace plnet::apps
