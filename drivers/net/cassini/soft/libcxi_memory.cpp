// SPDX-License-Identifier: BSD-3-Clause
// libcxi's functions for the memory that a NIC may reach (shs-cxi-driver: cass_atu.c). Pages are
// not pinned: a process that unmaps memory under a mapping crashes when the NIC writes to it.
#include <cerrno>

#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/libcxi_objects.hpp"
#include "drivers/net/cassini/soft/process_memory.hpp"

namespace plnet::cassini::libcxi {
namespace {

using soft::behind;
using soft::Gate;
using soft::look_at_memory;

constexpr int kPageShift = 12;
constexpr int kHugeShift = 21;
constexpr std::uintptr_t kPageMask = (std::uintptr_t{1} << kPageShift) - 1;

struct Range {
  std::byte* begin;
  std::size_t length;
};

// The kernel maps whole pages; the strict NIC only the bytes that were asked for.
Range range_of(void* va, std::size_t length, bool strict) {
  if (strict) return {static_cast<std::byte*>(va), length};
  const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(va) & kPageMask;
  return {static_cast<std::byte*>(va) - before, (length + before + kPageMask) & ~kPageMask};
}

bool overflows(const void* va, std::size_t length) {
  std::uintptr_t end = 0;
  return __builtin_add_overflow(reinterpret_cast<std::uintptr_t>(va), length, &end);
}

// Mappings with the same flags and page sizes share an address context; what the device may do and
// when pages come makes no difference (cass_core.h: ATU_FLAGS_MASK).
std::uint64_t kind_of(std::uint32_t flags, const MapHints* hints) {
  constexpr std::uint32_t kSame =
      kMapRead | kMapWrite | kMapAllocateOnly | kMapFault | kMapPrefetch;
  constexpr unsigned kModeShift = 32;
  const auto mode = hints != nullptr && hints->table_mode_valid ? hints->table_mode + 1 : 0;
  return std::uint64_t{flags & ~kSame} | static_cast<std::uint64_t>(mode) << kModeShift;
}

// 0 or a negative errno.
int check_flags(std::uint32_t flags, const MapHints* hints) {
  const bool is_pinned = (flags & kMapPin) != 0;
  if (is_pinned && (flags & (kMapFault | kMapPrefetch)) != 0) return -EINVAL;
  if (hints != nullptr && hints->table_mode_valid &&
      (hints->table_mode < 0 || hints->table_mode >= kTableModes))
    return -EINVAL;
  // There is neither an IOMMU that translates nor device memory.
  if ((flags & (kMapTranslated | kMapDevice)) != 0) return -EOPNOTSUPP;
  return 0;
}

// Pages that are pinned or asked for now must be there, and allow what the device may do.
int check_pages(const void* va, std::size_t length, std::uint32_t flags) {
  if ((flags & (kMapPin | kMapFault)) == 0) return 0;
  const soft::MemorySeen seen = look_at_memory(va, length);
  const bool allowed = seen.whole && seen.readable && (seen.writable || (flags & kMapWrite) == 0);
  if (allowed) return 0;
  return (flags & kMapPin) != 0 ? -EFAULT : -EINVAL;
}

// Pages that are there now, or were made to be there, need no request later.
void tell_pages(soft::Nic& nic, unsigned number, std::uint32_t flags) {
  const soft::MappingEntry& entry = nic.mapping(number);
  if ((flags & kMapFault) != 0) {
    nic.know_pages(number, 0, entry.length);
  } else if ((flags & kMapPrefetch) != 0) {
    soft::for_each_present(entry.va, entry.length, [&](std::size_t offset, std::size_t length) {
      nic.know_pages(number, offset, length);
    });
  }
}

}  // namespace

int cxil_map(Lni* lni, void* va, std::size_t length, std::uint32_t flags, MapHints* hints,
             Mapping** mapping) {
  if (lni == nullptr || mapping == nullptr || length == 0) return -EINVAL;
  if (overflows(va, length)) return -EOVERFLOW;
  if (const int error = check_flags(flags, hints); error != 0) return error;
  if (const int error = check_pages(va, length, flags); error != 0) return error;
  auto& owner = behind<soft::LniObject>(lni);
  const Gate::Held held(owner.gate());
  const bool is_strict = owner.nic.tables().strict;
  const Range range = range_of(va, length, is_strict);
  soft::MapRequest request{.read = (flags & kMapRead) != 0,
                           .write = (flags & kMapWrite) != 0,
                           .on_demand = (flags & kMapPin) == 0};
  if (!is_strict) request.kind = kind_of(flags, hints);
  const auto number = owner.nic.map(owner.key, range.begin, range.length, request);
  if (!number) return -number.error();
  tell_pages(owner.nic, *number, flags);
  const soft::MappingEntry& entry = owner.nic.mapping(*number);
  auto& made = owner.add<soft::MappingObject>(*number);
  made.iova = entry.iova;
  made.va = reinterpret_cast<std::uintptr_t>(entry.va);
  made.length = entry.length;
  made.lac = entry.lac;
  made.page_shift = kPageShift;
  made.huge_shift = kHugeShift;
  made.id = *number + 1;  // 0 is none
  made.flags = flags;
  *mapping = &made;
  return 0;
}

int cxil_unmap(Mapping* mapping) {
  return soft::destroy<soft::MappingObject>(mapping);
}

// Asks for pages of a mapping that is not pinned; all other flags change nothing.
int cxil_update_md(Mapping* mapping, void* va, std::size_t length, std::uint32_t flags) {
  if (mapping == nullptr) return -EINVAL;
  if (overflows(va, length)) return -EOVERFLOW;
  const auto begin = reinterpret_cast<std::uintptr_t>(va);
  auto& object = behind<soft::MappingObject>(mapping);
  if (begin < object.va || begin + length > object.va + object.length) return -EINVAL;
  if ((flags & kMapFault) == 0 || (object.flags & kMapPin) != 0) return -EINVAL;
  const int error = check_pages(va, length, kMapFault | (object.flags & kMapWrite));
  if (error != 0) return error;
  const Gate::Held held(object.gate());
  object.nic.know_pages(object.key, begin - object.va, length);
  return 0;
}

std::size_t cxil_page_size(void* base) {
  return soft::page_size_at(base);
}

// A child has copies of its own: the NIC works on the memory of the process that mapped it.
bool cxil_is_copy_on_fork() {
  return true;
}

}  // namespace plnet::cassini::libcxi
