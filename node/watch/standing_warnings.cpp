// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/standing_warnings.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {
namespace {

using runtime::Json;

// The number of warnings that fill a screen.
constexpr std::size_t kNamedMax = 8;
// Shards answer within a turn or two.
constexpr Duration kAnswerMax = std::chrono::seconds(2);

void append(Json& all, Json more) {
  for (Json& each : more)
    all.push_back(std::move(each));
}

std::string why_down(const lnet::NiReport& ni) {
  if (!ni.down_cause.empty()) return ni.down_cause;
  if (ni.health.health_value == 0) return "its health is 0";
  return "its driver reports a fatal error";
}

// Asks one question after the other. When time is up, replies with the answers so far.
class Standing : public std::enable_shared_from_this<Standing> {
 public:
  Standing(lnet::LnetControl& lnet, std::move_only_function<void(Json)> reply)
      : lnet_(lnet), reply_(std::move(reply)) {}

  void ask() {
    lnet_.nets(std::nullopt, 0,
               taken<std::vector<lnet::NetReport>>(warnings_of_nis,
                                                   [](Standing& self) { self.ask_routes(); }));
  }
  void give_up() {
    if (!reply_) return;
    all_.push_back(warning("a poller does not answer",
                           "it hangs or gets no CPU time: its shard handles no messages",
                           "run lnetctl cpt show twice to find the shard with a constant turn "
                           "count, and see what else runs on its CPU"));
    finish();
  }

 private:
  void ask_routes() {
    lnet_.routes(taken<std::vector<lnet::RouteReport>>(warnings_of_routes,
                                                       [](Standing& self) { self.ask_routing(); }));
  }
  void ask_routing() {
    lnet_.routing(
        taken<lnet::RoutingReport>(warnings_of_routing, [](Standing& self) { self.finish(); }));
  }

  template <class Report, class Next>
  lnet::Reply<Report> taken(Json (*warnings)(const Report&), Next next) {
    return [self = shared_from_this(), warnings, next](Outcome<Report>&& report) {
      if (!self->reply_) return;  // the reply was sent already
      if (!report) return self->say_down(report.error());
      append(self->all_, warnings(*report));
      next(*self);
    };
  }
  void say_down(const Error& why) {
    all_.push_back(
        warning("LNet does not run", why.what, "lnetctl lnet configure, or lnetctl import FILE"));
    finish();
  }
  void finish() { std::exchange(reply_, nullptr)(std::move(all_)); }

  lnet::LnetControl& lnet_;
  std::move_only_function<void(Json)> reply_;  // empty after the reply
  Json all_ = Json::array();
};

}  // namespace

Json warning(std::string what, std::string why, std::string fix, std::string_view severity) {
  return {{"severity", severity},
          {"what", std::move(what)},
          {"why", std::move(why)},
          {"fix", std::move(fix)}};
}

Json warnings_of_nis(const std::vector<lnet::NetReport>& nets) {
  Json all = Json::array();
  std::size_t more = 0;
  for (const lnet::NetReport& net : nets) {
    for (const lnet::NiReport& ni : net.nis) {
      if (ni.up) continue;
      if (all.size() == kNamedMax) {
        ++more;
        continue;
      }
      all.push_back(warning(fmt::format("{} is down", text_of(ni.nid)), why_down(ni),
                            "lnetctl net show -v 1 shows details"));
    }
  }
  if (more > 0) {
    all.push_back(warning(fmt::format("{} more NIs are down", more), "", "lnetctl net show"));
  }
  return all;
}

Json warnings_of_routes(const std::vector<lnet::RouteReport>& routes) {
  const auto down = std::ranges::count(routes, false, &lnet::RouteReport::up);
  if (down == 0) return Json::array();
  const auto first = std::ranges::find(routes, false, &lnet::RouteReport::up);
  const std::string cause =
      first->last_changes.empty() ? "" : ": " + first->last_changes.front().cause;
  return Json::array({warning(
      fmt::format("{} of {} routes {} down", down, routes.size(), down == 1 ? "is" : "are"),
      fmt::format("to {} by {}{}", lnet::text_of_net(first->route.net),
                  text_of(first->route.gateway), cause),
      "lnetctl route show -v 1 lists them, with the causes")});
}

Json warnings_of_routing(const lnet::RoutingReport& routing) {
  if (!routing.change) return Json::array();
  const auto& change = *routing.change;
  return Json::array(
      {warning(change.is_drain ? "routing is being drained" : "routing changes",
               fmt::format("{}; {} forwarded messages are held", change.phase, change.held),
               "lnetctl routing show shows the progress", "note")});
}

void ask_standing(lnet::LnetControl& lnet, runtime::EventLoop& loop,
                  std::move_only_function<void(Json)> reply) {
  const auto standing = std::make_shared<Standing>(lnet, std::move(reply));
  loop.add_timer(kAnswerMax, Duration::zero(), [standing] { standing->give_up(); });
  standing->ask();
}

}  // namespace plnet::node
