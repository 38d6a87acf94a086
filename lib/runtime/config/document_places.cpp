// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/document_places.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/config/modprobe_lines.hpp"
#include "lib/runtime/config/yaml_document.hpp"

namespace plnet::runtime {
namespace {

std::string place(std::string_view file, Position at) {
  return fmt::format("{}:{}:{}", file, at.line, at.column);
}

// Null: there is no such key.
const Node* find(const Node* node, std::string_view key) {
  return node == nullptr ? nullptr : node->find(key);
}

std::string place_of_value(const SourceText& document, const Node* node) {
  return node == nullptr ? std::string{} : place(document.file, node->key_at);
}

bool is_net(const Node& item, lnet::NetId net) {
  const Node* const type = item.find("net type");
  const auto id =
      type == nullptr ? Outcome<lnet::NetId>{lnet::kNetAny} : lnet::parse_net(type->text);
  return id && *id == net;
}

bool is_ni(const Node& item, const lnet::NiConfig& ni) {
  if (const Node* const interfaces = item.find("interfaces"); interfaces != nullptr) {
    return std::ranges::any_of(interfaces->items, [&ni](const Node& each) {
      return std::ranges::find(ni.interfaces, each.text) != ni.interfaces.end();
    });
  }
  const Node* const named = item.find("nid");
  const auto nid =
      named == nullptr ? Outcome<lnet::Nid>{lnet::Nid::any()} : lnet::parse_nid(named->text);
  return nid && ni.nid == *nid;
}

}  // namespace

std::string place_of_key(const SourceText& document, std::string_view key) {
  const auto tree = parse_yaml(document.text, document.file);
  return tree ? place_of_value(document, tree->find(key)) : std::string{};
}

std::string place_of_option(const SourceText& document, std::string_view option) {
  const auto tree = parse_yaml(document.text, document.file);
  if (!tree) return {};
  return place_of_value(document, find(find(tree->find("plnet"), "module_options"), option));
}

std::string place_of_ni(const SourceText& document, lnet::NetId net, const lnet::NiConfig& ni) {
  const auto tree = parse_yaml(document.text, document.file);
  const Node* const nets = tree ? tree->find("net") : nullptr;
  if (nets == nullptr) return {};
  for (const Node& item : nets->items) {
    const Node* const nis = is_net(item, net) ? item.find("local NI(s)") : nullptr;
    if (nis == nullptr) continue;
    const auto found =
        std::ranges::find_if(nis->items, [&ni](const Node& each) { return is_ni(each, ni); });
    if (found != nis->items.end()) return place(document.file, found->at);
  }
  return {};
}

std::string place_of_modprobe_option(const SourceText& options, std::string_view option) {
  const std::size_t dot = option.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string begin = fmt::format("{}=", option.substr(dot + 1));
  std::string found;
  ModprobeLines lines(options.text);
  for (auto words = lines.next(); !words.empty(); words = lines.next()) {
    if (words.size() < 2 || words[0].text != "options" || words[1].text != option.substr(0, dot))
      continue;
    for (const ModprobeWord& word : words) {
      if (word.text.starts_with(begin)) found = place(options.file, word.at);
    }
  }
  return found;
}

}  // namespace plnet::runtime
