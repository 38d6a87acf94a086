// SPDX-License-Identifier: BSD-3-Clause
// The TCP LND over the simulator's streams, checked against the LND contract.
#include "tests/conformance/lnd_conformance.hpp"

#include "tests/unit/lib/socklnd/tcp_site.hpp"

namespace plnet::socklnd {
namespace {

class TcpRig final : public conformance::LndRig {
 public:
  TcpRig(const conformance::LndRigOptions& options, const SimShape& shape, std::int64_t min_bulk)
      : site_(options.seed, shape, 2,
              {.lnd = {.tunables = {.min_bulk = min_bulk}},
               .park_percent = options.park_percent,
               .drop_percent = options.drop_percent}) {}
  mocks::FakeCore& a() override { return site_[0].core(); }
  mocks::FakeCore* b() override { return &site_[1].core(); }
  lnet::Lnd& lnd_a() override { return site_[0].lnd(); }
  lnet::Nid nid_b() override { return nid_of(1); }
  // Called once a turn while both cores are settled. The wire shows no idle state, so quiet must
  // last for a while.
  bool quiet() override {
    const bool again = now() == asked_ + std::chrono::microseconds(1);
    asked_ = now();
    quiet_turns_ = again && site_[0].lnd().idle() && site_[1].lnd().idle() ? quiet_turns_ + 1 : 0;
    if (quiet_turns_ <= kQuietTurns) return false;
    quiet_turns_ = 0;
    return true;
  }
  void turn(Instant now) override {
    site_.cluster.loop.run_until(now);
    site_[0].core().turn(now);
    site_[1].core().turn(now);
    site_.ring();
  }

 private:
  static constexpr unsigned kQuietTurns = 500;

  TcpSite site_;
  Instant asked_ = Instant::min();
  unsigned quiet_turns_ = 0;
};

// Small and large messages use different connections unless all are small.
conformance::LndCase make_case(const char* name, const SimShape& shape, bool ends_in_order) {
  const std::int64_t min_bulk = ends_in_order ? INT32_MAX : Tunables{}.min_bulk;
  return {name,
          [=](const conformance::LndRigOptions& options) -> std::unique_ptr<conformance::LndRig> {
            return std::make_unique<TcpRig>(options, shape, min_bulk);
          },
          ends_in_order};
}

// The suite waits for 20 ms at most.
SimShape rough() {
  SimShape shape = SimShape::rough();
  shape.link.latency_spread = std::chrono::microseconds(10);
  shape.link.slow = 0;
  shape.shard.stall = 0;
  return shape;
}

}  // namespace
}  // namespace plnet::socklnd

namespace plnet::conformance {

INSTANTIATE_TEST_SUITE_P(
    Tcp, LndConformance,
    testing::Values(socklnd::make_case("calm", drivers::SimShape::calm(), false),
                    socklnd::make_case("rough", socklnd::rough(), false),
                    socklnd::make_case("in_order_calm", drivers::SimShape::calm(), true),
                    socklnd::make_case("in_order_rough", socklnd::rough(), true)),
    [](const auto& which) { return which.param.name; });

}  // namespace plnet::conformance
