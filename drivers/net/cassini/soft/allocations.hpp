// SPDX-License-Identifier: BSD-3-Clause
// Objects that one process has allocated from software NICs. Several processes may share the NICs
// of one fabric, behind its gate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "drivers/net/cassini/libcxi_abi.hpp"
#include "drivers/net/cassini/soft/gate.hpp"
#include "drivers/net/cassini/soft/nic.hpp"

namespace plnet::cassini::soft {

class Allocation;

class Allocations {
 public:
  // The devices are cxi0, cxi1, … in this order. All of that lives longer.
  Allocations(Gate& gate, std::vector<Nic*> devices);
  // Gives back what is left.
  ~Allocations();
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  // libcxi's calls that name no object.
  [[nodiscard]] int get_device_list(libcxi::DeviceList** list);
  [[nodiscard]] int open_device(std::uint32_t id, libcxi::Device** device);

  [[nodiscard]] Gate& gate() { return gate_; }
  [[nodiscard]] Nic& nic(unsigned id) { return *devices_[id]; }
  [[nodiscard]] std::size_t count() const { return live_.size(); }

 private:
  friend class Allocation;
  [[nodiscard]] libcxi::DeviceInfo info_of(unsigned id) const;

  Gate& gate_;
  std::vector<Nic*> devices_;
  std::vector<std::unique_ptr<Allocation>> live_;  // in the order of their making
};

// One of them. Derived classes are also the structure that libcxi shows of the object.
class Allocation {
 public:
  Allocation(Allocations& all, Nic& on, std::uint32_t number) : nic(on), key(number), all_(all) {}
  virtual ~Allocation() = default;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  [[nodiscard]] Gate& gate() { return all_.gate_; }
  // Another object on the same NIC, which is `number` there. With the gate held.
  template <class Object>
  [[nodiscard]] Object& add(std::uint32_t number) {
    auto made = std::make_unique<Object>(all_, nic, number);
    Object& object = *made;
    all_.live_.push_back(std::move(made));
    return object;
  }
  // 0, and it is gone, or a negative errno.
  [[nodiscard]] int destroy();
  // Gives it back to the NIC.
  [[nodiscard]] virtual Made<void> release() = 0;

  Nic& nic;
  const std::uint32_t key;  // of the object on its NIC

 private:
  Allocations& all_;
};

}  // namespace plnet::cassini::soft
