// SPDX-License-Identifier: BSD-3-Clause
// The objects behind libcxi's structures.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "drivers/net/cassini/libcxi_abi.hpp"
#include "drivers/net/cassini/soft/allocations.hpp"
#include "drivers/net/cassini/soft/event_queue.hpp"

namespace plnet::cassini::soft {

template <class Shown, Made<void> (Nic::*Drop)(unsigned)>
struct Object : Shown, Allocation {
  using Allocation::Allocation;
  [[nodiscard]] Made<void> release() override { return (nic.*Drop)(key); }
};
using LniObject = Object<libcxi::Lni, &Nic::drop_group>;
using DomainObject = Object<libcxi::Domain, &Nic::drop_domain>;
using MappingObject = Object<libcxi::Mapping, &Nic::unmap>;
using CommandQueueObject = Object<libcxi::CommandQueue, &Nic::drop_command_queue>;
using PortalObject = Object<libcxi::Portal, &Nic::drop_portal>;

struct DeviceObject final : libcxi::Device, Allocation {
  using Allocation::Allocation;
  [[nodiscard]] Made<void> release() override { return {}; }
};

struct ProfileObject final : libcxi::Profile, Allocation {
  using Allocation::Allocation;  // the key is the lcid
  std::uint32_t group = 0;
  [[nodiscard]] Made<void> release() override { return nic.drop_profile(group, key); }
};

struct PortalMapObject final : libcxi::PortalMap, Allocation {
  using Allocation::Allocation;  // the key is that of the domain
  unsigned index = 0;
  [[nodiscard]] Made<void> release() override { return nic.unmap_portal(key, index); }
};

// Readable while there is an event that clear() has not seen.
struct WaitObject final : libcxi::WaitObject, Waker {
  int fd = -1;
  unsigned queues = 0;  // that use it
  std::atomic<bool> told{false};
  void wake() override;
  void clear();
};

struct EventQueueObject final : Object<libcxi::EventQueue, &Nic::drop_event_queue> {
  using Object::Object;
  std::array<WaitObject*, 2> waits{};
  std::span<std::byte> next;  // during a resize
  [[nodiscard]] Made<void> release() override {
    auto gone = Object::release();
    for (WaitObject* const one : waits)
      if (one != nullptr && gone) --one->queues;
    return gone;
  }
};

template <class Behind, class Shown>
[[nodiscard]] Behind& behind(Shown* shown) {
  return static_cast<Behind&>(*shown);
}

// Many of libcxi's numbers have 16 bits.
inline std::uint16_t narrow(unsigned value) {
  return static_cast<std::uint16_t>(std::min(value, 0xffffU));
}

// A count, and from `head` on that many of `make(i)`: freed by operator delete. Null: out of
// memory.
template <class List, class Entry, class Make>
[[nodiscard]] List* make_list(unsigned count, std::size_t head, Make make) {
  auto* const memory =
      static_cast<std::byte*>(::operator new(head + count * sizeof(Entry), std::nothrow));
  if (memory == nullptr) return nullptr;
  for (unsigned i = 0; i < count; ++i)
    new (memory + head + i * sizeof(Entry)) Entry(make(i));
  return new (memory) List{count};
}

}  // namespace plnet::cassini::soft
