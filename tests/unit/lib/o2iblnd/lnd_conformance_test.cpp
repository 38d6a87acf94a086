// SPDX-License-Identifier: BSD-3-Clause
// The o2ib LND over the simulator's queue pairs, checked against the LND contract.
#include "tests/conformance/lnd_conformance.hpp"

#include "tests/unit/lib/o2iblnd/o2ib_site.hpp"

namespace plnet::o2iblnd::lnd_conformance_test {
namespace {

class O2ibRig final : public conformance::LndRig {
 public:
  O2ibRig(const conformance::LndRigOptions& options, const SimShape& shape,
          const O2ibLndConfig& config)
      : site_(options.seed, shape, 2, node_options(options, config), false) {}
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
    for (unsigned i = 0; i < 2; ++i) {
      site_[i].core().turn(now);
      site_[i].ring();
    }
  }

 private:
  static constexpr unsigned kQuietTurns = 100;

  static NodeOptions node_options(const conformance::LndRigOptions& options,
                                  const O2ibLndConfig& config) {
    NodeOptions node;
    node.lnd = config;
    node.park_percent = options.park_percent;
    node.drop_percent = options.drop_percent;
    node.park_turns_max = options.park_turns_max;
    return node;
  }

  O2ibSite site_;
  Instant asked_ = Instant::min();
  unsigned quiet_turns_ = 0;
};

conformance::LndCase make_case(const char* name, const SimShape& shape,
                               const O2ibLndConfig& config) {
  return {name,
          [shape, config](
              const conformance::LndRigOptions& options) -> std::unique_ptr<conformance::LndRig> {
            return std::make_unique<O2ibRig>(options, shape, config);
          },
          false};  // large ones end after a handshake
}

SimShape rough() {
  SimShape shape = SimShape::rough();
  shape.link.slow = 0;
  shape.shard.stall = 0;
  return shape;
}

O2ibLndConfig small() {
  return NodeOptions{}.lnd;
}

O2ibLndConfig bulk() {
  O2ibLndConfig config = small();
  config.always_bulk = true;
  return config;
}

O2ibLndConfig scarce() {
  O2ibLndConfig config = small();
  config.replies_max = 2;
  config.receives_max = 3;
  config.tunables.ntx = 4;
  config.tunables.cksum = 1;
  return config;
}

O2ibLndConfig mapped() {
  O2ibLndConfig config = small();
  config.tunables.map_on_demand = 257;
  config.tunables.fmr_cache = 0;  // a key used after its end gives no access
  return config;
}

O2ibLndConfig several() {
  O2ibLndConfig config = small();
  config.tunables.conns_per_peer = 3;
  config.tunables.peer_credits = 32;
  config.tunables.wrq_sge = 1;
  return config;
}

}  // namespace
}  // namespace plnet::o2iblnd::lnd_conformance_test

namespace plnet::conformance {

using drivers::SimShape;
namespace o2ib = o2iblnd::lnd_conformance_test;

INSTANTIATE_TEST_SUITE_P(
    O2ib, LndConformance,
    testing::Values(o2ib::make_case("o2ib_calm", SimShape::calm(), o2ib::small()),
                    o2ib::make_case("o2ib_scarce", SimShape::calm(), o2ib::scarce()),
                    o2ib::make_case("o2ib_mapped", SimShape::calm(), o2ib::mapped()),
                    o2ib::make_case("o2ib_several", SimShape::calm(), o2ib::several()),
                    o2ib::make_case("o2ib_rough", o2ib::rough(), o2ib::small()),
                    o2ib::make_case("o2ib_rough_bulk", o2ib::rough(), o2ib::bulk())),
    [](const auto& which) { return which.param.name; });

}  // namespace plnet::conformance
