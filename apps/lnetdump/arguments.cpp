// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/arguments.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "apps/lnetdump/analyze.hpp"
#include "apps/lnetdump/diff.hpp"
#include "apps/lnetdump/lnetdump.hpp"
#include "apps/lnetdump/program_file.hpp"
#include "apps/manual/cli_page.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/control/access.hpp"

namespace plnet::lnetdump {

namespace {

struct Texts {
  std::vector<std::string> filters;
  std::vector<std::string> expression;
  std::string format;
  std::string chart;
  std::string colour = "auto";
  std::vector<std::string> local;
  std::string instance = "control";
  std::string keep = "newest";
  std::string program;  // a file
  std::vector<std::string> assertions;
  std::string record;
  std::optional<std::size_t> snap;
  bool no_payload = false;
  std::optional<double> seconds;
  std::optional<double> top;
  unsigned settle_ms = 200;
};

// True if a command follows the options.
bool runs_command(int argc, const char* const* argv) {
  return std::any_of(argv, argv + argc, [](std::string_view word) {
    return word.starts_with("--assert") || word.starts_with("--record");
  });
}

std::string footer() {
  std::string text = "Fields of filters:\n";
  for (const trace::Field& field : trace::filter_fields())
    text += fmt::format("  {:12} {}\n", field.name, field.help);
  text += "Words: put get ack reply send recv drop rpc selftest\n\nCodes of formats:\n";
  for (const trace::FormatCode& code : trace::format_codes())
    text += fmt::format("  %{:3} {}\n", code.code, code.help);
  text += "\nAssertions: " + trace::Assertion::names() +
          "\n"
          "\nCommands of their own:\n"
          "  lnetdump analyze FILE...  summarises large captures on all CPUs\n"
          "  lnetdump diff A B         compares what two runs of a command have sent (--record)\n"
          "\nExamples:\n"
          "  lnetdump src 10.0.0.0/24@tcp and portal OST_IO\n"
          "  lnetdump --ssh oss7 -w oss7.pcapng\n"
          "  lnetdump --kernel --summary --seconds 10\n"
          "  lnetdump --filter msg_type=PUT,portal=MDS_REQUEST --assert count=4 ls /mnt/lustre\n"
          "  lnetdump -r eth0.pcap src 10.0.0.0/24@tcp and portal OST_IO and 'len > 4096'\n"
          "  lnetdump -r eth0.pcap -p '%-5c [%-15Lm] %-5Ls %-5Lt %-20LP [%-16Pj] %-30Po'\n"
          "  lnetdump -r eth0.pcap --filter msg_type=PUT,portal=MDS_REQUEST --json\n"
          "  lnetdump -r eth0.pcap --summary\n";
  return text;
}

void describe_sources(CLI::App& app, Arguments& arguments, Texts& texts) {
  app.add_option("-r,--read", arguments.files,
                 "read this pcap or pcapng file; - is standard input. Without it: capture on a "
                 "node")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--instance", texts.instance, "the node of this name on this machine")
      ->capture_default_str();
  app.add_option("--socket", arguments.live.socket, "the node with this control socket")
      ->type_name("PATH");
  app.add_option("--ssh", arguments.ssh_host, "a node on another machine, by way of ssh");
  app.add_flag("--kernel", arguments.live.of_kernel,
               "the kernel's LNet on this machine, by probes; headers of messages, no payloads");
  app.add_option("--lnet-btf", arguments.live.lnet_btf,
                 "with --kernel: types of the module lnet, as pahole writes them, if the kernel "
                 "has none")
      ->type_name("FILE");
  app.add_option("--bpf", texts.program,
                 "a program of eBPF instructions as filter: an object file of clang, or raw")
      ->type_name("FILE");
  app.add_option("--keep", texts.keep, "without room keep the newest or the oldest messages")
      ->check(CLI::IsMember({"newest", "oldest"}))
      ->capture_default_str();
  app.add_option("--ring", arguments.live.ring_kib, "KiB of memory for each shard of the node")
      ->check(CLI::Range(64, 1 << 20))
      ->capture_default_str();
  app.add_flag("--states", arguments.live.states,
               "also a line when a message begins to wait (for a buffer, a credit, its match and "
               "so on), and when its wait is over");
  app.add_flag("--no-payload", texts.no_payload, "capture headers only; the same as -s 0");
  app.add_option("--seconds", texts.seconds, "end after this time")->check(CLI::PositiveNumber);
}

void describe_experiments(CLI::App& app, Arguments& arguments, Texts& texts) {
  app.add_option("--assert", texts.assertions,
                 "a condition to check at the end, as in count=4; after the options follows a "
                 "command that runs during the capture")
      ->allow_extra_args(false);
  app.add_option("--record", texts.record,
                 "write what COMMAND causes to this file, for lnetdump diff A B")
      ->type_name("FILE");
  app.add_option("--junit", arguments.junit, "write the assertions as JUnit XML to this file")
      ->type_name("FILE");
  app.add_option("--settle", texts.settle_ms,
                 "milliseconds that the capture goes on when COMMAND has ended")
      ->check(CLI::Range(0, 600000))
      ->capture_default_str();
}

void describe(CLI::App& app, Arguments& arguments, Texts& texts) {
  app.footer(footer());
  describe_sources(app, arguments, texts);
  describe_experiments(app, arguments, texts);
  app.add_option("--filter", texts.filters, "as EXPRESSION; of several filters one has to match")
      ->allow_extra_args(false);
  app.add_option("-p,--print", texts.format, "print messages in this format");
  app.add_flag("--json", arguments.json, "print a JSON object for each message; tables as JSON");
  app.add_flag("-q,--quiet", arguments.quiet, "print no line for each message");
  app.add_option("--colour,--color", texts.colour, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_flag("--summary", arguments.summary, "print tables of nodes, portals and operations");
  app.add_flag("--metrics", arguments.metrics, "print the same as Prometheus text");
  app.add_option("--top", texts.top, "print the summary of the last SECONDS repeatedly")
      ->check(CLI::PositiveNumber);
  app.add_option("--chart", texts.chart, "draw a sequence chart: text, mermaid or html")
      ->check(CLI::IsMember({"text", "mermaid", "html"}));
  app.add_option("-w,--write", arguments.write,
                 "write matching messages to this pcapng file; - is standard output")
      ->type_name("FILE");
  app.add_flag("--pcap-tcp", arguments.as_tcp,
               "with -w: as TCP segments, for tools that do not read exported PDUs");
  app.add_option("-c,--count", arguments.count_max, "end after this number of matching messages");
  app.add_option("--first", arguments.first_number, "number of the first message")
      ->capture_default_str();
  app.add_option("-s,--snap", texts.snap,
                 "keep this number of bytes of a payload (files: 65536; a node: 512, at most 4096)")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--port", arguments.port, "TCP port of socklnd")->capture_default_str();
  app.add_option("--local", texts.local,
                 "NIDs of the node that captured: its messages are SEND, others RECV")
      ->type_name("NID")
      ->allow_extra_args(false)
      ->delimiter(',');
}

// At least one --filter must match; the words of the command line must match as well.
Outcome<void> take_filter(const Texts& texts, Arguments& arguments) {
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
  arguments.live.filter = both ? "(" + any + ") and (" + words + ")" : any + words;
  auto filter = trace::Expression::parse(arguments.live.filter);
  if (!filter) return std::unexpected(filter.error());
  arguments.filter = std::move(*filter);
  return {};
}

Duration duration_of(double seconds) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::min(seconds, 1e9)));
}

