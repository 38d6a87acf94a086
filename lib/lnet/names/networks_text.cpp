// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/names/networks_text.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/base/interface_name.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/names/number_list.hpp"

namespace plnet::lnet {

namespace {

constexpr std::string_view kDelimiters = ":()[],";

// Reads a text from left to right.
class NetworksReader {
 public:
  NetworksReader(const TextPart& part, unsigned cpt_count) : part_(part), cpt_count_(cpt_count) {}

  Outcome<std::vector<NetworkEntry>> read() {
    std::vector<NetworkEntry> entries;
    for (skip_blanks(); !at_end(); skip_blanks()) {
      auto entry = read_network();
      if (!entry) return std::unexpected(std::move(entry.error()));
      const bool loopback = entry->spec.net == make_net(NetType::kLoopback);
      if (!loopback) entries.push_back(std::move(*entry));
      if (at_end()) break;
      if (!take(',')) return here().expected("\",\" before the next network");
    }
    return entries;
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ == part_.size(); }
  [[nodiscard]] TextPart here() const { return part_.sub(at_); }
  [[nodiscard]] bool next_is(char letter) const { return !at_end() && part_[at_] == letter; }
  bool take(char letter) {
    if (!next_is(letter)) return false;
    ++at_;
    return true;
  }
  void skip_blanks() {
    while (!at_end() && is_blank(part_[at_]))
      ++at_;
  }
  TextPart read_word(std::string_view delimiters) {
    const std::size_t begin = at_;
    while (!at_end() && !is_blank(part_[at_]) && !delimiters.contains(part_[at_]))
      ++at_;
    return part_.sub(begin, at_ - begin);
  }

  // "[0,2-3]", or nothing.
  Outcome<std::vector<std::uint16_t>> read_cpts() {
    if (!next_is('[')) return std::vector<std::uint16_t>{};
    const std::size_t close = part_.find(']', at_);
    if (close == std::string_view::npos) return here().error_at("this \"[\" has no \"]\"");
    const TextPart text = part_.sub(at_, close + 1 - at_);
    at_ = close + 1;
    const auto list = parse_number_list(text, cpt_count_ - 1, "a CPT");
    if (!list) return std::unexpected(list.error());
    std::vector<std::uint16_t> cpts = list->expand();
    if (cpts.size() == cpt_count_) cpts.clear();
    return cpts;
  }

  Outcome<InterfaceSpec> read_interface() {
    skip_blanks();
    const TextPart name = read_word("[](),");
    if (!is_interface_name(name.text())) return name.expected(kInterfaceNameExpected);
    skip_blanks();
    const bool has_cpts = next_is('[');
    auto cpts = read_cpts();
    if (!cpts) return std::unexpected(std::move(cpts.error()));
    if (has_cpts) own_cpts_.push_back(std::string(name.text()));
    skip_blanks();
    return InterfaceSpec{.name = std::string(name.text()), .cpts = std::move(*cpts)};
  }

  // The list after the opening parenthesis, which the caller has read.
  Outcome<std::vector<InterfaceSpec>> read_interfaces(const TextPart& open) {
    std::vector<InterfaceSpec> interfaces;
    do {
      auto interface = read_interface();
      if (!interface) return std::unexpected(std::move(interface.error()));
      const auto same = [&](const auto& other) { return other.name == interface->name; };
      if (std::ranges::any_of(interfaces, same)) {
        return here().error_at("interface " + interface->name + " is listed twice");
      }
      interfaces.push_back(std::move(*interface));
    } while (take(','));
    if (take(')')) return interfaces;
    if (at_end()) return open.error_at("this \"(\" has no \")\"");
    return here().expected("\",\" or \")\" after an interface");
  }

  Outcome<NetworkEntry> read_network() {
    const TextPart name = read_word(kDelimiters);
    const auto net = parse_net(name);
    if (!net) return std::unexpected(net.error());
    NetworkEntry entry{.spec = {.net = *net, .interfaces = {{}}}, .where = name};
    own_cpts_.clear();
    skip_blanks();
    const bool cpts_first = next_is('[');
    auto cpts = read_cpts();
    if (!cpts) return std::unexpected(std::move(cpts.error()));
    skip_blanks();
    const TextPart open = here();
    if (take('(')) {
      auto interfaces = read_interfaces(open);
      if (!interfaces) return std::unexpected(std::move(interfaces.error()));
      entry.spec.interfaces = std::move(*interfaces);
      skip_blanks();
      if (!cpts_first) cpts = read_cpts();
      if (!cpts) return std::unexpected(std::move(cpts.error()));
    }
    for (InterfaceSpec& interface : entry.spec.interfaces) {
      if (std::ranges::find(own_cpts_, interface.name) == own_cpts_.end()) interface.cpts = *cpts;
    }
    skip_blanks();
    return entry;
  }

  TextPart part_;
  unsigned cpt_count_;
  std::size_t at_ = 0;
  std::vector<std::string> own_cpts_;  // interfaces of this network that have their own CPTs
};

std::string cpts_text(const std::vector<std::uint16_t>& cpts) {
  std::string text;
  for (const std::uint16_t cpt : cpts)
    append_piece(text, ",", std::to_string(cpt));
  return text.empty() ? text : '[' + text + ']';
}

}  // namespace

Outcome<std::vector<NetworkEntry>> parse_network_entries(const TextPart& part, unsigned cpt_count) {
  PLNET_CHECK(cpt_count >= 1 && cpt_count <= kCptsMax, "LNet knows 1 to 256 CPTs");
  if (part.size() > kNamesTextMax) return part.expected("at most 4096 letters", kNamesTextMax);
  return NetworksReader(part, cpt_count).read();
}

const std::string* add_network(const NetworkSpec& spec, std::vector<NetworkSpec>& networks) {
  const auto same_net = [&](const NetworkSpec& other) { return other.net == spec.net; };
  const auto found = std::ranges::find_if(networks, same_net);
  if (found == networks.end()) {
    networks.push_back(spec);
    return nullptr;
  }
  const std::string* there = nullptr;
  for (const InterfaceSpec& interface : spec.interfaces) {
    const auto same_name = [&](const auto& other) { return other.name == interface.name; };
    if (std::ranges::none_of(found->interfaces, same_name)) {
      found->interfaces.push_back(interface);
    } else if (there == nullptr) {
      there = &interface.name;
    }
  }
  return there;
}

Outcome<std::vector<NetworkSpec>> parse_networks(std::string_view text, unsigned cpt_count) {
  const auto entries = parse_network_entries(TextPart(text), cpt_count);
  if (!entries) return std::unexpected(entries.error());
  std::vector<NetworkSpec> networks;
  for (const NetworkEntry& entry : *entries) {
    const std::string* twice = add_network(entry.spec, networks);
    if (twice == nullptr) continue;
    return entry.where.error_at((twice->empty() ? "the default interface" : "interface " + *twice) +
                                    " is on this network already",
                                0, Errc::kExists);
  }
  return networks;
}

std::string text_of(const std::vector<NetworkSpec>& networks) {
  std::string text;
  for (const NetworkSpec& network : networks) {
    std::string named;
    for (const InterfaceSpec& interface : network.interfaces) {
      if (interface.name.empty()) {
        append_piece(text, ",", text_of_net(network.net) + cpts_text(interface.cpts));
      } else {
        append_piece(named, ",", interface.name + cpts_text(interface.cpts));
      }
    }
    if (!named.empty()) append_piece(text, ",", text_of_net(network.net) + '(' + named + ')');
  }
  return text;
}

}  // namespace plnet::lnet
