// SPDX-License-Identifier: BSD-3-Clause
// An RDMA device that only records calls: listeners, rejections, hand-overs, adoptions. A test
// makes connection requests.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "node/net/o2ib/adapter.hpp"

namespace plnet::node {

struct FakeWire {
  std::vector<o2iblnd::Ipv4Endpoint> listening;
  std::vector<std::vector<std::byte>> rejections;
  std::vector<O2ibRequest> adopted;
  unsigned discarded = 0;
  unsigned event_polls = 0;
  unsigned pairs = 0;  // existing queue pairs
  bool removed = false;
  std::optional<Errc> listen_fails;
  std::optional<Errc> make_fails;
  o2iblnd::VerbsEvents* listener = nullptr;  // the latest listening user
  O2ibRequest asked;                         // the current request of the peer
};

class FakeVerbs final : public o2iblnd::VerbsDriver {
 public:
  FakeVerbs(FakeWire& wire, o2iblnd::VerbsEvents& user) : wire_(wire), user_(user) {}

  bool post_chain(o2iblnd::QueuePairId, std::span<const o2iblnd::WorkRequest>) override {
    return false;
  }
  std::size_t post_receives(o2iblnd::QueuePairId,
                            std::span<const o2iblnd::ReceiveRequest>) override {
    return 0;
  }
  Result<o2iblnd::RemoteKey> remote_key(const Fragment&) override { return o2iblnd::RemoteKey{}; }
  Result<o2iblnd::QueuePairId> connect(const o2iblnd::Ipv4Endpoint&, const o2iblnd::Ipv4Endpoint&,
                                       const o2iblnd::QueuePairSize&,
                                       const o2iblnd::ConnectParameters&,
                                       std::span<const std::byte>) override {
    return std::unexpected(Errc::kNoMemory);
  }
  Result<void> listen(const o2iblnd::Ipv4Endpoint& local) override {
    if (wire_.listen_fails) return std::unexpected(*wire_.listen_fails);
    wire_.listening.push_back(local);
    wire_.listener = &user_;
    return {};
  }
  void stop_listening(const o2iblnd::Ipv4Endpoint& local) override {
    std::erase(wire_.listening, local);
  }
  Result<void> prepare(o2iblnd::QueuePairId, const o2iblnd::QueuePairSize&) override { return {}; }
  Result<void> accept(o2iblnd::QueuePairId, const o2iblnd::ConnectParameters&,
                      std::span<const std::byte>) override {
    return {};
  }
  void reject(o2iblnd::QueuePairId, std::span<const std::byte> data) override {
    wire_.rejections.emplace_back(data.begin(), data.end());
  }
  void to_error(o2iblnd::QueuePairId) override {}
  const o2iblnd::DeviceLimits& limits() const override { return limits_; }
  CounterView counters() const override { return {}; }

 private:
  FakeWire& wire_;
  o2iblnd::VerbsEvents& user_;
  o2iblnd::DeviceLimits limits_{.work_requests_max = 4096, .gather_max = 2, .inline_bytes_max = 64};
};

class FakePairs final : public O2ibQueuePairs, private Pollable {
 public:
  FakePairs(FakeWire& wire, o2iblnd::VerbsEvents& user) : wire_(wire), driver_(wire, user) {
    ++wire_.pairs;
  }
  ~FakePairs() override { --wire_.pairs; }

  o2iblnd::VerbsDriver& driver() override { return driver_; }
  Pollable& pollable() override { return *this; }
  std::optional<O2ibRequest> hand_over(o2iblnd::QueuePairId) override { return wire_.asked; }
  void adopt(const O2ibRequest& request) override { wire_.adopted.push_back(request); }

 private:
  unsigned poll(Instant) override { return 0; }
  [[nodiscard]] std::string_view name() const override { return "fake"; }

  FakeWire& wire_;
  FakeVerbs driver_;
};

class FakeAdapter final : public O2ibAdapter {
 public:
  explicit FakeAdapter(FakeWire& wire) : wire_(wire) {}

  Outcome<std::unique_ptr<O2ibQueuePairs>> make(const O2ibPairsConfig&,
                                                o2iblnd::VerbsEvents& events) override {
    if (wire_.make_fails) return failure(*wire_.make_fails, "ibv_create_cq: as the test wants");
    return std::make_unique<FakePairs>(wire_, events);
  }
  unsigned poll_events(Instant) override {
    ++wire_.event_polls;
    return 0;
  }
  void discard(const O2ibRequest&) override { ++wire_.discarded; }
  std::string name() const override { return "fake0 port 1"; }
  bool is_gone() const override { return gone_; }
  void look_at_removal() override { gone_ = gone_ || wire_.removed; }

 private:
  FakeWire& wire_;
  bool gone_ = false;
};

}  // namespace plnet::node
