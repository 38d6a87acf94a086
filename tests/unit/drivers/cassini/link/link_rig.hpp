// SPDX-License-Identifier: BSD-3-Clause
// Link layers on a simulated Ethernet whose faults come from a seed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drivers/net/cassini/soft/link/link_layer.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::soft::link {

struct CableFaults {
  double loss = 0;
  double duplication = 0;
  double damage = 0;
  double overtaking = 0;  // share of frames that come late
  std::uint64_t delay_ns = 5'000;
  std::uint64_t late_ns = 20'000;       // additional delay of those
  std::uint64_t frame_ns = 0;           // transmission time of a frame to a port
  std::uint64_t queue_ns = UINT64_MAX;  // longest queue before a port; further frames are dropped
};

inline Mac mac_of(unsigned number) {
  return {
      {0x02, 0, 0, 0, static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)}};
}

// A switch: a frame goes to the port with its destination's MAC, or to all.
class Cable {
 public:
  explicit Cable(std::uint64_t seed) : random_(seed) {}

  CableFaults faults;
  std::uint64_t now_ns = 1'000'000;
  std::uint64_t carried = 0;
  std::uint64_t lost = 0;
  // Cut off: the port neither sends nor receives, and nobody is notified.
  std::vector<bool> silent;

  // Receives the frames of a port.
  using Hear = std::function<void(std::span<const std::byte>)>;
  std::size_t plug(Mac mac, Hear hear) {
    ports_.push_back({.mac = mac, .hear = std::move(hear)});
    silent.push_back(false);
    return ports_.size() - 1;
  }
  void replug(std::size_t port, Mac mac) { ports_[port].mac = mac; }

  void put(std::size_t from, std::span<const std::byte> frame) {
    if (silent[from]) return;
    Mac to;
    std::memcpy(to.bytes.data(), frame.data(), to.bytes.size());
    for (std::size_t port = 0; port < ports_.size(); ++port) {
      if (port == from || (to != kBroadcast && to != ports_[port].mac)) continue;
      ++carried;
      const unsigned copies = random_.chance(faults.duplication) ? 2 : 1;
      for (unsigned i = 0; i < copies; ++i)
        put_one(port, frame);
    }
  }
  // Delivers frames that are due.
  void deliver() {
    while (!flying_.empty() && flying_.begin()->first.first <= now_ns) {
      auto node = flying_.extract(flying_.begin());
      const auto& [port, bytes] = node.mapped();
      if (!silent[port]) ports_[port].hear(bytes);
    }
  }

 private:
  struct Port {
    Mac mac;
    Hear hear;
    std::uint64_t free_at_ns = 0;
  };
  void put_one(std::size_t port, std::span<const std::byte> frame) {
    std::uint64_t& free_at_ns = ports_[port].free_at_ns;
    const std::uint64_t begin_ns = std::max(now_ns, free_at_ns);
    if (random_.chance(faults.loss) || begin_ns - now_ns > faults.queue_ns) {
      ++lost;
      return;
    }
    std::vector<std::byte> bytes(frame.begin(), frame.end());
    if (random_.chance(faults.damage))
      bytes[random_.below(bytes.size())] ^= static_cast<std::byte>(1U << random_.below(8));
    free_at_ns = begin_ns + faults.frame_ns;
    std::uint64_t due = free_at_ns + faults.delay_ns;
    if (random_.chance(faults.overtaking)) due += random_.below(faults.late_ns + 1);
    flying_.emplace(std::pair{due, ++order_}, std::pair{port, std::move(bytes)});
  }

  Random random_;
  std::vector<Port> ports_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::pair<std::size_t, std::vector<std::byte>>>
      flying_;
  std::uint64_t order_ = 0;
};

// A link layer and the packets that it delivered. Packets contain their number and a pattern made
// from it.
class Node final : public WireEvents, public FramePort {
 public:
  Node(Cable& cable, const LinkOptions& options, NicAddress address, Mac mac)
      : cable_(&cable), mac_(mac), options_(options) {
    port_ = cable.plug(mac, [this](std::span<const std::byte> frame) {
      if (layer) layer->receive(frame, cable_->now_ns, *this);
    });
    start(address);
  }

