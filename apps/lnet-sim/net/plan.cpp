// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/net/plan.hpp"

#include <chrono>
#include <span>

#include <fmt/format.h>

namespace plnet::sim {

using drivers::Direction;
using drivers::Fault;
using drivers::Seam;
using lnet::NetType;
using lnet::Nid;

namespace {

constexpr NetTraits kTcp{.name = "tcp",
                         .seam = Seam::kStream,
                         .type = NetType::kTcp,
                         .lends_credits = true,
                         .holds_links = true,
                         .one_connection = true};
constexpr NetTraits kO2ib{
    .name = "o2ib", .seam = Seam::kVerbs, .type = NetType::kO2ib, .one_connection = true};
constexpr NetTraits kKfi{.name = "kfi",
                         .seam = Seam::kEndpoint,
                         .type = NetType::kKfi,
                         .is_lazy = false,
                         .holds_links = true,
                         .loses_silently = true,
                         .has_cables = true};

struct Choice {
  Fault fault;
  Direction direction;
  bool breaks;  // breaks a connection: rare, otherwise no message would be sent completely
};
constexpr std::array kStreamChoices{
    Choice{Fault::kDelay, Direction::kTx, false}, Choice{Fault::kDelay, Direction::kRx, false},
    Choice{Fault::kStall, Direction::kTx, false}, Choice{Fault::kStall, Direction::kRx, false},
    Choice{Fault::kSplit, Direction::kTx, false}, Choice{Fault::kTruncate, Direction::kTx, true},
    Choice{Fault::kReset, Direction::kTx, true},  Choice{Fault::kReset, Direction::kRx, true}};
constexpr std::array kVerbsChoices{
    Choice{Fault::kDelay, Direction::kRx, false}, Choice{Fault::kStall, Direction::kTx, false},
    Choice{Fault::kReset, Direction::kTx, true}, Choice{Fault::kReset, Direction::kRx, true},
    Choice{Fault::kFail, Direction::kRx, true}};

}  // namespace

const NetTraits& traits_of(NetKind kind) {
  switch (kind) {
    case NetKind::kTcp: return kTcp;
    case NetKind::kO2ib: return kO2ib;
    case NetKind::kKfi: break;
  }
  return kKfi;
}

Nid nid_of(const NetPlan& net, unsigned number, unsigned interface, std::uint32_t node) {
  const NetTraits& traits = traits_of(net.kind);
  // A NIC's address has 20 bits, and changes while its cable is moved (KfiFabric).
  const std::uint32_t address = traits.has_cables
                                    ? interface << 16 | (node + 1)
                                    : 10U << 24 | (number * 8 + interface) << 16 | (node + 1);
  return Nid::of(traits.type, static_cast<std::uint16_t>(number), address);
}

Outcome<void> check_faults(const NetPlan& net) {
  for (const drivers::FaultRule& rule : net.faults.view()) {
    if (net.kind == NetKind::kTcp && rule.fault == Fault::kCorrupt) {
      return failure(Errc::kInvalid, "corrupt: TCP's checksum would catch it");
    }
    const bool spoils = rule.fault == Fault::kCorrupt || rule.fault == Fault::kTruncate;
    if (net.kind == NetKind::kKfi && spoils) {
      return failure(Errc::kInvalid,
                     fmt::format("{}: the NIC's CRC would catch it", drivers::name_of(rule.fault)));
    }
  }
  return drivers::check_plan(net.faults, traits_of(net.kind).seam);
}

drivers::FaultPlan drawn_faults(NetKind kind, Random& random) {
  const std::span<const Choice> choices = kind == NetKind::kO2ib
                                              ? std::span<const Choice>(kVerbsChoices)
                                              : std::span<const Choice>(kStreamChoices);
  drivers::FaultPlan plan;
  const auto count = random.between(1, 3);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Choice& choice = choices[random.below(choices.size())];
    drivers::FaultRule rule{.fault = choice.fault, .direction = choice.direction};
    rule.probability = choice.breaks ? 0.002 * static_cast<double>(random.between(1, 10))
                                     : 0.01 * static_cast<double>(random.between(1, 20));
    rule.delay = std::chrono::microseconds(random.between(1, 3000));
    (void)plan.add(rule);
  }
  return plan;
}

}  // namespace plnet::sim
