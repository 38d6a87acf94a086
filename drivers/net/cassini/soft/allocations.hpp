// SPDX-License-Identifier: BSD-3-Clause
// Objects that one process has allocated on software NICs. Several processes may share the NICs of
// one fabric, protected by its gate.
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
  // The devices are cxi0, cxi1, … in this order. Gate and devices outlive this object.
  Allocations(Gate& gate, std::vector<Nic*> devices);
  // Releases the remaining objects.
  ~Allocations();
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  // libcxi's calls without an object argument.
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
  std::vector<std::unique_ptr<Allocation>> live_;  // in the order of their creation
};

// One allocated object. Derived classes are also the structure that libcxi exposes of it.
class Allocation {
 public:
  Allocation(Allocations& all, Nic& on, std::uint32_t number) : nic(on), key(number), all_(all) {}
  virtual ~Allocation() = default;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  [[nodiscard]] Gate& gate() { return all_.gate_; }
  // Adds another object on the same NIC, with `number` there. The gate is held.
  template <class Object>
  [[nodiscard]] Object& add(std::uint32_t number) {
    auto made = std::make_unique<Object>(all_, nic, number);
    Object& object = *made;
    all_.live_.push_back(std::move(made));
    return object;
  }
  // 0 if it was destroyed, or a negative errno.
  [[nodiscard]] int destroy();
  // Returns the object to the NIC.
  [[nodiscard]] virtual Made<void> release() = 0;

  Nic& nic;
  const std::uint32_t key;  // number of the object on its NIC

 private:
  Allocations& all_;
};

}  // namespace plnet::cassini::soft
