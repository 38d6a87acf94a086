// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"

namespace plnet::runtime {
namespace {

VerbFault fault_of(const lnet::PingReport& report, std::string_view entity) {
  return {
      report.answer.error().code,
      fmt::format("failed to {} {}: {}", entity, text_of(report.asked), report.answer.error().what),
      {},
      std::string(entity),
      -1};
}

Outcome<lnet::PingOrder> ping_request(const VerbArgs& args) {
  constexpr std::int64_t kTimeoutMax = 120;  // seconds; lctl's limit
  auto nids = nids_arg(args, "nid");
  if (!nids) return std::unexpected(nids.error());
  const auto timeout = number_arg(args, "timeout", 1, kTimeoutMax);
  if (!timeout) return std::unexpected(timeout.error());
  const auto source = nid_arg(args, "source");
  if (!source) return std::unexpected(source.error());
  const auto count = number_arg(args, "count", 1, lnet::PingOrder::kCountMax);
  if (!count) return std::unexpected(count.error());
  const auto window = number_arg(args, "window", 1, lnet::PingOrder::kWindowMax);
  if (!window) return std::unexpected(window.error());
  return lnet::PingOrder{
      .nids = std::move(*nids),
      .timeout = std::chrono::seconds(timeout->value_or(1)),
      .source = *source,
      .count = count->transform([](std::int64_t n) { return static_cast<std::uint32_t>(n); }),
      .window = static_cast<std::uint32_t>(window->value_or(1))};
}

Outcome<lnet::DiscoverOrder> discover_request(const VerbArgs& args) {
  auto nids = nids_arg(args, "nid");
  if (!nids) return std::unexpected(nids.error());
  return lnet::DiscoverOrder{.nids = std::move(*nids), .force = flag_arg(args, "force")};
}

}  // namespace

lnet::Reply<std::vector<lnet::PingReport>> pinged(VerbToken token, std::string entity) {
  return [token = std::move(token),
          entity = std::move(entity)](Outcome<std::vector<lnet::PingReport>>&& reports) mutable {
    if (!reports) return fail(token, std::move(reports.error()));
    std::vector<VerbFault> faults;
    for (const lnet::PingReport& report : *reports) {
      if (!report.answer) faults.push_back(fault_of(report, entity));
    }
    if (!faults.empty() && faults.size() == reports->size()) {
      return token.finish(std::unexpected(VerbError(std::move(faults))));
    }
    Json document = pings_to_json(*reports, entity);
    for (const VerbFault& fault : faults)
      document["manage"].push_back(fault_item(fault));
    token.finish(document.is_null() ? Json::object() : std::move(document));
  };
}

void show_statistics(lnet::LnetControl& control, VerbToken token) {
  control.statistics(printed<lnet::StatisticsReport>(
      std::move(token), [](const auto& report) { return statistics_to_json(report); }));
}

void add_manage_verbs(VerbTable& verbs, lnet::LnetControl& control) {
  verbs.add(kLnetVerbs["ping"],
            judged(ping_request, [&control](lnet::PingOrder request, VerbToken token) {
              control.ping(std::move(request), pinged(std::move(token), "ping"));
            }));
  verbs.add(kLnetVerbs["discover"],
            judged(discover_request, [&control](lnet::DiscoverOrder request, VerbToken token) {
              control.discover(std::move(request), pinged(std::move(token), "discover"));
            }));
  verbs.add(kLnetVerbs["stats show"], bound(control, show_statistics));
  verbs.add(kLnetVerbs["stats reset"], [&control](const VerbArgs&, const Caller&, VerbToken token) {
    control.reset_statistics(silent(std::move(token)));
  });
  verbs.add(kLnetVerbs["global show"], [&control](const VerbArgs&, const Caller&) -> VerbReply {
    return globals_to_json(control.parameters());
  });
}

}  // namespace plnet::runtime
