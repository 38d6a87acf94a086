// SPDX-License-Identifier: BSD-3-Clause
// A stranger that sends to test nodes messages that consoles and clients never would: of other
// sessions, of other versions, of unknown types, incomplete ones, and tests that no node could run.
#pragma once

#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <span>

#include "apps/lnet-selftest/sim/selftest_site.hpp"
#include "tests/sim/tcp_node.hpp"

namespace plnet::sim {

class SelftestStranger {
 public:
  SelftestStranger(SelftestSite& site, std::uint64_t seed)
      : random_(Random(seed).fork("stranger")) {
    const drivers::HostId host = site.network().add_host();
    (void)site.network().add_address(host, drivers::mapped_ipv4(nid().address32()));
    lcore_ = std::make_unique<drivers::SimShard>(site.network(), host, drivers::ShardShape{}, seed,
                                                 1U << 20);
    node_ = std::make_unique<TcpNode>(
        TcpNodeSetup{.nid = nid(), .interface_cookie = 77, .start = site.loop().now()},
        site.streams(), *lcore_);
  }

  // The first few nodes given are its targets from then on.
  void bother(unsigned node) {
    if (known_ < victims_.size()) victims_[known_++] = node;
    const std::array<std::byte, selftest::kMessageBytes> message = drawn();
    const auto service = static_cast<selftest::Service>(random_.below(14));
    // Most are complete.
    const std::size_t length = random_.below(8) == 0 ? random_.below(160) : message.size();
    node_->put({.nid = SelftestSite::nid_of(victims_[random_.below(known_)])},
               selftest::portal_of(service), static_cast<std::uint64_t>(service),
               std::span(message).first(length));
    lcore_->ring();
  }

 private:
  using Message = std::array<std::byte, selftest::kMessageBytes>;

  static lnet::Nid nid() { return lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a00'00fe); }

  template <class Body>
  Message encoded(const Body& body, std::uint32_t features = selftest::kFeaturesKnown) {
    Message message{};
    selftest::encode(features, body, message);
    return message;
  }
  Message drawn() {
    const selftest::SessionId other{.nid = random_.next(), .stamp = 7};
    Message message{};
    switch (random_.below(8)) {
      case 0: message = encoded(selftest::RemoveSessionRequest{.session = other}); break;
      case 1: message = encoded(selftest::StatRequest{.session = other}); break;
      case 2:
        message = encoded(selftest::BatchRequest{
            .session = other, .batch = 2, .operation = selftest::BatchOperation::kStop});
        break;
      case 3: message = encoded(selftest::MakeSessionRequest{.session = other, .force = 0}); break;
      case 4:  // unknown features
        message = encoded(selftest::MakeSessionRequest{.session = other, .force = 1}, 0x8000'0000U);
        break;
      case 5:
        message = encoded(selftest::TestRequest{.session = other,
                                                .service = selftest::Service::kBrw,
                                                .loop = 0,
                                                .concurrency = 1'000'000,
                                                .is_client = 1,
                                                .destinations = 1024});
        break;
      case 6:
        message = encoded(selftest::BrwRequest{.reply_id = 1, .bulk_id = 2, .length = 3});
        break;
      default:
        for (std::byte& each : message)
          each = static_cast<std::byte>(random_.below(256));
    }
    // Another version, or an unknown magic.
    const std::uint64_t where = random_.below(16);
    if (where < 8) message[where] = static_cast<std::byte>(random_.below(256));
    return message;
  }

  Random random_;
  std::unique_ptr<drivers::SimShard> lcore_;
  std::unique_ptr<TcpNode> node_;
  std::array<unsigned, 8> victims_{};
  std::size_t known_ = 0;
};

}  // namespace plnet::sim
