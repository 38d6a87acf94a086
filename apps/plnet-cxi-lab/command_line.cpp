// SPDX-License-Identifier: BSD-3-Clause
#include "apps/plnet-cxi-lab/command_line.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/manual/cli_page.hpp"

namespace plnet::cxi_lab {
namespace {

constexpr std::string_view kExec = "exec";

// CLI11 takes a word in brackets for a list of words. Such a word ends with a mark while it parses.
constexpr char kMark = '\x1f';
class MarkedWords {
 public:
  MarkedWords(int count, const char* const* words) : words_(words, words + count) {
    for (std::string& word : words_) {
      if (word.starts_with('[') && word.ends_with(']')) word += kMark;
      pointers_.push_back(word.c_str());
    }
  }
  [[nodiscard]] int count() const { return static_cast<int>(pointers_.size()); }
  [[nodiscard]] const char* const* words() const { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<const char*> pointers_;
};

void remove_marks(std::vector<std::string>& words) {
  for (std::string& word : words)
    if (word.ends_with(kMark)) word.pop_back();
}

struct ExecApp {
  CLI::App app{
      "Runs a command in another rank of the lab that this one is in: the process keeps its input, "
      "output and environment, and gets the NICs, network and variables of that rank.",
      "plnet-cxi-lab exec"};
  ExecLine line;
  bool as_ssh = false;
  bool without_x11 = false;

  ExecApp() {
    app.add_flag("--ssh", as_ssh,
                 "take the words, joined by spaces, as a command line of /bin/sh, as ssh does; for "
                 "launchers such as mpirun");
    app.add_flag("-x,--no-x11", without_x11, "ignored: launchers give it to ssh");
    app.add_option("RANK", line.host, "its number, host name (rank-1) or IP address")->required();
    app.add_option("COMMAND", line.command, "the program, and its arguments")->required();
    app.positionals_at_end();
  }
};

}  // namespace

bool is_exec(int count, const char* const* words) {
  return count > 1 && words[1] == kExec;
}

std::expected<ExecLine, node::EarlyEnd> parse_exec_line(int count, const char* const* words) {
  ExecApp exec;
  const MarkedWords marked(count - 1, words + 1);
  if (auto end = node::take_flags(exec.app, marked.count(), marked.words()))
    return std::unexpected(std::move(*end));
  remove_marks(exec.line.command);
  if (exec.as_ssh) {
    std::string text;
    for (const std::string& word : exec.line.command)
      text += (text.empty() ? "" : " ") + word;
    exec.line.command = {"/bin/sh", "-c", std::move(text)};
  }
  return std::move(exec.line);
}

std::expected<CommandLine, node::EarlyEnd> parse_command_line(int count, const char* const* words) {
  CLI::App app(
      "Runs a command several times on this host, each time as a rank with Slingshot NICs in "
      "software: libcxi.so.1, a fabric that all ranks share, and a network interface hsn0 for "
      "each NIC, in namespaces of its own.",
      "plnet-cxi-lab");
  CommandLine line;
  app.set_version_flag("--version", std::string("plnet-cxi-lab ") + PLNET_VERSION);
  app.add_option("-n,--nodes", line.nodes, "ranks, one on each node")
      ->capture_default_str()
      ->check(CLI::Range(1U, kNodesMax));
  app.add_option("--nics-per-rank", line.nics_per_rank, "NICs of each rank")
      ->capture_default_str()
      ->check(CLI::Range(1U, kNicsMax));
  app.add_option("--library", line.library, "libcxi.so.1 of plnet; without: that of this program")
      ->type_name("FILE");
  app.add_flag("--head", line.head,
               "run the command in rank 0 alone, with this program's input and output; the others "
               "wait for 'plnet-cxi-lab exec' and end with it");
  app.add_option("COMMAND", line.command, "the program that each rank runs, and its arguments")
      ->required();
  app.positionals_at_end();
  app.footer(
      "The command has CXI_LAB_RANK, CXI_LAB_NODES, CXI_LAB_ADDRESS (IP address of its hsn0) and "
      "CXI_LAB_ADDRESSES (of all ranks) in its environment. Each line of output begins with the "
      "number of the rank. A rank that ends leaves the others running; the exit status is the "
      "first one that is not 0, or 128 and the number of the signal. SIGINT, SIGTERM, SIGHUP, "
      "SIGUSR1 and SIGUSR2 go to all ranks. 'plnet-cxi-lab exec RANK COMMAND' runs a command in "
      "another rank; "
      "'plnet-cxi-lab exec --help' tells more.");
  manual::add_options(app);
  manual::ProgramPage page = manual::page_of(app, "plnet-cxi-lab");
  page.commands.push_back(manual::command_of(ExecApp().app, std::string(kExec)));
  if (auto text = manual::answer(page, count, words))
    return std::unexpected(node::EarlyEnd{0, std::move(*text)});
  const MarkedWords marked(count, words);
  if (auto end = node::take_flags(app, marked.count(), marked.words()))
    return std::unexpected(std::move(*end));
  remove_marks(line.command);
  return line;
}

}  // namespace plnet::cxi_lab
