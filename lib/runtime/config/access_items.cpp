// SPDX-License-Identifier: BSD-3-Clause
// Access rules: a list whose order counts, so a document that has one has all of it.
#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/config/lnet_items.hpp"

namespace plnet::runtime {
namespace {

std::string text_of(const std::optional<lnet::NidRangeList>& ranges) {
  return ranges ? ranges->text() : std::string{};
}

std::string net_text(lnet::NetId net) {
  return net == lnet::kNetAny ? std::string{} : lnet::text_of_net(net);
}

Outcome<std::optional<lnet::NidRangeList>> ranges_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  auto ranges = lnet::NidRangeList::parse(text);
  if (!ranges) return std::unexpected(std::move(ranges.error()));
  return std::optional(std::move(*ranges));
}

Outcome<lnet::NetId> net_of(const std::string& text) {
  return text.empty() ? Outcome<lnet::NetId>(lnet::kNetAny) : lnet::parse_net(text);
}

}  // namespace

AccessItem item_of(const lnet::AccessRule& rule) {
  return {.action = rule.action,
          .use = rule.use,
          .source = text_of(rule.source),
          .destination = text_of(rule.destination),
          .from = net_text(rule.from),
          .to = net_text(rule.to)};
}

Outcome<lnet::AccessRule> access_rule_of(const AccessItem& item) {
  auto source = ranges_of(item.source);
  if (!source) return std::unexpected(std::move(source.error()));
  auto destination = ranges_of(item.destination);
  if (!destination) return std::unexpected(std::move(destination.error()));
  const auto from = net_of(item.from);
  if (!from) return std::unexpected(from.error());
  const auto to = net_of(item.to);
  if (!to) return std::unexpected(to.error());
  return lnet::AccessRule{.action = item.action,
                          .use = item.use,
                          .source = std::move(*source),
                          .destination = std::move(*destination),
                          .from = *from,
                          .to = *to};
}

void set_access(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues) {
  config.access.clear();
  for (std::size_t i = 0; i < document.access.size(); ++i) {
    auto rule = access_rule_of(document.access[i]);
    if (rule) {
      config.access.push_back(std::move(*rule));
      continue;
    }
    const std::string path = fmt::format("access[{}]", i);
    issues.push_back({path, path, std::move(rule.error().what)});
  }
}

}  // namespace plnet::runtime
