// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/null/family.hpp"

#include "drivers/net/null/device.hpp"
#include "lib/base/random.hpp"

namespace plnet::node {
namespace {

class NullMaker final : public NetworkMaker {
 public:
  NullMaker(lnet::NetType type, const LndSetup& setup) {
    config_.mode = drivers::NullMode::kEcho;
    config_.net_type = type;
    config_.in_flight_max = setup.messages;
    config_.peers_max = setup.peers;
    config_.arenas = setup.arenas;
  }
  std::unique_ptr<lnet::Lnd> make(lnet::NiPort& port, lnet::ShardId /*shard*/) override {
    return std::make_unique<drivers::NullLnd>(config_, port, random_);
  }

 private:
  drivers::NullConfig config_;
  Random random_{1};  // unused: only sources draw from it
};

class NullHost final : public FamilyHost {
 public:
  [[nodiscard]] std::unique_ptr<NetworkMaker> maker(lnet::NetType type,
                                                    const LndSetup& setup) override {
    return std::make_unique<NullMaker>(type, setup);
  }
};

}  // namespace

Outcome<std::unique_ptr<FamilyHost>> NullFamily::open(const FamilyParts& /*parts*/) const {
  return std::make_unique<NullHost>();
}

}  // namespace plnet::node
