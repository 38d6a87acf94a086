// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/adopt/config_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "lib/base/whole_number.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/config/module_options.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "lib/runtime/files/text_file.hpp"
#include "node/net/family_facts.hpp"

namespace plnet::sim {

namespace {

constexpr unsigned kNodesOfFileMax = 60'000;

bool exists(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

// A group's name is a word of a site file and of a command line.
std::string name_of_file(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  std::ranges::replace_if(
      name,
      [](char c) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        return !letter && (c < '0' || c > '9') && c != '-' && c != '_';
      },
      '-');
  return name.empty() ? "node" : name;
}

// The name decides, or the first word that is no comment.
bool is_modprobe(std::string_view text, const std::string& path) {
  if (path.ends_with(".conf")) return true;
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return false;
  static constexpr std::array<std::string_view, 6> kCommands{"options", "alias",   "install",
                                                             "remove",  "softdep", "blacklist"};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    const std::string_view rest = line.substr(begin);
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    return std::ranges::find(kCommands, word) != kCommands.end();
  }
  return false;
}

std::expected<void, std::string> read_nids(ConfigFile& file, std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const auto nid = lnet::parse_nid(list.substr(0, end));
    if (!nid) return std::unexpected(fmt::format("{}: {}", file.title, nid.error().what));
    file.nids.push_back(*nid);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return {};
}

// Takes ":COUNT" and "=NIDS" off the end.
std::expected<std::string, std::string> take_suffixes(ConfigFile& file, const std::string& word) {
  std::string path = word;
  std::string nids;
  if (const std::size_t equals = path.rfind('='); equals != std::string::npos && !exists(path)) {
    nids = path.substr(equals + 1);
    path.resize(equals);
    if (nids.empty()) return std::unexpected(word + ": expected FILE=NID,NID after '='");
  }
  if (const std::size_t colon = path.rfind(':'); colon != std::string::npos && !exists(path)) {
    const auto count = whole_number<unsigned>(std::string_view(path).substr(colon + 1));
    if (!count || *count < 1 || *count > kNodesOfFileMax) {
      return std::unexpected(fmt::format(
          "{}: expected FILE:COUNT, with a number of nodes from 1 to {}", word, kNodesOfFileMax));
    }
    file.nodes = *count;
    path.resize(colon);
  }
  file.title = path;
  if (const auto read = read_nids(file, nids); !read) return std::unexpected(read.error());
  return path;
}

}  // namespace

std::expected<void, std::string> add_config_text(ConfigFile& file, std::string_view text,
                                                 const std::string& path) {
  if (is_modprobe(text, path)) {
    auto read = runtime::read_module_options(text, path, file.settings.lnet);
    if (!read) return std::unexpected(read.error().text());
    file.notes.insert(file.notes.end(), read->notes.begin(), read->notes.end());
    apply(std::move(*read), file.settings);
    return {};
  }
  auto read =
      runtime::read_settings(runtime::Schema(node::family_sections()), text, path, file.settings);
  if (!read) return std::unexpected(read.error().text());
  file.settings = std::move(*read);
  return {};
}

std::expected<ConfigFile, std::string> read_config_file(const std::string& word) {
  ConfigFile file;
  const auto paths = take_suffixes(file, word);
  if (!paths) return std::unexpected(paths.error());
  std::string_view rest = *paths;
  if (rest.empty()) return std::unexpected(word + ": expected FILE[:COUNT][=NID,NID]");
  while (!rest.empty()) {
    const std::size_t end =
        exists(std::string(rest)) ? rest.size() : std::min(rest.find('+'), rest.size());
    const std::string path(rest.substr(0, end));
    if (file.name.empty()) file.name = name_of_file(path);
    const auto text = runtime::read_file(path);
    if (!text) return std::unexpected(text.error().what);
    if (const auto read = add_config_text(file, *text, path); !read) {
      return std::unexpected(read.error());
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return file;
}

}  // namespace plnet::sim
