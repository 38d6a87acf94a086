// SPDX-License-Identifier: BSD-3-Clause
// Two processes on NICs that are no stricter than hardware: joined, or with a wire between them.
#pragma once

#include <memory>

#include "drivers/net/cassini/soft/packet_port.hpp"
#include "drivers/net/cassini/soft/wire_inproc.hpp"
#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft::rigs {

enum class Between { kNothing, kWire };

struct LenientEnds {
  LenientEnds(const PortalRequest& portal, Between between)
      : a(make(1, between), [this](std::uint64_t now) { step(now); },
          {.address = 1, .pid = 7, .portal = portal}),
        b(make(2, between), [this](std::uint64_t now) { step(now); },
          {.address = 2, .pid = 9, .portal = portal}) {}
  Nic& make(NicAddress address, Between between) {
    const NicOptions options{.address = address, .strict = false};
    if (between == Between::kNothing) return fabric.add(options);
    ends.push_back(std::make_unique<WiredEnd>(cable, options));
    return ends.back()->nic;
  }
  void step(std::uint64_t now) {
    fabric.step(now);
    for (const auto& end : ends)
      end->port.step(now);
  }
  // The sticky state of immediate commands.
  void set_state(bool restricted) {
    Slots slot;
    using State = layout::Cstate;
    head(slot.data(), CommandType::kIdc, 0, DmaOpcode::kCstate);
    State::Length::set(slot.data(), State::kBytes);
    State::WriteLac::set(slot.data(), a.lac());
    State::Restricted::set(slot.data(), restricted ? 1 : 0);
    State::EventSendDisable::set(slot.data(), 1);
    State::Initiator::set(slot.data(), a.id());
    State::Eq::set(slot.data(), a.eq);
    a.tx.push(slot.data(), 0);
  }
  // To portal index 0 of b.
  template <class Layout>
  void address(std::byte* slot, std::uint64_t offset) const {
    Layout::EndpointDefined::set(slot, endpoint_defined(9, 0));
    Layout::Nid::set(slot, 2);
    Layout::RemoteOffset::set(slot, offset);
  }

  struct WiredEnd {
    WiredEnd(InprocCable& cable, const NicOptions& options)
        : nic(options),
          wire(cable, options.address),
          port(nic, wire, {.source_connections = 16, .target_connections = 16}) {}
    Nic nic;
    InprocWire wire;
    PacketPort port;
  };
  Fabric fabric;
  InprocCable cable{WireFaults{}};
  std::vector<std::unique_ptr<WiredEnd>> ends;
  Host a, b;
};

struct LenientPair : testing::Test, LenientEnds {
  LenientPair() : LenientPair(PortalRequest{.matching = true}) {}
  explicit LenientPair(const PortalRequest& portal) : LenientEnds(portal, Between::kNothing) {}
};

// TEST_P, with INSTANTIATE_TEST_SUITE_P(…, testing::Values(Between::kNothing, Between::kWire)).
struct LenientOnBoth : testing::TestWithParam<Between>, LenientEnds {
  LenientOnBoth() : LenientOnBoth(PortalRequest{.matching = true}) {}
  explicit LenientOnBoth(const PortalRequest& portal) : LenientEnds(portal, GetParam()) {}
};

}  // namespace plnet::cassini::soft::rigs
