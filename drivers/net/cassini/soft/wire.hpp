// SPDX-License-Identifier: BSD-3-Clause
// What a software NIC asks of the cable: packets to another NIC by its address. A packet may be
// lost, repeated, late or out of turn, but never changed and never cut: whoever carries it checks.
//
// One Wire belongs to one Nic and is called by the thread that steps it. Nothing here calls back
// before it returns, except poll().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/counters.hpp"

namespace plnet::cassini::soft {

using NicAddress = std::uint32_t;  // 20 bits

class WireEvents {
 public:
  virtual ~WireEvents() = default;

  // `packet` is header and payload as the sender gave them; valid until this returns.
  virtual void on_packet(NicAddress from, std::span<const std::byte> packet) = 0;
  // The cable came or went, or the address that the fabric gives this NIC is another now.
  virtual void on_link(bool up, NicAddress own) = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;

  // Largest header and payload together. A wire that carries whole messages says SIZE_MAX.
  [[nodiscard]] virtual std::size_t packet_bytes_max() const = 0;
  // The same for one receiver, which may have less room. As long as it has not said how much, what
  // every one has.
  [[nodiscard]] virtual std::size_t packet_bytes_max_to(NicAddress to) const = 0;
  // Copies both before it returns. False: no room now, ask again after poll().
  [[nodiscard]] virtual bool send(NicAddress to, std::span<const std::byte> header,
                                  std::span<const std::byte> payload) = 0;
  // Hands up what came, a bounded burst, and moves what waits. Returns how much was done.
  virtual unsigned poll(std::uint64_t now_ns, WireEvents& events) = 0;
  [[nodiscard]] virtual CounterView counters() const = 0;
};

}  // namespace plnet::cassini::soft
