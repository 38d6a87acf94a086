// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/names/routes_text.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "lib/base/whole_number.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/names/text_part.hpp"

namespace plnet::lnet {

namespace {

// The texts that a bracket expands to, in order.
using Choices = std::vector<std::string>;

constexpr unsigned kBracketsMax = 8;  // a NID has four address parts, a number and a priority

// "7", "ab", "1-9", "1-9/2". An item with a dash is a range; any other is literal.
Outcome<void> add_item(const TextPart& item, Choices& choices) {
  if (item.empty()) return item.expected("a number, a range or a word between the commas");
  const std::size_t dash = item.find('-');
  if (dash == std::string_view::npos) {
    choices.emplace_back(item.text());
    return {};
  }
  const std::size_t slash = std::min(item.find('/', dash), item.size());
  const auto low = whole_number<std::uint32_t>(item.text().substr(0, dash));
  const auto high = whole_number<std::uint32_t>(item.text().substr(dash + 1, slash - dash - 1));
  std::uint32_t stride = 1;
  if (slash < item.size()) {
    stride = whole_number<std::uint32_t>(item.text().substr(slash + 1)).value_or(0);
  }
  if (!low || !high || stride == 0) return item.expected("a range: LOW-HIGH or LOW-HIGH/STRIDE");
  if (*high < *low) return item.error_at("the range runs downwards");
  if ((*high - *low) % stride != 0) {
    return item.error_at("the stride does not lead from the first to the last number");
  }
  if ((*high - *low) / stride >= kRoutesMax) return item.error_at("more than 4096 numbers");
  for (std::uint64_t value = *low; value <= *high; value += stride)
    choices.push_back(std::to_string(value));
  return {};
}

// All texts that a word with brackets expands to.
Outcome<Choices> expand(const TextPart& word, unsigned brackets_left = kBracketsMax) {
  const std::size_t open = word.find('[');
  if (open == std::string_view::npos) return Choices{std::string(word.text())};
  const std::size_t close = word.find(']', open);
  if (close == std::string_view::npos) {
    return word.error_at("this \"[\" has no \"]\"", open);
  }
  if (brackets_left == 0) return word.error_at("more than 8 pairs of brackets in one word", open);
  Choices heads;
  for (const TextPart& item : word.sub(open + 1, close - open - 1).split(',')) {
    const auto added = add_item(item, heads);
    if (!added) return std::unexpected(added.error());
    if (heads.size() > kRoutesMax) return item.error_at("more than 4096 choices in brackets");
  }
  const auto tails = expand(word.sub(close + 1), brackets_left - 1);
  if (!tails) return tails;
  if (heads.size() * tails->size() > kRoutesMax) {
    return word.error_at("the brackets stand for more than 4096 texts");
  }
  Choices all;
  all.reserve(heads.size() * tails->size());
  const std::string before(word.text().substr(0, open));
  for (const std::string& head : heads) {
    for (const std::string& tail : *tails) {
      std::string text = before;
      text += head;
      text += tail;
      if (text.size() > 2 * kNidTextMax) return word.expected("a NID of at most 64 letters");
      all.push_back(std::move(text));
    }
  }
  return all;
}

// An error about `text`, one of the expansions of `word`.
std::unexpected<Error> error_at_expanded(const TextPart& word, const std::string& text,
                                         const Error& error) {
  if (text == word.text()) return word.error_at(error.what);
  return word.error_at("this stands for \"" + text + "\": " + error.what);
}

struct GatewayAtHop {
  Nid nid;
  std::uint32_t priority = 0;
};

// "10.0.0.1@tcp:2". The colons of IPv6 come before the "@".
Outcome<GatewayAtHop> parse_gateway(const TextPart& word, const std::string& text) {
  GatewayAtHop gateway;
  const std::size_t at = text.find('@');
  std::size_t colon = text.find(':', at == std::string::npos ? 0 : at);
  if (at == std::string::npos && std::ranges::count(text, ':') > 1) colon = std::string::npos;
  if (colon != std::string::npos) {
    const auto priority = whole_number<std::uint32_t>(std::string_view(text).substr(colon + 1));
    if (!priority) return word.expected("a priority after the \":\" that follows the gateway");
    gateway.priority = *priority;
  }
  const auto nid = parse_nid(std::string_view(text).substr(0, colon));
  if (!nid) return error_at_expanded(word, text, nid.error());
  if (nid->is_loopback()) return word.error_at("the loopback NID is no gateway");
  gateway.nid = *nid;
  return gateway;
}

Outcome<std::vector<NetId>> parse_nets(const TextPart& word) {
  const auto texts = expand(word);
  if (!texts) return std::unexpected(texts.error());
  std::vector<NetId> nets;
  for (const std::string& text : *texts) {
    const auto net = parse_net(text);
    if (!net) return error_at_expanded(word, text, net.error());
    if (*net == make_net(NetType::kLoopback)) return word.error_at("no route leads to \"lo\"");
    nets.push_back(*net);
  }
  return nets;
}

Outcome<void> parse_entry(const TextPart& entry, std::vector<RouteSpec>& routes) {
  const auto words = split_words(entry);
  const auto nets = parse_nets(words.front());
  if (!nets) return std::unexpected(nets.error());
  int hops = kHopsUndefined;
  std::size_t next = 1;
  if (words.size() > next) {
    const auto number = whole_number<std::uint32_t>(words[next].text());
    if (number && (*number < 1 || *number > kHopsMax)) {
      return words[next].expected("a number of hops, 1 to 255, or a gateway");
    }
    if (number) {
      hops = static_cast<int>(*number);
      ++next;
    }
  }
  if (next == words.size()) return entry.expected("a gateway such as 10.0.0.1@tcp", entry.size());
  std::vector<GatewayAtHop> gateways;
  for (; next < words.size(); ++next) {
    const auto texts = expand(words[next]);
    if (!texts) return std::unexpected(texts.error());
    for (const std::string& text : *texts) {
      const auto gateway = parse_gateway(words[next], text);
      if (!gateway) return std::unexpected(gateway.error());
      gateways.push_back(*gateway);
    }
    if (gateways.size() * nets->size() + routes.size() > kRoutesMax) {
      return entry.error_at("more than 4096 routes");
    }
  }
  for (const NetId net : *nets) {
    for (const GatewayAtHop& gateway : gateways)
      routes.push_back(
          {.net = net, .gateway = gateway.nid, .hops = hops, .priority = gateway.priority});
  }
  return {};
}

}  // namespace

Outcome<std::vector<RouteSpec>> parse_routes(std::string_view text) {
  const TextPart whole(text);
  if (text.size() > kNamesTextMax) return whole.expected("at most 4096 letters", kNamesTextMax);
  std::vector<RouteSpec> routes;
  for (const TextPart& entry : split_entries(whole)) {
    const auto parsed = parse_entry(entry, routes);
    if (!parsed) return std::unexpected(parsed.error());
  }
  return routes;
}

}  // namespace plnet::lnet
