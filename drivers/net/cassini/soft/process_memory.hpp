// SPDX-License-Identifier: BSD-3-Clause
// The memory of this process as the kernel sees it, which pins pages for a device and refuses those
// that are not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace plnet::cassini::soft {

struct MemorySeen {
  bool whole = false;     // no hole in it
  bool readable = false;  // all of it
  bool writable = false;  // all of it
};
// Allocates nothing. A length of 0 is whole.
[[nodiscard]] MemorySeen look_at_memory(const void* begin, std::size_t length);

// Calls `part(offset, length)` for runs of pages that are in memory now, of the first 1 GiB.
// `begin` is at a page.
inline constexpr std::size_t kPresentLookedAt = std::size_t{1} << 30U;
void for_each_present(std::byte* begin, std::size_t length,
                      const std::function<void(std::size_t, std::size_t)>& part);

// The size of the pages behind this address; the system's page size where no memory is.
[[nodiscard]] std::size_t page_size_at(const void* address);

}  // namespace plnet::cassini::soft
