// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/status_page.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/base/counted.hpp"

namespace plnet::apps {
namespace {

// A page has 24 lines: networks and pollers beyond these share a line.
constexpr std::size_t kNetworksNamed = 6;
constexpr std::size_t kShardsNamed = 4;
constexpr std::size_t kNisNamed = 2;

std::uint64_t number_of(const Json& object, const char* key) {
  return object.value(key, std::uint64_t{0});
}

std::string word_of(const Json& object, const char* key) {
  return object.value(key, std::string());
}

// Lines with a label before the first of them.
class Page {
 public:
  void add(std::string_view label, std::string_view line) {
    const bool repeated = label == last_;
    text_ += fmt::format("{:<10}{}\n", repeated ? "" : label, line);
    last_ = label;
  }
  void blank() {
    text_ += '\n';
    last_.clear();
  }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  std::string text_;
  std::string last_;
};

void add_node(Page& page, const Json& status) {
  std::string line = fmt::format("{}: plnet {}, process {}, up {}", word_of(status, "instance"),
                                 word_of(status, "version"), number_of(status, "pid"),
                                 text_of_seconds(number_of(status, "uptime sec")));
  const std::string metrics = word_of(status, "metrics");
  line += metrics == "off" ? "; metrics off" : fmt::format("; metrics at {}", metrics);
  const std::string status_page = word_of(status, "status page");
  if (!status_page.empty() && status_page != "off")
    line += fmt::format("; page at http://{}/", status_page);
  page.add("node", line);
}

void add_routing(Page& page, const Json& status) {
  if (!status.contains("routing")) return;
  const Json& routing = status["routing"];
  std::string line = word_of(routing, "state");
  if (line == "disabled" && status.value("networks", Json::array()).size() > 1)
    line += ": messages for other nodes are dropped; lnetctl set routing 1 makes this node forward";
  if (routing.contains("free buffers")) {
    const Json& free = routing["free buffers"];
    line += fmt::format("; free buffers: tiny {}, small {}, large {}", word_of(free, "tiny"),
                        word_of(free, "small"), word_of(free, "large"));
  }
  page.add("routing", line);
}

std::string nis_of_net(const Json& net) {
  std::string line;
  std::size_t named = 0;
  for (const Json& ni : net.value("nis", Json::array())) {
    if (named == kNisNamed) return line + ", …";
    line += named++ == 0 ? ": " : ", ";
    line += word_of(ni, "nid");
    if (ni.contains("interface")) line += fmt::format(" ({})", word_of(ni, "interface"));
  }
  return line;
}

void add_networks(Page& page, const Json& status) {
  const Json nets = status.value("networks", Json::array());
  if (nets.empty()) return page.add("networks", "none besides lo");
  std::size_t shown = 0;
  for (const Json& net : nets) {
    if (shown == kNetworksNamed && nets.size() > kNetworksNamed + 1) {
      page.add("networks", counted(nets.size() - shown, "more network"));
      return;
    }
    ++shown;
    const std::uint64_t up = number_of(net, "up");
    page.add("networks", fmt::format("{}: {} of {} up{}", word_of(net, "net"), up,
                                     counted(up + number_of(net, "down"), "NI"), nis_of_net(net)));
  }
}

void add_routes(Page& page, const Json& status) {
  const Json routes = status.value("routes", Json::object());
  const std::uint64_t up = number_of(routes, "up");
  const std::uint64_t down = number_of(routes, "down");
  page.add("routes", up + down == 0 ? "none" : fmt::format("{} of {} up", up, up + down));
  const Json list = routes.value("those down", Json::array());
  for (const Json& route : list) {
    const std::string since =
        route.contains("seconds")
            ? fmt::format(" for {}", text_of_seconds(number_of(route, "seconds")))
            : std::string();
    const std::string cause = word_of(route, "cause");
    page.add("routes",
             fmt::format("{} by {} is down{}{}{}", word_of(route, "net"), word_of(route, "gateway"),
                         since, cause.empty() ? "" : ": ", cause));
  }
  if (down > list.size())
    page.add("routes", fmt::format("{} more {} down", down - list.size(),
                                   agreeing(down - list.size(), "is", "are")));
}

void add_peers(Page& page, const Json& status) {
  if (!status.contains("peers")) return;
  const Json& peers = status["peers"];
  std::string line = fmt::format("{}; NIs: {} up, {} down, {} not asked",
                                 counted(number_of(peers, "peers"), "peer"), number_of(peers, "up"),
                                 number_of(peers, "down"), number_of(peers, "unknown"));
  const std::uint64_t lost = number_of(peers, "cannot be reached");
  if (lost > 0) line += fmt::format("; {} cannot be reached", lost);
  page.add("peers", line);
}

void add_rates(Page& page, const Json& status) {
  const Json rates = status.value("rates", Json::object());
  const double seconds = rates.value("seconds", 0.0);
  if (seconds <= 0) return page.add("rates", "not known yet; ask again in some seconds");
  page.add(
      "rates",
      fmt::format("forwarded {}/s, sent {}/s, received {}/s, dropped {}/s; {}/s (last {:.0f} s)",
                  number_of(rates, "forwarded"), number_of(rates, "sent"),
                  number_of(rates, "received"), number_of(rates, "dropped"),
                  text_of_bytes(number_of(rates, "bytes")), seconds));
}

void add_drops(Page& page, const Json& status) {
  const Json drops = status.value("drops", Json::array());
  if (drops.empty()) return page.add("drops", "none in the last minute");
  for (const Json& drop : drops) {
    page.add("drops",
             fmt::format("{} in the last minute ({} in all): {} ({})",
                         number_of(drop, "in the last minute"), number_of(drop, "since the start"),
                         word_of(drop, "meaning"), word_of(drop, "cause")));
  }
}

void add_rules(Page& page, const Json& status) {
  const Json rules = status.value("rules", Json::object());
  const auto part = [&rules](const char* kind, const char* verb, const char* effect) {
    const std::uint64_t count = number_of(rules, kind);
    if (count == 0) return fmt::format("no {} rule", kind);
    return fmt::format("{} ({}; lnetctl {})", counted(count, fmt::format("{} rule", kind)),
                       counted(number_of(rules, effect), "message"), verb);
  };
  const std::uint64_t access = number_of(rules, "access");
  std::string line = access == 0 ? std::string("no access rule")
                                 : fmt::format("{} (decided {}; lnetctl access show)",
                                               counted(access, "access rule"),
                                               counted(number_of(rules, "decided"), "time"));
  line += ", " + part("drop", "fault drop show", "dropped");
  line += ", " + part("delay", "fault delay show", "delayed");
  page.add("rules", line);
}

void add_drain(Page& page, const Json& status) {
  if (!status.contains("drain")) return;
  const Json& drain = status["drain"];
  page.add("drain", fmt::format("{}: {} {} acknowledged, {} held, {} s left "
                                "at most",
                                word_of(drain, "phase"),
                                counted(number_of(drain, "peers acknowledged"),
                                        number_of(drain, "peers told"), "peer"),
                                agreeing(number_of(drain, "peers told"), "has", "have"),
                                counted(number_of(drain, "messages held"), "message"),
                                number_of(drain, "seconds left")));
}

void add_pollers(Page& page, const Json& status) {
  const Json shards = status.value("shards", Json::array());
  const auto duty = [](const Json& shard) { return shard.value("duty cycle percent", 0.0); };
  const std::string idle = word_of(status, "idle");
  if (shards.size() > kShardsNamed) {
    const auto [least, most] =
        std::ranges::minmax_element(shards.get_ref<const Json::array_t&>(), {}, duty);
    return page.add(
        "pollers", fmt::format("{} shards, {:.1f} % to {:.1f} % of their time at work (most: shard "
                               "{} on CPU {}); idle policy {}",
                               shards.size(), duty(*least), duty(*most), number_of(*most, "shard"),
                               number_of(*most, "cpu"), idle));
  }
  std::string line;
  for (const Json& shard : shards) {
    line += fmt::format("shard {} on CPU {}: {:.1f} % of its time at work, ",
                        number_of(shard, "shard"), number_of(shard, "cpu"), duty(shard));
  }
  page.add("pollers", line + "idle policy " + idle);
}

void add_warnings(Page& page, const Json& status) {
  for (const Json& warning : status.value("warnings", Json::array())) {
    const std::string severity = word_of(warning, "severity");
    page.blank();
    page.add(severity, word_of(warning, "what"));
    const std::string why = word_of(warning, "why");
    if (!why.empty()) page.add(severity, why);
    const std::string fix = word_of(warning, "fix");
    if (!fix.empty()) page.add(severity, "→ " + fix);
  }
}

}  // namespace

std::string text_of_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string text_of_seconds(std::uint64_t seconds) {
  const std::uint64_t minutes = seconds / 60;
  const std::uint64_t hours = minutes / 60;
  if (minutes == 0) return fmt::format("{} s", seconds);
  if (hours == 0) return fmt::format("{} min {} s", minutes, seconds % 60);
  if (hours < 24) return fmt::format("{} h {} min", hours, minutes % 60);
  return fmt::format("{} d {} h", hours / 24, hours % 24);
}

std::string print_status(const Json& result) {
  const Json status = result.value("status", Json::object());
  Page page;
  page.add("verdict", word_of(status, "verdict"));
  add_node(page, status);
  add_routing(page, status);
  add_drain(page, status);
  add_networks(page, status);
  add_routes(page, status);
  add_peers(page, status);
  add_rates(page, status);
  add_drops(page, status);
  add_rules(page, status);
  add_pollers(page, status);
  add_warnings(page, status);
  return std::move(page).text();
}

}  // namespace plnet::apps