Outcome<void> check_kernel_words(const Texts& texts, const Arguments& arguments) {
  const LiveOptions& live = arguments.live;
  if (!live.of_kernel) {
    if (live.lnet_btf.empty()) return {};
    return failure(Errc::kInvalid, "--lnet-btf is for the kernel's LNet: use --kernel too");
  }
  if (!arguments.is_live() || !live.socket.empty() || !texts.program.empty()) {
    return failure(Errc::kInvalid, "--kernel cannot be together with -r, --socket or --bpf");
  }
  return {};
}

Outcome<void> take_source(const Texts& texts, Arguments& arguments) {
  LiveOptions& live = arguments.live;
  if (auto checked = check_kernel_words(texts, arguments); !checked) return checked;
  if (live.states && (!arguments.is_live() || live.of_kernel || !arguments.ssh_host.empty())) {
    return failure(Errc::kInvalid,
                   "--states shows waits in a node on this machine: it cannot be together with -r, "
                   "--kernel or --ssh");
  }
  if (!arguments.is_live()) {
    if (!texts.program.empty()) {
      return failure(Errc::kInvalid, "--bpf filters in a node; with -r use an expression");
    }
    if (!arguments.command.empty()) {
      return failure(Errc::kInvalid, "a command runs while a node is captured, not with -r");
    }
  }
  arguments.snap_bytes = texts.snap.value_or(arguments.snap_bytes);
  live.snap_bytes =
      std::min<std::size_t>(texts.snap.value_or(live.snap_bytes), trace::kRingSnapMax);
  if (texts.no_payload) arguments.snap_bytes = live.snap_bytes = 0;
  live.keep = texts.keep == "oldest" ? trace::Keep::kOldest : trace::Keep::kNewest;
  if (!texts.program.empty()) {
    auto program = read_program(texts.program);
    if (!program) return std::unexpected(program.error());
    live.program = std::move(*program);
  }
  if (live.socket.empty()) {
    auto path = runtime::control_socket_path(texts.instance);
    if (!path) return std::unexpected(path.error());
    live.socket = std::move(*path);
  }
  if (texts.seconds) arguments.end_after = duration_of(*texts.seconds);
  return {};
}

