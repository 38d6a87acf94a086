// SPDX-License-Identifier: BSD-3-Clause
// The kfi LND over the simulator's endpoints, checked against the LND contract.
#include "tests/conformance/lnd_conformance.hpp"

#include "tests/unit/lib/kfilnd/kfi_site.hpp"

namespace plnet::kfilnd::lnd_conformance_test {
namespace {

class KfiRig final : public conformance::LndRig {
 public:
  KfiRig(const conformance::LndRigOptions& options, const SimShape& shape, bool always_bulk)
      : site_(options.seed, shape, 2, node_options(options, always_bulk), false) {}
  mocks::FakeCore& a() override { return site_[0].core(); }
  mocks::FakeCore* b() override { return &site_[1].core(); }
  lnet::Lnd& lnd_a() override { return site_[0].lnd(); }
  lnet::Nid nid_b() override { return nid_of(1); }
  // The wire shows no idle state, so quiet must last for a while.
  bool quiet() override {
    const bool again = now() == asked_ + std::chrono::microseconds(1);
    asked_ = now();
    const bool still = site_[0].lnd().idle() && site_[1].lnd().idle();
    quiet_turns_ = again && still ? quiet_turns_ + 1 : 0;
    return quiet_turns_ > kQuietTurns;
  }
  void turn(Instant now) override {
    site_.cluster.loop.run_until(now);
    site_[0].core().turn(now);
    site_[1].core().turn(now);
    site_[0].ring();
    site_[1].ring();
  }

 private:
  static constexpr unsigned kQuietTurns = 100;

  static NodeOptions node_options(const conformance::LndRigOptions& options, bool always_bulk) {
    NodeOptions node;
    node.park_percent = options.park_percent;
    node.drop_percent = options.drop_percent;
    node.park_turns_max = options.park_turns_max;
    node.lnd.always_bulk = always_bulk;
    return node;
  }

  KfiSite site_;
  Instant asked_ = Instant::min();
  unsigned quiet_turns_ = 0;
};

conformance::LndCase make_case(const char* name, const SimShape& shape, bool always_bulk) {
  return {name,
          [shape, always_bulk](
              const conformance::LndRigOptions& options) -> std::unique_ptr<conformance::LndRig> {
            return std::make_unique<KfiRig>(options, shape, always_bulk);
          },
          false};  // nothing is ordered on a fabric
}

SimShape rough() {
  SimShape shape = SimShape::rough();
  shape.endpoint.retries_max = 1000;
  shape.link.slow = 0;
  shape.shard.stall = 0;
  return shape;
}

}  // namespace
}  // namespace plnet::kfilnd::lnd_conformance_test

namespace plnet::conformance {

INSTANTIATE_TEST_SUITE_P(
    Kfi, LndConformance,
    testing::Values(
        kfilnd::lnd_conformance_test::make_case("calm", drivers::SimShape::calm(), false),
        kfilnd::lnd_conformance_test::make_case("calm_bulk", drivers::SimShape::calm(), true),
        kfilnd::lnd_conformance_test::make_case("rough", kfilnd::lnd_conformance_test::rough(),
                                                false),
        kfilnd::lnd_conformance_test::make_case("rough_bulk", kfilnd::lnd_conformance_test::rough(),
                                                true)),
    [](const auto& which) { return which.param.name; });

}  // namespace plnet::conformance
