// SPDX-License-Identifier: BSD-3-Clause
// The objects behind libcxi's structures.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "drivers/net/cassini/soft/allocations.hpp"
#include "drivers/net/cassini/soft/event_queue.hpp"
#include "drivers/net/cassini/soft/libcxi_further.hpp"

namespace plnet::cassini::soft {

template <class Shown, Made<void> (Nic::*Drop)(unsigned)>
struct Object : Shown, Allocation {
  using Allocation::Allocation;
  [[nodiscard]] Made<void> release() override { return (nic.*Drop)(key); }
};
using DomainObject = Object<libcxi::Domain, &Nic::drop_domain>;
using CommandQueueObject = Object<libcxi::CommandQueue, &Nic::drop_command_queue>;
using PortalObject = Object<libcxi::Portal, &Nic::drop_portal>;
using CounterObject = Object<libcxi::CountingEvent, &Nic::drop_counter>;

struct DeviceObject final : libcxi::Device, Allocation {
  using Allocation::Allocation;
  [[nodiscard]] Made<void> release() override { return {}; }
};

// Programs of the vendor's library find the device of an LNI in the word before it (libcxi_priv.h:
// cxil_lni_priv).
struct DeviceOfLni {
  libcxi::Device* device = nullptr;
};
struct LniObject final : DeviceOfLni, libcxi::Lni, Allocation {
  using Allocation::Allocation;
  [[nodiscard]] Made<void> release() override { return nic.drop_group(key); }
};

struct MappingObject final : Object<libcxi::Mapping, &Nic::unmap> {
  using Object::Object;
  std::uint32_t flags = 0;
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

// Its descriptor signals POLLPRI while there is something that clear() has not seen, as the
// kernel's does (an attribute of sysfs).
struct WaitObject final : libcxi::WaitObject, Waker {
  int fd = -1;          // the process polls this one
  int other = -1;       // urgent bytes come from here
  unsigned queues = 0;  // that tell it
  std::atomic<bool> told{false};
  void wake() override;
  void clear();
};

struct EventQueueObject final : Object<libcxi::EventQueue, &Nic::drop_event_queue> {
  using Object::Object;
  std::array<WaitObject*, 2> waits{};
  std::span<std::byte> next;  // while it is being resized
  std::uint64_t flags = 0;
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

template <class Behind, class Shown>
[[nodiscard]] int destroy(Shown* shown) {
  return shown == nullptr ? -EINVAL : behind<Behind>(shown).destroy();
}

[[nodiscard]] inline int result_of(const Made<void>& done) {
  return done ? 0 : -done.error();
}

// Many of libcxi's numbers are of 16 bits.
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
