// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl udsp`: selection policies in their order, by index. Arguments have the forms of a
// document.
// Checked against lustre-release lnet/utils/lnetctl.c: jt_add_udsp(), jt_del_udsp(),
// jt_show_udsp(); lnet/lnet/udsp.c: lnet_udsp_add_policy(), lnet_udsp_del_policy().
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/runtime/config/text_form.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"

namespace plnet::runtime {
namespace {

using lnet::LnetControl;
using lnet::NodeConfig;
using lnet::Udsp;

constexpr std::int64_t kPriorityMax = INT32_MAX;

struct UdspToAdd {
  Udsp udsp;
  std::size_t at = 0;  // or at the end, if there are fewer
};

Outcome<UdspToAdd> udsp_to_add(const VerbArgs& args) {
  const auto priority = number_arg(args, "priority", 0, kPriorityMax);
  if (!priority) return std::unexpected(priority.error());
  const auto at = number_arg(args, "idx", 0, kPriorityMax);
  if (!at) return std::unexpected(at.error());
  Udsp wanted;
  for (const auto& [name, range] :
       {std::pair{"src", &wanted.source}, {"dst", &wanted.destination}, {"rte", &wanted.router}}) {
    if (!args.contains(name)) continue;
    const std::string text = text_arg(args, name);
    // An unset variable of a script.
    if (text.empty())
      return failure(Errc::kInvalid, fmt::format("--{}: nothing, expected a range", name));
    auto parsed = TextForm<std::optional<lnet::UdspRange>>::parse(text);
    if (!parsed)
      return failure(parsed.error().code, fmt::format("{}: {}", name, parsed.error().what));
    *range = std::move(*parsed);
  }
  if (const auto& given = *priority) wanted.priority = static_cast<std::uint32_t>(*given);
  auto udsp = lnet::complete_udsp(std::move(wanted));
  if (!udsp) return std::unexpected(std::move(udsp.error()));
  return UdspToAdd{.udsp = std::move(*udsp),
                   .at = static_cast<std::size_t>(at->value_or(lnet::kUdspsMax))};
}

// A policy for the same NIDs exists: it gets the new priority.
Outcome<void> add(NodeConfig& config, UdspToAdd&& wanted) {
  auto& udsps = config.udsps;
  const auto same = std::ranges::find_if(
      udsps, [&wanted](const Udsp& udsp) { return udsp.is_about_same(wanted.udsp); });
  if (same != udsps.end()) {
    if (*same == wanted.udsp)
      return failure(Errc::kExists, fmt::format("policy {} is the same", same - udsps.begin()));
    *same = std::move(wanted.udsp);
    return {};
  }
  if (udsps.size() >= lnet::kUdspsMax)
    return failure(Errc::kNoSpace,
                   fmt::format("there are already {} policies, the limit", udsps.size()));
  const std::size_t at = std::min(wanted.at, udsps.size());
  udsps.insert(udsps.begin() + static_cast<std::ptrdiff_t>(at), std::move(wanted.udsp));
  return {};
}

struct UdspsToDelete {
  std::optional<std::size_t> at;  // nullopt: all
};

Outcome<UdspsToDelete> udsps_to_delete(const VerbArgs& args) {
  const auto at = number_arg(args, "idx", 0, kPriorityMax);
  if (!at) return std::unexpected(at.error());
  const bool all = flag_arg(args, "all");
  const auto& given = *at;
  if (all == given.has_value()) return failure(Errc::kMissing, "expected --idx or --all");
  if (!given) return UdspsToDelete{};
  return UdspsToDelete{.at = static_cast<std::size_t>(*given)};
}

Error no_policy(std::size_t at, const NodeConfig& config) {
  return {Errc::kNotFound,
          fmt::format("no policy {}: there are {}, counted from 0", at, config.udsps.size())};
}

Outcome<void> remove(NodeConfig& config, const UdspsToDelete& which) {
  if (!which.at) {
    config.udsps.clear();
    return {};
  }
  if (*which.at >= config.udsps.size()) return std::unexpected(no_policy(*which.at, config));
  config.udsps.erase(config.udsps.begin() + static_cast<std::ptrdiff_t>(*which.at));
  return {};
}

Json udsp_to_json(const Udsp& udsp, std::size_t index) {
  Json line{{"idx", index}};
  if (udsp.source) line["src"] = udsp.source->text();
  if (udsp.destination) line["dst"] = udsp.destination->text();
  if (udsp.router) line["rte"] = udsp.router->text();
  if (udsp.priority) line["action"] = {{"priority", *udsp.priority}};
  return line;
}

VerbReply show(const LnetControl& control, const VerbArgs& args) {
  const auto only = number_arg(args, "idx", 0, kPriorityMax);
  if (!only) return std::unexpected(VerbError(only.error()));
  const auto& given = *only;
  const NodeConfig& config = control.config();
  Json list = Json::array();
  for (std::size_t i = 0; i < config.udsps.size(); ++i) {
    if (!given || std::cmp_equal(*given, i)) list.push_back(udsp_to_json(config.udsps[i], i));
  }
  if (list.empty()) return Json::object();
  return document_of("udsp", std::move(list));
}

}  // namespace

void add_udsp_verbs(VerbTable& verbs, LnetControl& control) {
  verbs.add(
      kLnetVerbs["udsp add"], judged(udsp_to_add, [&control](UdspToAdd wanted, VerbToken token) {
        control.edit([wanted = std::move(wanted)](
                         NodeConfig& config) mutable { return add(config, std::move(wanted)); },
                     silent(std::move(token)));
      }));
  verbs.add(kLnetVerbs["udsp del"],
            judged(udsps_to_delete, [&control](UdspsToDelete which, VerbToken token) {
              control.edit([which](NodeConfig& config) { return remove(config, which); },
                           silent(std::move(token)));
            }));
  verbs.add(kLnetVerbs["udsp show"],
            [&control](const VerbArgs& args, const Caller&) { return show(control, args); });
}

}  // namespace plnet::runtime
