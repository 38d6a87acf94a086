// SPDX-License-Identifier: BSD-3-Clause
// Two processes on NICs that are no stricter than hardware.
#pragma once

#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft::rigs {

struct LenientPair : testing::Test {
  LenientPair() : LenientPair(PortalRequest{.matching = true}) {}
  explicit LenientPair(const PortalRequest& portal)
      : a(make(1), [this](std::uint64_t now) { fabric.step(now); },
          {.address = 1, .pid = 7, .portal = portal}),
        b(make(2), [this](std::uint64_t now) { fabric.step(now); },
          {.address = 2, .pid = 9, .portal = portal}) {}
  Nic& make(NicAddress address) { return fabric.add({.address = address, .strict = false}); }
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

  Fabric fabric;
  Host a, b;
};

}  // namespace plnet::cassini::soft::rigs