  void start(NicAddress address) {
    layer = std::make_unique<LinkLayer>(options_, address, mac_);
    layer->set_link(true, cable_->now_ns);
    options_.seed += 1000;  // for the next start
  }
  void move_to(Mac mac) {
    mac_ = mac;
    cable_->replug(port_, mac);
  }

  [[nodiscard]] bool send(NicAddress to, std::uint32_t number, std::size_t bytes = 100) {
    std::vector<std::byte> payload(bytes, static_cast<std::byte>(number));
    std::array<std::byte, 4> header{};
    std::memcpy(header.data(), &number, sizeof number);
    return layer->send(to, header, payload);
  }
  unsigned turn() { return layer->transmit(cable_->now_ns, *this); }

  void on_packet(NicAddress from, std::span<const std::byte> packet) override {
    std::uint32_t number = 0;
    if (packet.size() < sizeof number) {
      ++damaged;
      return;
    }
    std::memcpy(&number, packet.data(), sizeof number);
    for (const std::byte byte : packet.subspan(sizeof number)) {
      if (byte != static_cast<std::byte>(number)) {
        ++damaged;
        break;
      }
    }
    got[from].push_back(number);
    if (on_number) on_number(from, number);
  }
  void on_link(bool, NicAddress) override {}

  std::span<std::byte> begin_frame(std::size_t bytes) override {
    if (frames_left == 0) return {};
    --frames_left;
    frame_.assign(bytes, std::byte{0xee});
    return frame_;
  }
  void end_frame() override { cable_->put(port_, frame_); }

  [[nodiscard]] std::uint64_t count(LinkCount id) const { return layer->stats().get(id); }

  std::unique_ptr<LinkLayer> layer;
  std::map<NicAddress, std::vector<std::uint32_t>> got;
  std::uint64_t damaged = 0;
  std::uint64_t frames_left = UINT64_MAX;  // frames that the port still accepts
  std::function<void(NicAddress, std::uint32_t)> on_number;
  [[nodiscard]] std::size_t port() const { return port_; }

 private:
  Cable* cable_;
  Mac mac_;
  LinkOptions options_;
  std::size_t port_ = 0;
  std::vector<std::byte> frame_;
};

struct Rig {
  explicit Rig(std::uint64_t seed, unsigned count = 2, LinkOptions options = small_options())
      : cable(seed) {
    for (unsigned i = 1; i <= count; ++i) {
      options.seed = seed * 100 + i;
      nodes.push_back(std::make_unique<Node>(cable, options, i, mac_of(i)));
    }
  }
  static LinkOptions small_options() {
    return {.packet_bytes = 1024, .peers = 8, .send_packets = 1024, .store_packets = 256};
  }
  Node& operator[](std::size_t i) { return *nodes[i]; }

  static constexpr std::uint64_t kStepNs = 1'000;
  void run(std::uint64_t for_ns) {
    for (const std::uint64_t end = cable.now_ns + for_ns; cable.now_ns < end;
         cable.now_ns += kStepNs) {
      cable.deliver();
      for (auto& node : nodes)
        node->turn();
    }
  }
  // False: the condition was not met in time.
  template <class Condition>
  bool run_until(std::uint64_t for_ns, const Condition& is_met) {
    for (const std::uint64_t end = cable.now_ns + for_ns; cable.now_ns < end; run(kStepNs)) {
      if (is_met()) return true;
    }
    return is_met();
  }
  // Sends the numbers first … last from node 1 to node 2 as fast as they are accepted. False: not
  // all arrived.
  bool stream(std::uint32_t first, std::uint32_t last, std::uint64_t for_ns,
              std::size_t bytes = 100) {
    const std::size_t before = nodes[1]->got[1].size();
    std::uint32_t next = first;
    return run_until(for_ns, [&] {
      while (next <= last && nodes[0]->send(2, next, bytes))
        ++next;
      return next > last && nodes[1]->got[1].size() >= before + (last - first + 1);
    });
  }

  Cable cable;
  std::vector<std::unique_ptr<Node>> nodes;
};

inline std::vector<std::uint32_t> numbers(std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = first; i <= last; ++i)
    all.push_back(i);
  return all;
}

inline constexpr std::uint64_t kMs = 1'000'000;

}  // namespace plnet::cassini::soft::link
