// SPDX-License-Identifier: BSD-3-Clause
// What the simulator charges for a message through a byte stream, and for a host that is idle, in
// sites of several sizes. Where the caches end is what the sizes are about.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/drivers/sim_site.hpp"
#include "bench/harness/harness.hpp"
#include "drivers/net/sim/stream_driver.hpp"

namespace plnet::bench {
namespace {

using drivers::SimShape;
using socklnd::StreamId;

constexpr std::uint16_t kPort = 988;
constexpr unsigned kConnectsMax = 5;  // out, and as many in
constexpr unsigned kFramesOfTwo = 8;  // under way between two hosts, all on one connection

// Answers each frame by a frame on the same stream, those of one read together.
class Echo final : public socklnd::StreamEvents {
 public:
  explicit Echo(unsigned streams) : got_(streams) {}

  void attach(socklnd::StreamDriver& driver) { driver_ = &driver; }
  // One frame for each connection: what shares a segment with others is almost free.
  void start(unsigned frames_each) {
    for (const StreamId stream : mine_)
      send(stream, frames_each);
  }
  [[nodiscard]] std::size_t connected() const { return mine_.size(); }
  [[nodiscard]] std::uint64_t received() const { return received_; }

  std::span<std::byte> destination(StreamId /*stream*/) override { return {}; }
  std::size_t on_bytes(StreamId stream, std::size_t /*direct*/,
                       std::span<const std::byte> staged) override {
    if (stream.index >= got_.size()) got_.resize(stream.index + 1);
    const std::size_t bytes = got_[stream.index] + staged.size();
    const std::size_t frames = bytes / kFrameBytes;
    got_[stream.index] = static_cast<std::uint32_t>(bytes % kFrameBytes);
    received_ += frames;
    if (frames > 0) send(stream, frames);
    return staged.size();
  }
  void on_writable(StreamId /*stream*/) override {}
  void on_connected(StreamId stream, const socklnd::StreamAddresses& /*at*/) override {
    mine_.push_back(stream);
  }
  void on_accepted(StreamId /*stream*/, const socklnd::StreamAddresses& /*at*/) override {}
  void on_closed(StreamId /*stream*/, Errc /*cause*/, std::uint64_t /*lost*/) override {}

 private:
  void send(StreamId stream, std::size_t frames) {
    static constexpr std::array<std::byte, kFrameBytes> kFrame{};
    std::array<std::span<const std::byte>, kFramesOfTwo> pieces;
    for (std::size_t i = 0; i < frames; ++i)
      pieces[i] = kFrame;
    (void)driver_->write(stream, {pieces.data(), frames});
  }

  socklnd::StreamDriver* driver_ = nullptr;
  std::vector<std::uint32_t> got_;  // of a frame that is not whole, by stream
  std::vector<StreamId> mine_;
  std::uint64_t received_ = 0;
};

class StreamSite {
 public:
  explicit StreamSite(unsigned hosts) : base_(hosts, shape_), fabric_(base_.network, {}, 1) {
    const unsigned connects = std::min(kConnectsMax, hosts - 1);
    echoes_.reserve(hosts);
    for (unsigned i = 0; i < hosts; ++i) {
      Echo& echo = *echoes_.emplace_back(std::make_unique<Echo>(connects * 2));
      drivers_.push_back(
          std::make_unique<drivers::SimStreamDriver>(fabric_, i, echo, *base_.shards[i]));
      echo.attach(*drivers_.back());
      base_.shards[i]->add(*drivers_.back());
      (void)drivers_[i]->listen({drivers::mapped_ipv4(kFirstAddress + i), kPort}, 1024, {});
    }
    for (unsigned i = 0; i < hosts; ++i) {
      for (unsigned nth = 0; nth < connects; ++nth) {
        if (hosts == 2 && i == 1) continue;  // one connection between two
        socklnd::ConnectRequest request;
        const unsigned to = partner_of(i, nth, hosts);
        request.addresses.remote = {drivers::mapped_ipv4(kFirstAddress + to), kPort};
        request.privileged_port = false;
        (void)drivers_[i]->connect(request);
      }
    }
    // Past the retry timers of the handshake.
    base_.loop.run_for(std::chrono::seconds(2));
  }

