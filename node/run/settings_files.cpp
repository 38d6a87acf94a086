// SPDX-License-Identifier: BSD-3-Clause
#include "node/run/settings_files.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include "lib/runtime/config/module_options.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "node/admin/lnet_wanted.hpp"
#include "node/host/machine.hpp"
#include "node/host/ni_resolver.hpp"
#include "node/host/useless_option.hpp"
#include "node/net/families.hpp"
#include "node/net/family_facts.hpp"

namespace plnet::node {
namespace {

Outcome<std::string> read_file(const std::string& path) {
  constexpr std::size_t kBytesMax = runtime::kRequestBytesMax;  // the limit of `lnetctl import`
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  std::string text;
  std::array<char, 65536> piece{};
  while (file && std::feof(file.get()) == 0 && std::ferror(file.get()) == 0) {
    text.append(piece.data(), std::fread(piece.data(), 1, piece.size(), file.get()));
    if (text.size() <= kBytesMax) continue;
    return failure(Errc::kTooBig, "'" + path + "' is too long, expected at most " +
                                      std::to_string(kBytesMax >> 20U) + " MiB");
  }
  if (file && std::ferror(file.get()) == 0) return text;
  const int number = errno;
  return failure(errc_of_errno(number),
                 "cannot read '" + path + "': " + std::generic_category().message(number));
}

Outcome<void> read_options(const SettingsFiles& files, runtime::Settings& settings) {
  const std::string& path = files.options;
  const auto text = read_file(path);
  if (!text) return std::unexpected(text.error());
  auto read = runtime::read_module_options(*text, path);
  if (!read) return std::unexpected(read.error().to_error());
  for (const std::string& note : read->notes)
    std::fprintf(stderr, "%s: %s\n", files.program.c_str(), note.c_str());
  apply(std::move(*read), settings);
  return {};
}

// Reads the flag as a line of modprobe.d, with the flag's name as the file's.
Outcome<void> read_flag(std::string_view name, const std::string& value,
                        runtime::Settings& settings) {
  if (value.empty()) return {};
  const std::string flag = "--" + std::string(name);
  if (value.find_first_of("\"\\\n#") != std::string::npos)
    return failure(Errc::kInvalid, flag + ": quotes, backslashes, '#' and new lines have no place");
  const std::string line = "options lnet " + std::string(name) + "=\"" + value + "\"\n";
  // The networks of the files, in any form, are replaced.
  settings.lnet.nets.clear();
  settings.lnet.ip2nets.clear();
  settings.lnet.ip2nets_text.clear();
  auto read = runtime::read_module_options(line, flag, settings.lnet);
  if (!read) return std::unexpected(read.error().to_error());
  settings.lnet = std::move(read->config);
  return {};
}

}  // namespace

Outcome<runtime::IdlePolicy> parse_idle_flag(const std::string& text) {
  if (const auto idle = runtime::parse_idle_policy(text)) return *idle;
  return failure(Errc::kInvalid,
                 "--idle '" + text + "': expected auto, busy, pause, yield or sleep");
}

Outcome<runtime::Settings> read_settings_files(const SettingsFiles& files) {
  runtime::Settings settings;
  if (!files.options.empty()) {
    if (auto read = read_options(files, settings); !read) {
      return std::unexpected(read.error());
    }
  }
  if (!files.config.empty()) {
    const auto text = read_file(files.config);
    if (!text) return std::unexpected(text.error());
    const auto read =
        runtime::read_settings(runtime::Schema(family_sections()), *text, files.config, settings);
    if (!read) return std::unexpected(read.error().to_error());
    settings = *read;
  }
  for (const std::string& note :
       notes_of_useless_options(network_families(), settings.lnet, lnet::NodeConfig{}))
    std::fprintf(stderr, "%s: %s\n", files.program.c_str(), note.c_str());
  if (!files.networks.empty() && !files.ip2nets.empty())
    return failure(Errc::kInvalid, "--networks or --ip2nets, expected one of them");
  if (auto read = read_flag("networks", files.networks, settings); !read)
    return std::unexpected(read.error());
  if (auto read = read_flag("ip2nets", files.ip2nets, settings); !read)
    return std::unexpected(read.error());
  return settings;
}

namespace {

// The configuration file overrides the options file, so it is searched first.
Error located_in_files(const SettingsFiles& files, const Misfit& misfit) {
  for (const bool options : {false, true}) {
    const std::string& path = options ? files.options : files.config;
    const auto text = path.empty() ? std::string{} : read_file(path);
    if (!text || text->empty()) continue;
    Error error = located(misfit, {.text = *text, .file = path}, options);
    if (error.what != misfit.error.what) return error;
  }
  return misfit.error;
}

// The first NI that the system would not let a node open now.
std::optional<Misfit> misfit_of_system(const lnet::NodeConfig& config,
                                       const runtime::Settings& settings, std::size_t cpts) {
  const NiResolver resolver(network_families(), config, &settings, nullptr);
  const Duration timeout = std::chrono::seconds(config.parameters.lnd_timeout_s());
  for (const lnet::NetConfig& net : config.nets) {
    for (const lnet::NiConfig& ni : net.nis) {
      const auto family = family_of(network_families(), net.net, ni);
      if (!family || !resolver.rules_of(**family).is_opened()) continue;
      const auto resolved = resolver.resolve(net.net, ni, cpts, timeout);
      if (!resolved) continue;
      if (auto free = resolver.rules_of(**family).check_free(resolved->setup); !free)
        return Misfit{.error = free.error(), .net = lnet::NetConfig{.net = net.net, .nis = {ni}}};
    }
  }
  return std::nullopt;
}

}  // namespace

Outcome<void> check_startable(const SettingsFiles& files, const runtime::Settings& settings,
                              std::size_t cpts) {
  const auto judged = judge(settings.lnet, {},
                            {.cpts = cpts, .families = network_families(), .settings = &settings});
  if (!judged) return std::unexpected(located_in_files(files, judged.error()));
  for (const std::string& note : judged->notes)
    std::fprintf(stderr, "%s: %s\n", files.program.c_str(), note.c_str());
  if (const auto misfit = misfit_of_system(judged->config, settings, cpts))
    return std::unexpected(located_in_files(files, *misfit));
  return {};
}

Error located_in_files(const SettingsFiles& files, const runtime::Settings& settings,
                       const Error& error) {
  const auto plan = Machine::plan(settings, network_families());
  if (!plan) return error;
  const auto judged = judge(settings.lnet, {},
                            {.cpts = plan->planned.plan.cpts.size(),
                             .families = network_families(),
                             .settings = &settings});
  const bool is_this = !judged && judged.error().error.what == error.what;
  return is_this ? located_in_files(files, judged.error()) : error;
}

}  // namespace plnet::node
