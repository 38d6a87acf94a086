// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/arguments.hpp"

#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lnetdump {

namespace {

constexpr int kWrong = 2;

struct Texts {
  std::vector<std::string> filters;
  std::vector<std::string> expression;
  std::string format;
  std::string chart;
  std::string colour = "auto";
  std::vector<std::string> local;
};

std::string footer() {
  std::string text = "Fields of filters:\n";
  for (const trace::Field& field : trace::filter_fields())
    text += fmt::format("  {:12} {}\n", field.name, field.help);
  text += "Words: put get ack reply send recv drop rpc selftest\n\nCodes of formats:\n";
  for (const trace::FormatCode& code : trace::format_codes())
    text += fmt::format("  %{:3} {}\n", code.code, code.help);
  text +=
      "\nExamples:\n"
      "  lnetdump -r eth0.pcap src 10.0.0.0/24@tcp and portal OST_IO and 'len > 4096'\n"
      "  lnetdump -r eth0.pcap -p '%-5c [%-15Lm] %-5Ls %-5Lt %-20LP [%-16Pj] %-30Po'\n"
      "  lnetdump -r eth0.pcap --filter msg_type=PUT,portal=MDS_REQUEST --json\n"
      "  lnetdump -r eth0.pcap --summary\n";
  return text;
}

void describe(CLI::App& app, Arguments& arguments, Texts& texts) {
  app.footer(footer());
  app.add_option("-r,--read", arguments.files, "read this pcap or pcapng file; - is standard input")
      ->allow_extra_args(false)
      ->required();
  app.add_option("expression", texts.expression, "show only messages that match");
  app.add_option("--filter", texts.filters, "as EXPRESSION; of several filters one has to match")
      ->allow_extra_args(false);
  app.add_option("-p,--print", texts.format, "print messages in this format");
  app.add_flag("--json", arguments.json, "print a JSON object for each message; tables as JSON");
  app.add_flag("-q,--quiet", arguments.quiet, "print no line for each message");
  app.add_option("--colour,--color", texts.colour, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_flag("--summary", arguments.summary, "print tables of nodes, portals and operations");
  app.add_flag("--metrics", arguments.metrics, "print the same as Prometheus text");
  app.add_option("--chart", texts.chart, "draw a sequence chart: text, mermaid or html")
      ->check(CLI::IsMember({"text", "mermaid", "html"}));
  app.add_option("-w,--write", arguments.write,
                 "write matching messages to this pcapng file; - is standard output");
  app.add_flag("--pcap-tcp", arguments.as_tcp,
               "with -w: as TCP segments, for tools that do not read exported PDUs");
  app.add_option("-c,--count", arguments.count_max, "end after so many matching messages");
  app.add_option("--first", arguments.first_number, "number of the first message")
      ->capture_default_str();
  app.add_option("-s,--snap", arguments.snap_bytes, "keep so many bytes of a payload")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--port", arguments.port, "TCP port of socklnd")->capture_default_str();
  app.add_option("--local", texts.local,
                 "NIDs of the node that captured: its messages are SEND, others RECV")
      ->allow_extra_args(false)
      ->delimiter(',');
}

Outcome<void> interpret(const Texts& texts, Arguments& arguments) {
  // Several --filter: one has to match; the words of the command line have to match as well.
  std::string any;
  for (const std::string& filter : texts.filters) {
    const auto alone = trace::Expression::parse(filter);
    if (!alone) return std::unexpected(alone.error());
    if (!alone->is_empty()) any += (any.empty() ? "(" : " or (") + filter + ")";
  }
  std::string words;
  for (const std::string& word : texts.expression)
    words += (words.empty() ? "" : " ") + word;
  const auto alone = trace::Expression::parse(words);
  if (!alone) return std::unexpected(alone.error());
  const bool both = !any.empty() && !alone->is_empty();
  auto filter = trace::Expression::parse(both ? "(" + any + ") and (" + words + ")" : any + words);
  if (!filter) return std::unexpected(filter.error());
  arguments.filter = std::move(*filter);

  if (!texts.format.empty()) {
    auto format = trace::Format::parse(texts.format);
    if (!format) return std::unexpected(format.error());
    arguments.format = std::move(*format);
  }
  for (const std::string& text : texts.local) {
    const auto nid = lnet::parse_nid(text);
    if (!nid) return std::unexpected(nid.error());
    arguments.local.push_back(*nid);
  }
  if (texts.chart == "text") arguments.chart = ChartKind::kText;
  if (texts.chart == "mermaid") arguments.chart = ChartKind::kMermaid;
  if (texts.chart == "html") arguments.chart = ChartKind::kHtml;
  arguments.colour =
      texts.colour == "always" || (texts.colour == "auto" && isatty(STDOUT_FILENO) == 1);
  // Documents and files stand alone unless lines are asked for.
  const bool lines = arguments.json || arguments.format.has_value();
  const bool document = arguments.summary || arguments.metrics || arguments.chart.has_value();
  arguments.quiet |= document || (arguments.write == "-" || (!arguments.write.empty() && !lines));
  return {};
}

}  // namespace

std::expected<Arguments, int> parse_arguments(int argc, const char* const* argv, std::FILE* out,
                                              std::FILE* error) {
  Arguments arguments;
  Texts texts;
  CLI::App app("lnetdump: shows what LNet carries, down to the Lustre RPC", "lnetdump");
  describe(app, arguments, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print(out, "{}", app.help());
    return std::unexpected(0);
  } catch (const CLI::ParseError& wrong) {
    fmt::print(error, "lnetdump: {}\nTry: lnetdump --help\n", wrong.what());
    return std::unexpected(kWrong);
  }
  if (const auto done = interpret(texts, arguments); !done) {
    fmt::print(error, "lnetdump: {}\nTry: lnetdump --help\n", done.error().what);
    return std::unexpected(kWrong);
  }
  return arguments;
}

}  // namespace plnet::lnetdump
