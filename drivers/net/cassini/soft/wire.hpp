// SPDX-License-Identifier: BSD-3-Clause
// The cable of a software NIC: packets to another NIC by its address. A packet may be lost,
// repeated, late or out of order, but never changed or cut: the implementation checks that.
//
// One Wire belongs to one Nic and is called by the thread that steps it. Only poll() calls back
// before it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/counters.hpp"

namespace plnet::cassini::soft {

using NicAddress = std::uint32_t;  // 20 bits

// A wire may carry packets of several processes that share a NIC: the number of the process, its
// share, is above the address then. Share 0 is the NIC without sharing.
inline constexpr unsigned kShareShift = 20;
inline constexpr unsigned kSharesMax = 8;
constexpr NicAddress nic_of(NicAddress at) {
  return at & ((1U << kShareShift) - 1);
}
constexpr unsigned share_of(NicAddress at) {
  return at >> kShareShift;
}

class WireEvents {
 public:
  virtual ~WireEvents() = default;

  // `packet` is header and payload as sent; valid during this call. A hostile NIC may change it
  // meanwhile: read each byte once.
  virtual void on_packet(NicAddress from, std::span<const std::byte> packet) = 0;
  // The link changed, or the fabric changed the address of this NIC.
  virtual void on_link(bool up, NicAddress own) = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;

  // Largest header and payload together. A wire of whole messages returns SIZE_MAX.
  [[nodiscard]] virtual std::size_t packet_bytes_max() const = 0;
  // The same for one receiver, which may have less room. Until it has announced its room, the
  // minimum of all.
  [[nodiscard]] virtual std::size_t packet_bytes_max_to(NicAddress to) const = 0;
  // True: it neither loses nor repeats a packet while the other NIC lives.
  [[nodiscard]] virtual bool keeps_all() const { return false; }
  // The NIC with the share of it that has the PID.
  [[nodiscard]] virtual NicAddress route(NicAddress to, unsigned /*vni*/, unsigned /*pid*/) {
    return to;
  }
  // Copies both before it returns. False: no room now, try again after poll().
  [[nodiscard]] virtual bool send(NicAddress to, std::span<const std::byte> header,
                                  std::span<const std::byte> payload) = 0;
  // Delivers received packets, a bounded burst, and sends waiting ones. Returns the amount of work.
  virtual unsigned poll(std::uint64_t now_ns, WireEvents& events) = 0;
  [[nodiscard]] virtual CounterView counters() const = 0;
};

}  // namespace plnet::cassini::soft
