// SPDX-License-Identifier: BSD-3-Clause
// Hosts, the links between them, and their faults: latency, bandwidth, partitions, hosts that
// vanish. Computes when a message from one host arrives at another, or that it is lost; streams,
// queue pairs and endpoints are built on that.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "drivers/net/sim/block_pool.hpp"
#include "drivers/net/sim/event_loop.hpp"
#include "drivers/net/sim/lazy_memory.hpp"
#include "drivers/net/sim/shape.hpp"
#include "lib/base/random.hpp"
#include "lib/base/result.hpp"

namespace plnet::drivers {

using HostId = std::uint32_t;
inline constexpr HostId kNoHost = ~0U;

using IpBytes = std::array<std::uint8_t, 16>;  // IPv4 as v4-mapped IPv6
[[nodiscard]] IpBytes mapped_ipv4(std::uint32_t address);

// Told when hosts become unreachable or reachable again; cold.
class ReachabilitySink {
 public:
  // `other`: kNoHost if it concerns all peers of `host`.
  virtual void on_reachability(HostId host, HostId other) = 0;

 protected:
  ~ReachabilitySink() = default;
};

class SimNetwork {
 public:
  SimNetwork(EventLoop& loop, const LinkShape& shape, std::uint64_t seed);
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  [[nodiscard]] EventLoop& loop() { return loop_; }
  [[nodiscard]] Instant now() const { return loop_.now(); }
  // Memory for data in flight.
  [[nodiscard]] BlockPool& pool() { return pool_; }
  // Start-up only: arenas from there are lazy, see lazy_memory.hpp. It outlives the drivers.
  void set_lazy_memory(LazyMemory& lazy) { lazy_ = &lazy; }
  [[nodiscard]] LazyMemory* lazy_memory() { return lazy_; }

  [[nodiscard]] HostId add_host();
  // kExists: another host, or this one, has it.
  [[nodiscard]] Result<void> add_address(HostId host, const IpBytes& ip);
  void remove_address(const IpBytes& ip);
  [[nodiscard]] HostId host_of(const IpBytes& ip) const;
  [[nodiscard]] const IpBytes& first_address(HostId host) const;

  // Links with another shape; each direction by itself. Messages that wait for a slow link are in
  // the network: their sender has sent them, and other links are as fast as before.
  void set_link(HostId from, HostId to, const LinkShape& shape);
  void reset_link(HostId from, HostId to);  // the shape of all others again

  // A partition in one direction: messages of `from` never reach `to`.
  void block(HostId from, HostId to);
  void unblock(HostId from, HostId to);
  void block_both(HostId a, HostId b);
  void unblock_both(HostId a, HostId b);
  // Power off: nothing leaves and nothing arrives. A vanished host that is set present again has
  // rebooted: its owner builds its drivers anew.
  void set_present(HostId host, bool present);
  [[nodiscard]] bool present(HostId host) const { return hosts_[host].present; }
  [[nodiscard]] bool reaches(HostId from, HostId to) const {
    return (absent_ == 0 && blocked_.empty()) || reaches_slowly(from, to);
  }
  void watch_reachability(ReachabilitySink& sink) { watchers_.push_back(&sink); }

  // Hot. The arrival time of `bytes` that leave now; nothing if they are lost. Order is not kept: a
  // caller that needs it takes the latest arrival so far.
  [[nodiscard]] std::optional<Instant> transit(HostId from, HostId to, std::size_t bytes);
  // The duration of an acknowledgement that needs no bandwidth.
  [[nodiscard]] Duration latency(HostId from, HostId to);

 private:
  struct Host {  // used for each message
    Instant egress_free{};
    bool present = true;
  };
  struct Link {  // with a shape of its own
    LinkShape shape;
    Instant free{};
  };
  struct IpHash {
    std::size_t operator()(const IpBytes& ip) const;
  };

  [[nodiscard]] static std::uint64_t pair_of(HostId from, HostId to) {
    return static_cast<std::uint64_t>(from) << 32U | to;
  }
  [[nodiscard]] Link* own_link(HostId from, HostId to);
  [[nodiscard]] static Instant pass(Instant& free, Instant from, std::size_t bytes,
                                    std::uint64_t bytes_per_second);
  [[nodiscard]] Duration draw_latency(const LinkShape& shape);
  void tell_watchers(HostId host, HostId other);
  [[nodiscard]] bool reaches_slowly(HostId from, HostId to) const;

  EventLoop& loop_;
  LinkShape shape_;
  Random random_;
  BlockPool pool_;
  LazyMemory* lazy_ = nullptr;
  std::vector<Host> hosts_;
  std::vector<std::vector<IpBytes>> addresses_;  // by host
  std::size_t absent_ = 0;
  std::unordered_map<IpBytes, HostId, IpHash> by_address_;
  // Looked up by key only, never walked: their order must not have an effect on a run.
  std::unordered_map<std::uint64_t, Link> links_;
  std::unordered_set<std::uint64_t> blocked_;
  std::vector<ReachabilitySink*> watchers_;
};

}  // namespace plnet::drivers
