// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/from_config_command.hpp"

#include <fmt/format.h>

#include "apps/lnet-sim/adopt/site_text.hpp"
#include "apps/lnet-sim/plan/site_reader.hpp"
#include "lib/base/joined.hpp"

namespace plnet::sim {

namespace {

constexpr int kWrongFiles = 2;

bool read_files(const std::vector<std::string>& words, bool servers, std::vector<ConfigFile>& files,
                std::FILE* error) {
  bool well = true;
  for (const std::string& word : words) {
    auto file = read_config_file(word);
    if (file) {
      file->is_server = servers;
      files.push_back(std::move(*file));
    } else {
      fmt::print(error, "{}\n", file.error());
      well = false;
    }
  }
  return well;
}

std::string command_of(const FromConfigArguments& arguments) {
  return fmt::format("lnet-sim from-config {}{}{}", joined(arguments.nodes, " "),
                     arguments.servers.empty() ? "" : " --servers ",
                     joined(arguments.servers, " "));
}

}  // namespace

CLI::App* add_from_config(CLI::App& app, FromConfigArguments& arguments) {
  CLI::App* const command = app.add_subcommand(
      "from-config", "print the site file of an existing network, from files of its nodes");
  command
      ->add_option(
          "nodes", arguments.nodes,
          "FILE[:COUNT][=NID,NID]: configurations of clients and routers, each of one node "
          "or of COUNT equal nodes: YAML of lnet-router or of a kernel's `lnetctl export`, "
          "or modprobe.d; FILE+FILE joins two of one node, and NIDs may follow where no "
          "file has them")
      ->required();
  command->add_option("--servers", arguments.servers, "the same, of nodes that answer the clients")
      ->type_name("FILE[:COUNT]")
      ->expected(1, -1);
  command->add_option("--name", arguments.name, "of the site")->capture_default_str();
  return command;
}

int run_from_config(const FromConfigArguments& arguments, std::FILE* out, std::FILE* error) {
  std::vector<ConfigFile> files;
  const bool clients = read_files(arguments.nodes, false, files, error);
  if (!read_files(arguments.servers, true, files, error) || !clients) return kWrongFiles;
  auto adopted = adopt(files);
  if (!adopted) {
    fmt::print(error, "lnet-sim: {}\n", adopted.error());
    return kWrongFiles;
  }
  adopted->site.name = arguments.name;
  const std::string text = site_text(*adopted, command_of(arguments));
  // A site that lnet-sim cannot run is not written.
  if (const auto read = read_site(text, "site"); !read) {
    fmt::print(error, "lnet-sim: the files make no site that can be run:\n{}\n",
               read.error().text());
    return kWrongFiles;
  }
  for (const std::string& note : adopted->notes)
    fmt::print(error, "lnet-sim: not carried over, or assumed: {}\n", note);
  fmt::print(out, "{}", text);
  return 0;
}

}  // namespace plnet::sim