  void start() {
    for (const auto& echo : echoes_)
      echo->start(echoes_.size() == 2 ? kFramesOfTwo : 1);
    run(echoes_.size() * 100);
  }
  // At least as many frames.
  void run(std::uint64_t frames) {
    const std::uint64_t before = written();
    while (written() - before < frames) {
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
  [[nodiscard]] std::size_t connections() const { return fabric_.connections(); }

 private:
  // By the clock of a few hosts: asking all of them would be what is measured.
  [[nodiscard]] std::uint64_t written() const {
    const std::size_t step = std::max<std::size_t>(1, echoes_.size() / 8);
    std::uint64_t some = 0;
    std::uint64_t asked = 0;
    for (std::size_t i = 0; i < echoes_.size(); i += step, ++asked)
      some += echoes_[i]->received();
    return some * echoes_.size() / asked;
  }

  SimShape shape_;
  SiteBase base_;
  drivers::SimStreamFabric fabric_;
  std::vector<std::unique_ptr<Echo>> echoes_;
  std::vector<std::unique_ptr<drivers::SimStreamDriver>> drivers_;
};

// Built once: setting up ten thousand hosts takes longer than a round.
StreamSite& site_of(unsigned hosts) {
  static std::map<unsigned, std::unique_ptr<StreamSite>> sites;
  std::unique_ptr<StreamSite>& site = sites[hosts];
  if (site == nullptr) {
    sites.clear();
    auto& fresh = sites[hosts];
    fresh = std::make_unique<StreamSite>(hosts);
    fresh->start();
    return *fresh;
  }
  return *site;
}

void stream(benchmark::State& state, unsigned hosts) {
  StreamSite& site = site_of(hosts);
  constexpr std::int64_t kBatch = 100'000;
  const std::uint64_t received = site.received();
  const std::uint64_t events = site.events();
  std::uint64_t asked = 0;
  while (state.KeepRunningBatch(kBatch)) {
    const std::uint64_t before = site.received();
    site.run(kBatch);
    asked += site.received() - before;
  }
  const auto messages = static_cast<double>(site.received() - received);
  state.counters["connections"] = static_cast<double>(site.connections());
  state.counters["events_per_message"] = static_cast<double>(site.events() - events) / messages;
  state.counters["messages_done_per_asked"] =
      static_cast<double>(asked) / static_cast<double>(state.iterations());
}

void memory(benchmark::State& state, unsigned hosts) {
  double idle = 0;
  double busy = 0;
  std::size_t connections = 0;
  for (auto _ : state) {
    const std::size_t before = heap_in_use();
    StreamSite site(hosts);
    idle = static_cast<double>(heap_in_use() - before) / hosts;
    site.start();
    busy = static_cast<double>(heap_in_use() - before) / hosts;
    connections = site.connections();
  }
  state.counters["value"] = idle;
  state.counters["busy_bytes"] = busy;
  state.counters["connections_per_host"] = static_cast<double>(connections) * 2 / hosts;
}

}  // namespace

void add_benchmarks(Suite& suite) {
  for (const unsigned hosts : {2U, 200U, 2000U, 10'000U}) {
    const std::string size = std::to_string(hosts);
    suite.push_back({.name = "sim.stream." + size,
                     .what = "a 100-byte frame sent and delivered among " + size +
                             " simulated hosts, " +
                             (hosts == 2 ? "8 on their connection"
                                         : "one on each connection, some ten of them a host"),
                     .round_seconds = 0.05,
                     .bar = hosts > 200 && hosts < 10'000 ? std::optional<Bar>(Bar{.limit = 1000})
                                                          : std::nullopt,
                     .value = [hosts](benchmark::State& state) { stream(state, hosts); },
                     .floor = [hosts](benchmark::State& state) { touch_site(state, hosts); }});
  }
  suite.push_back({.name = "sim.stream.memory",
                   .what = "heap of an idle simulated host with shard, driver and ten connections",
                   .unit = "bytes",
                   .bar = Bar{.limit = 60.0 * 1024},
                   .value = [](benchmark::State& state) { memory(state, 2000); }});
}

}  // namespace plnet::bench
