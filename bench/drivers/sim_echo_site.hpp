// SPDX-License-Identifier: BSD-3-Clause
// A site whose hosts answer each message by another for ever, and its measurements, for any
// transport.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/drivers/sim_site.hpp"
#include "bench/harness/harness.hpp"

namespace plnet::bench {

inline constexpr unsigned kConnectsMax = 5;  // out, and as many in
inline constexpr unsigned kFramesOfTwo = 8;  // under way between two hosts, all on one connection

// An Echo counts its received() messages and can start() a number of messages on each connection
// that it began.
template <class Fabric, class Driver, class Echo>
class EchoSite {
 public:
  void start() {
    for (const auto& echo : echoes_)
      echo->start(echoes_.size() == 2 ? kFramesOfTwo : 1);
    run(echoes_.size() * 100);
  }
  // Runs until about this many messages have been exchanged.
  void run(std::uint64_t messages) {
    const std::uint64_t before = some_received();
    while (some_received() - before < messages) {
      for (unsigned i = 0; i < 256; ++i)
        (void)base_.loop.step();
    }
  }
  [[nodiscard]] std::uint64_t received() const {
    std::uint64_t all = 0;
    for (const auto& echo : echoes_)
      all += echo->received();
    return all;
  }
  [[nodiscard]] std::uint64_t events() const { return base_.loop.events_run(); }

 protected:
  explicit EchoSite(unsigned hosts) : base_(hosts, {}), fabric_(base_.network, {}, 1) {
    echoes_.reserve(hosts);
    drivers_.reserve(hosts);
  }

  // `make` makes the driver of a host, `connect` a connection from one host to another.
  template <class Make, class Connect>
  void populate(const Make& make, const Connect& connect) {
    const auto hosts = static_cast<unsigned>(base_.shards.size());
    for (unsigned i = 0; i < hosts; ++i) {
      Echo& echo = *echoes_.emplace_back(std::make_unique<Echo>());
      Driver& driver = *drivers_.emplace_back(make(i, echo));
      echo.attach(driver);
      base_.shards[i]->add(driver);
    }
    for (unsigned i = 0; i < hosts; ++i) {
      for (unsigned nth = 0; nth < std::min(kConnectsMax, hosts - 1); ++nth) {
        if (hosts == 2 && i == 1) continue;  // one connection between two
        connect(i, partner_of(i, nth, hosts));
      }
    }
    base_.loop.run_for(std::chrono::seconds(6));  // past the timers of the handshake
  }

 private:
  // From the counts of a few hosts: asking all of them would dominate the measurement.
  [[nodiscard]] std::uint64_t some_received() const {
    const std::size_t step = std::max<std::size_t>(1, echoes_.size() / 8);
    std::uint64_t some = 0;
    std::uint64_t asked = 0;
    for (std::size_t i = 0; i < echoes_.size(); i += step, ++asked)
      some += echoes_[i]->received();
    return some * echoes_.size() / asked;
  }

 protected:
  SiteBase base_;
  Fabric fabric_;
  std::vector<std::unique_ptr<Echo>> echoes_;
  std::vector<std::unique_ptr<Driver>> drivers_;
};

// A Site is built from a number of hosts and knows the number of links() between them and the ends
// of a link that it counts, kEndsOfLink.
template <class Site>
void measure_messages(benchmark::State& state, unsigned hosts, const std::string& links) {
  // Built once: setting up ten thousand hosts takes longer than a round.
  static std::map<unsigned, std::unique_ptr<Site>> sites;
  if (!sites.contains(hosts)) {
    sites.clear();
    sites[hosts] = std::make_unique<Site>(hosts);
    sites[hosts]->start();
  }
  Site& site = *sites[hosts];
  constexpr std::int64_t kBatch = 100'000;
  const std::uint64_t received = site.received();
  const std::uint64_t events = site.events();
  while (state.KeepRunningBatch(kBatch))
    site.run(kBatch);
  const auto messages = static_cast<double>(site.received() - received);
  state.counters[links] = static_cast<double>(site.links());
  state.counters["events_per_message"] = static_cast<double>(site.events() - events) / messages;
  state.counters["messages_done_per_asked"] = messages / static_cast<double>(state.iterations());
}

template <class Site>
void measure_memory(benchmark::State& state, unsigned hosts, const std::string& links) {
  double idle = 0;
  double busy = 0;
  std::size_t ends = 0;
  for (auto _ : state) {
    const std::size_t before = heap_in_use();
    Site site(hosts);
    idle = static_cast<double>(heap_in_use() - before) / hosts;
    site.start();
    busy = static_cast<double>(heap_in_use() - before) / hosts;
    ends = site.links() * Site::kEndsOfLink;
  }
  state.counters["value"] = idle;
  state.counters["busy_bytes"] = busy;
  state.counters[links + "_per_host"] = static_cast<double>(ends) / hosts;
}

struct SiteWords {
  std::string name;     // "sim.stream"
  std::string message;  // "frame"
  std::string link;     // "connection"
  std::string links;    // name in the counters: "connections"
  std::string memory;   // memory of an idle host
};

template <class Site>
void add_site_benchmarks(Suite& suite, const SiteWords& words) {
  for (const unsigned hosts : {2U, 200U, 2000U, 10'000U}) {
    const std::string size = std::to_string(hosts);
    suite.push_back(
        {.name = words.name + "." + size,
         .what = "a 100-byte " + words.message + " sent and delivered among " + size +
                 " simulated hosts, " +
                 (hosts == 2 ? "8 on their " + words.link
                             : "one on each connection, some ten of them a host"),
         .round_seconds = 0.05,
         .bar = hosts == 2000 ? std::optional<Bar>(Bar{.limit = 1000}) : std::nullopt,
         .value = [hosts, links = words.links](
                      benchmark::State& state) { measure_messages<Site>(state, hosts, links); },
         .floor = [hosts](benchmark::State& state) { touch_site(state, hosts); }});
  }
  suite.push_back({.name = words.name + ".memory",
                   .what = "heap of an idle simulated host with " + words.memory,
                   .unit = "bytes",
                   .bar = Bar{.limit = 60.0 * 1024},
                   .value = [links = words.links](benchmark::State& state) {
                     measure_memory<Site>(state, 2000, links);
                   }});
}

}  // namespace plnet::bench
