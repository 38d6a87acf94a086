// SPDX-License-Identifier: BSD-3-Clause
#include "apps/plnet-cxi-lab/command_line.hpp"

#include <utility>

#include "apps/manual/cli_page.hpp"

namespace plnet::cxi_lab {

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
  app.add_option("COMMAND", line.command, "the program that each rank runs, and its arguments")
      ->required();
  app.positionals_at_end();
  app.footer(
      "The command has CXI_LAB_RANK, CXI_LAB_NODES, CXI_LAB_ADDRESS (IP address of its hsn0) and "
      "CXI_LAB_ADDRESSES (of all ranks) in its environment. Each line of output begins with the "
      "number of the rank. A rank that ends leaves the others running; the exit status is the "
      "first one that is not 0, or 128 and the number of the signal. SIGINT, SIGTERM and SIGHUP go "
      "to all ranks.");
  if (auto text = manual::answer(app, "plnet-cxi-lab", count, words))
    return std::unexpected(node::EarlyEnd{0, std::move(*text)});
  if (auto end = node::take_flags(app, count, words)) return std::unexpected(std::move(*end));
  return line;
}

}  // namespace plnet::cxi_lab