Outcome<void> take_experiment(const Texts& texts, Arguments& arguments) {
  for (const std::string& text : texts.assertions) {
    auto assertion = trace::Assertion::parse(text);
    if (!assertion) return std::unexpected(assertion.error());
    arguments.assertions.push_back(std::move(*assertion));
  }
  if (!texts.record.empty()) {
    if (!arguments.write.empty()) {
      return failure(Errc::kInvalid, "--record and -w both write; use one of them");
    }
    arguments.write = texts.record;
  }
  if (!arguments.junit.empty() && arguments.assertions.empty()) {
    return failure(Errc::kInvalid, "--junit is for assertions: use --assert too");
  }
  arguments.settle = std::chrono::milliseconds(texts.settle_ms);
  return {};
}

Outcome<void> interpret(const Texts& texts, Arguments& arguments) {
  for (const auto take : {take_filter, take_source, take_experiment}) {
    if (auto taken = take(texts, arguments); !taken) return taken;
  }
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
  if (texts.top) arguments.top = duration_of(*texts.top);
  arguments.colour =
      texts.colour == "always" || (texts.colour == "auto" && isatty(STDOUT_FILENO) == 1);
  // With documents, files or assertions, lines are printed on request only.
  const bool lines = arguments.json || arguments.format.has_value();
  const bool document =
      arguments.summary || arguments.metrics || arguments.top || arguments.chart.has_value();
  const bool elsewhere = !arguments.write.empty() || !arguments.assertions.empty();
  arguments.quiet |= document || arguments.write == "-" || (elsewhere && !lines);
  return {};
}

// The text of --print-manual or --completion.
std::optional<std::string> answer_of(CLI::App& app, int argc, const char* const* argv) {
  manual::add_options(app);
  manual::ProgramPage page = manual::page_of(app, "lnetdump");
#ifdef PLNET_HAS_TBB
  page.commands.push_back(analyze_page());
#endif
  page.commands.push_back(diff_page());
  return manual::answer(page, argc, argv);
}

}  // namespace

std::expected<Arguments, int> parse_arguments(int argc, const char* const* argv, std::FILE* out,
                                              std::FILE* error) {
  Arguments arguments;
  Texts texts;
  CLI::App app("lnetdump: shows messages of LNet, down to the Lustre RPC", "lnetdump");
  const bool runs = runs_command(argc, argv);
  if (runs) {
    app.prefix_command();
  } else {
    app.add_option("expression", texts.expression, "show only messages that match");
  }
  describe(app, arguments, texts);
  if (const auto text = answer_of(app, argc, argv)) {
    fmt::print(out, "{}", *text);
    return std::unexpected(0);
  }
  try {
    app.parse(argc, argv);
    if (runs) arguments.command = app.remaining();
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
