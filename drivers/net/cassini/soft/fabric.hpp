// SPDX-License-Identifier: BSD-3-Clause
// Software NICs of one process joined without a wire: messages move whole from the memory of one
// NIC to that of another, in one copy, as part of the command that sends them; long ones slice by
// slice over several steps. One thread steps all of them; Gate explains allocation by other
// threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "drivers/net/cassini/soft/gate.hpp"
#include "drivers/net/cassini/soft/late.hpp"
#include "drivers/net/cassini/soft/nic.hpp"

namespace plnet::cassini::soft {

class Fabric final : private Transport, private Nic::Carrier {
 public:
  // The bytes of one step for each sending NIC, and for all long messages together, plus at most a
  // slice.
  static constexpr std::uint32_t kBytesPerStep = 256U << 10U;
  static constexpr std::uint32_t kSliceBytes = 64U << 10U;

  // At most `flights_max` operations are under way; commands wait for the others.
  explicit Fabric(const Freedom& freedom = {}, unsigned flights_max = 4096);
  ~Fabric() override;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  // The fabric's freedom replaces that of the options.
  Nic& add(NicOptions options);
  // A cable: no message reaches a NIC whose link is down or whose cable is pulled.
  void set_link(Nic& nic, bool up);
  // The fabric calls this NIC by another address from now on. What is under way to or from the old
  // one ends as if no NIC had that address.
  void change_address(Nic& nic, NicAddress address);

  // Returns how much was done. Skips its turn while a thread allocates.
  unsigned step(std::uint64_t now_ns);
  // The time of the last step that took place.
  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }
  // The next due time of an operation under way; UINT64_MAX: none.
  [[nodiscard]] std::uint64_t next_due() const { return late_.next_due(); }
  [[nodiscard]] bool idle() const { return late_.empty(); }
  [[nodiscard]] Gate& gate() { return gate_; }
  [[nodiscard]] std::span<const std::unique_ptr<Nic>> nics() const { return nics_; }

 private:
  [[nodiscard]] bool carries_all() const override { return true; }
  [[nodiscard]] bool ready(NicAddress from) override;
  void start(NicAddress from, const Message& message, const LocalBuffer& local,
             const Completion& completion) override;
  void cut(Nic& nic, unsigned portal, unsigned buffer_id, ListKind list) override;

  [[nodiscard]] Nic* find(NicAddress address);
  [[nodiscard]] Nic* reachable(Nic& source, const Message& message);
  [[nodiscard]] static bool are_joined(Nic& source, Nic& target, const Message& message);
  // Moves one slice. True: everything has moved, or it cannot; `outcome` is then the initiator's.
  bool move(Flight& flight);
  static bool move(Nic& source, const LocalBuffer& local, Nic& target, const Message& message,
                   Delivery& delivery, std::uint32_t& moved, Outcome& outcome);
  static Outcome move_atomic(Nic& source, const LocalBuffer& local, Nic& target,
                             const Message& message, Delivery& delivery);
  unsigned run_late(std::uint64_t now_ns);
  void arrive(Flight& flight);
  // False: more data must be moved first.
  bool conclude(Flight& flight);

  Gate gate_;
  Freedom freedom_;
  Random random_;
  std::uint64_t now_ns_ = 0;
  std::int64_t budget_ = 0;  // bytes to move before others have their turn
  std::vector<std::unique_ptr<Nic>> nics_;
  std::unordered_map<NicAddress, Nic*> by_address_;
  NicAddress last_address_ = ~0U;
  Nic* last_nic_ = nullptr;
  Late late_;
};

}  // namespace plnet::cassini::soft
