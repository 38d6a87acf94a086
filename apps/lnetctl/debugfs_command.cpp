// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl debugfs`: what scripts read below /sys/kernel/debug/lnet on a kernel's node, printed or
// written to a directory.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "apps/lnetctl/commands.hpp"
#include "lib/runtime/files/text_file.hpp"

namespace plnet::apps {
namespace {

constexpr std::array<std::string_view, 7> kFiles{"stats",   "nis",    "peers",           "buffers",
                                                 "routers", "routes", "lnet_lnd_timeout"};
constexpr mode_t kDirectoryMode = 0755;

Outcome<void> write_to(const std::string& directory, const std::string& name,
                       const std::string& text) {
  (void)::mkdir(directory.c_str(), kDirectoryMode);  // if it cannot be had, writing says so
  return runtime::write_file(directory + '/' + name, text);
}

}  // namespace

int run_debugfs(const Arguments& arguments, const CommandRow& row, Session& session) {
  std::vector<std::string> names = arguments.positional;
  if (names.empty()) names.assign(kFiles.begin(), kFiles.end());
  const bool listed = arguments.positional.empty() && !arguments.has("dir");
  if (listed) {
    for (const std::string& name : names)
      print_text(session.out, name + "\n");
    return 0;
  }
  std::vector<std::string> texts;  // all of them before anything is written
  for (const std::string& name : names) {
    const auto reply = session.ask("debugfs", {{"file", name}});
    if (!reply) return print_error(session, row, reply.error());
    texts.push_back((*reply)["text"].get<std::string>());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!arguments.has("dir")) {
      print_text(session.out, texts[i]);
      continue;
    }
    const auto written = write_to(arguments.text("dir"), names[i], texts[i]);
    if (!written) return print_error(session, row, written.error());
  }
  return 0;
}

}  // namespace plnet::apps
