// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl debug messages`: the states and the waits of messages.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"

namespace plnet::runtime {
namespace {

using lnet::MessagesReport;

constexpr std::int64_t kMessagesDefault = 10;

std::string_view type_name(lnet::MessageType type) {
  constexpr std::array<std::string_view, 4> kNames{"ACK", "PUT", "GET", "REPLY"};
  const auto index = static_cast<std::size_t>(type);
  return index < kNames.size() ? kNames[index] : "unknown";
}

// Waits that have not happened are left out.
Json waits_to_json(const MessagesReport& report) {
  Json list = Json::array();
  for (std::size_t i = 0; i < report.waits.size(); ++i) {
    const lnet::WaitReport& wait = report.waits[i];
    if (wait.waiting + wait.waited == 0) continue;
    const std::uint64_t mean = wait.waited == 0 ? 0 : wait.time_us / wait.waited;
    list.push_back(object_of({{"for", std::string(lnet::kWaitNames[i])},
                              {"waiting", wait.waiting},
                              {"waited", wait.waited},
                              {"mean usec", mean},
                              {"max usec", wait.longest_us}}));
  }
  return list;
}

Json states_to_json(std::span<const std::uint64_t> counts,
                    std::span<const std::string_view> names) {
  Json states = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) states[std::string(names[i])] = counts[i];
  }
  return states;
}

Json nid_to_json(const lnet::Nid& nid) {
  return nid.is_any() ? Json{} : Json(text_of(nid));
}

Json standing_to_json(const lnet::StandingMessage& message) {
  const auto age = std::chrono::floor<std::chrono::microseconds>(message.age).count();
  return object_of({{"source", nid_to_json(message.source)},
                    {"destination", text_of(message.destination)},
                    {"type", std::string(type_name(message.type))},
                    {"bytes", message.bytes},
                    {"state", std::string(message.state)},
                    {"usec", std::max<std::int64_t>(age, 0)},
                    {"next hop", nid_to_json(message.hop)},
                    {"shard", message.shard}});
}

Json messages_to_json(const MessagesReport& report, std::size_t rows) {
  const std::size_t shown = std::min(rows, report.longest.size());
  return {{"messages",
           {{"waits", waits_to_json(report)},
            {"arriving", states_to_json(report.arriving, lnet::kReceiveStateNames)},
            {"leaving", states_to_json(report.leaving, lnet::kSendStateNames)},
            {"longest", list_of(std::span(report.longest).first(shown), standing_to_json)}}}};
}

}  // namespace

void add_message_verbs(VerbTable& verbs, lnet::LnetControl& control) {
  verbs.add(kLnetVerbs["debug messages"],
            judged(
                [](const VerbArgs& args) {
                  return number_arg(args, "rows", 1,
                                    static_cast<std::int64_t>(MessagesReport::kLongestMax));
                },
                [&control](std::optional<std::int64_t> rows, VerbToken token) {
                  const auto most = static_cast<std::size_t>(rows.value_or(kMessagesDefault));
                  control.messages(printed<MessagesReport>(std::move(token),
                                                           [most](const MessagesReport& report) {
                                                             return messages_to_json(report, most);
                                                           }));
                }));
}

}  // namespace plnet::runtime
