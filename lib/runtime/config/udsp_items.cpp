// SPDX-License-Identifier: BSD-3-Clause
// Policies of selection (UDSPs).
#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "lib/runtime/config/lnet_items.hpp"

namespace plnet::runtime {
namespace {

class UdspItems : private Items {
 public:
  using Items::Items;

  void add(const UdspItem& item, const std::string& path) {
    const auto udsp = udsp_of(item, path);
    if (!udsp) return;
    auto& udsps = config_.udsps;
    const auto same = std::ranges::find_if(
        udsps, [&udsp](const lnet::Udsp& other) { return other.is_about_same(*udsp); });
    if (same != udsps.end()) {
      const auto index = static_cast<std::size_t>(same - udsps.begin());
      if (!fresh_udsps_.insert(index).second) complain(path, "duplicate policy");
      same->priority = udsp->priority;
      return;
    }
    if (udsps.size() >= lnet::kUdspsMax) return complain(path, "too many policies");
    const auto at =
        item.idx < 0 ? udsps.size() : std::min(static_cast<std::size_t>(item.idx), udsps.size());
    udsps.insert(udsps.begin() + static_cast<std::ptrdiff_t>(at), *udsp);
    std::set<std::size_t> moved;
    for (const std::size_t index : fresh_udsps_)
      moved.insert(index < at ? index : index + 1);
    fresh_udsps_ = std::move(moved);
    fresh_udsps_.insert(at);
  }

  // By index, as they were numbered before the first of them went.
  void remove(const std::vector<UdspItem>& items) {
    std::set<std::size_t> gone;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::int64_t index = items[i].idx;
      const std::string path = fmt::format("udsp[{}]", i);
      if (index < 0 || std::cmp_greater_equal(index, config_.udsps.size())) {
        complain(path, index < 0 ? "no 'idx'" : fmt::format("no policy {}", index));
      } else {
        gone.insert(static_cast<std::size_t>(index));
      }
    }
    for (auto index = gone.rbegin(); index != gone.rend(); ++index)
      config_.udsps.erase(config_.udsps.begin() + static_cast<std::ptrdiff_t>(*index));
  }

 private:
  std::optional<lnet::Udsp> udsp_of(const UdspItem& item, const std::string& path) {
    auto udsp = runtime::udsp_of(item);
    if (udsp) return std::move(*udsp);
    complain(path, udsp.error().what);
    return std::nullopt;
  }

  // What the document itself brought, to find what stands there twice.
  std::set<std::size_t> fresh_udsps_;
};

}  // namespace

UdspItem item_of(const lnet::Udsp& udsp, std::size_t index) {
  const auto text = [](const std::optional<lnet::UdspRange>& range) {
    return range ? range->text() : std::string{};
  };
  return {.idx = static_cast<std::int64_t>(index),
          .source = text(udsp.source),
          .destination = text(udsp.destination),
          .router = text(udsp.router),
          .priority = udsp.priority ? static_cast<std::int64_t>(*udsp.priority) : -1};
}

Outcome<lnet::Udsp> udsp_of(const UdspItem& item) {
  lnet::Udsp udsp;
  for (const auto& [name, text, range] : {std::tuple{"src", &item.source, &udsp.source},
                                          {"dst", &item.destination, &udsp.destination},
                                          {"rte", &item.router, &udsp.router}}) {
    if (text->empty() || *text == "NA") continue;
    auto parsed = lnet::UdspRange::parse(*text);
    if (!parsed)
      return failure(parsed.error().code, fmt::format("{}: {}", name, parsed.error().what));
    *range = std::move(*parsed);
  }
  if (item.priority >= 0) udsp.priority = static_cast<std::uint32_t>(item.priority);
  return lnet::complete_udsp(std::move(udsp));
}

void add_udsps(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues) {
  UdspItems items(config, issues);
  for (std::size_t i = 0; i < document.udsps.size(); ++i)
    items.add(document.udsps[i], fmt::format("udsp[{}]", i));
}

void remove_udsps(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues) {
  UdspItems(config, issues).remove(document.udsps);
}

}  // namespace plnet::runtime
