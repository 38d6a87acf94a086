// SPDX-License-Identifier: BSD-3-Clause
// User-defined selection policies (UDSPs).
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "lib/runtime/config/lnet_items.hpp"

namespace plnet::runtime {
namespace {

class UdspItems : private Items {
 public:
  using Items::Items;

  void add(const UdspItem& item, const std::string& path) {
    auto udsp = lnet::complete_udsp(item.policy);
    if (!udsp) return complain(path, std::move(udsp.error().what));
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
    const std::size_t at = std::min(item.index.value_or(udsps.size()), udsps.size());
    udsps.insert(udsps.begin() + static_cast<std::ptrdiff_t>(at), std::move(*udsp));
    std::set<std::size_t> moved;
    for (const std::size_t index : fresh_udsps_)
      moved.insert(index < at ? index : index + 1);
    fresh_udsps_ = std::move(moved);
    fresh_udsps_.insert(at);
  }

  // All indices are those before the first removal.
  void remove(const std::vector<UdspItem>& items) {
    std::set<std::size_t> gone;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::optional<std::size_t> index = items[i].index;
      if (index && *index < config_.udsps.size()) {
        gone.insert(*index);
      } else {
        complain(fmt::format("udsp[{}]", i),
                 index ? fmt::format("no policy {}", *index) : "no 'idx'");
      }
    }
    for (auto index = gone.rbegin(); index != gone.rend(); ++index)
      config_.udsps.erase(config_.udsps.begin() + static_cast<std::ptrdiff_t>(*index));
  }

 private:
  // Policies of the document itself, to find duplicates.
  std::set<std::size_t> fresh_udsps_;
};

}  // namespace

void add_udsps(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues) {
  UdspItems join(config, issues);
  for (std::size_t i = 0; i < items.udsps.size(); ++i)
    join.add(items.udsps[i], fmt::format("udsp[{}]", i));
}

void remove_udsps(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues) {
  UdspItems(config, issues).remove(items.udsps);
}

}  // namespace plnet::runtime
