// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/sim/sim_desk.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim {

using selftest::Console;
using selftest::WhenDone;

run::Desk::Asked SimDesk::transact(SelftestSite::Begin begin) {
  const auto result = site_.transact(std::move(begin));
  if (!result) return std::unexpected(lst::refusal_of(result.error()));
  return lst::to_json(*result);
}

run::Desk::Asked SimDesk::begin_session(const Args& args) {
  return transact([&args](Console& console, WhenDone when_done) {
    return console.new_session(lst::new_session_of(args, SelftestSite::console_nid()),
                               std::move(when_done));
  });
}

run::Desk::Asked SimDesk::ask(std::string_view verb, const Args& args) {
  if (verb == "lst add_group") {
    const auto added =
        site_.ask([&](Console& console) { return console.add_group(lst::text_of(args, "group")); });
    if (!added) return std::unexpected(lst::refusal_of(added.error()));
    return lst::Json::object();
  }
  if (verb == "lst add_test") {
    const auto test = lst::from_json<selftest::AddTest>(lst::Json(args.at("test")));
    if (!test) return std::unexpected(lst::Refusal{EINVAL, test.error().what});
    return transact([&test](Console& console, WhenDone when_done) {
      return console.add_test(*test, std::move(when_done));
    });
  }
  const auto call =
      std::ranges::find(calls_, verb, [](const lst::ConsoleCall& each) { return each.verb.words; });
  if (call == calls_.end())
    return std::unexpected(lst::Refusal{ENOSYS, fmt::format("no command '{}'", verb)});
  const auto nodes = lst::nodes_of(args);
  if (!nodes) return std::unexpected(nodes.error());
  return transact([&](Console& console, WhenDone when_done) {
    return call->begin(console, args, *nodes, std::move(when_done));
  });
}

run::Desk::Asked SimDesk::set_pace(const run::Point& point) {
  for (unsigned i = 0; i < site_.nodes(); ++i) {
    SelftestHost& node = site_.node(i);
    const std::string name =
        lnet::text_of(lnet::ProcessId{.nid = node.nid(), .pid = lnet::kLustrePid});
    if (std::ranges::find(plan_.from, name) == plan_.from.end()) continue;
    const selftest::Pace pace{.rate = point.rate / static_cast<double>(plan_.from.size()),
                              .arrivals = plan_.arrivals,
                              .seed = i + 1};
    if (!selftest::is_pace(pace.rate))
      return std::unexpected(
          lst::Refusal{EINVAL, "the rate is out of range for this number of clients"});
    if (!node.set_pace(pace))
      return std::unexpected(lst::Refusal{ESRCH, name + ": it has no session"});
  }
  return lst::Json::object();
}

void SimDesk::begin_latency(const run::Point& point) {
  operation_ = run::text_of(point.operation);
  before_ = lst::latency_json(site_.latency(), site_.paced());
}

run::Latencies SimDesk::end_latency() {
  const auto seen =
      lst::latency_between(before_, lst::latency_json(site_.latency(), site_.paced()), operation_);
  run::Latencies all;
  if (!seen) return all;
  all.pace = seen->pace;
  if (const auto figures = lst::figures_of(*seen); figures.count > 0) all.all = figures;
  return all;
}

}  // namespace plnet::sim
