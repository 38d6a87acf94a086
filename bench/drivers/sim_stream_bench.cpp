// SPDX-License-Identifier: BSD-3-Clause
// The simulator's cost of a message through a byte stream, and of an idle host, in sites of several
// sizes, which lie within and beyond the caches.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/drivers/sim_echo_site.hpp"
#include "bench/harness/harness.hpp"
#include "drivers/net/sim/stream_driver.hpp"

namespace plnet::bench {
namespace {

using socklnd::StreamId;

constexpr std::uint16_t kPort = 988;

// Answers each frame by a frame on the same stream; the answers to one read leave together.
class Echo final : public socklnd::StreamEvents {
 public:
  void attach(socklnd::StreamDriver& driver) { driver_ = &driver; }
  // One frame for each connection: frames that share a segment are almost free.
  void start(unsigned frames_each) {
    for (const StreamId stream : mine_)
      send(stream, frames_each);
  }
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
  std::vector<std::uint32_t> got_;  // bytes of an incomplete frame, by stream
  std::vector<StreamId> mine_;
  std::uint64_t received_ = 0;
};

class StreamSite : public EchoSite<drivers::SimStreamFabric, drivers::SimStreamDriver, Echo> {
 public:
  static constexpr unsigned kEndsOfLink = 2;

  explicit StreamSite(unsigned hosts) : EchoSite(hosts) {
    populate(
        [this](unsigned host, Echo& echo) {
          auto driver =
              std::make_unique<drivers::SimStreamDriver>(fabric_, host, echo, *base_.shards[host]);
          (void)driver->listen({drivers::mapped_ipv4(kFirstAddress + host), kPort}, 1024, {});
          return driver;
        },
        [this](unsigned from, unsigned to) {
          socklnd::ConnectRequest request;
          request.addresses.remote = {drivers::mapped_ipv4(kFirstAddress + to), kPort};
          request.privileged_port = false;
          (void)drivers_[from]->connect(request);
        });
  }
  [[nodiscard]] std::size_t links() const { return fabric_.connections(); }
};

}  // namespace

void add_benchmarks(Suite& suite) {
  add_site_benchmarks<StreamSite>(suite, {.name = "sim.stream",
                                          .message = "frame",
                                          .link = "connection",
                                          .links = "connections",
                                          .memory = "shard, driver and ten connections"});
}

}  // namespace plnet::bench
