// SPDX-License-Identifier: BSD-3-Clause
// The sizes of router buffers: without payload, up to a page, and up to LNET_MTU. Numbers and their
// meaning are those of lustre-release lnet/lnet/router.c: lnet_rtrpools_alloc().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

enum class BufferClass : std::uint8_t { kTiny, kSmall, kLarge };
inline constexpr std::size_t kBufferClasses = 3;

template <class T>
class ByBufferClass {
 public:
  [[nodiscard]] T& operator[](BufferClass which) { return of_[static_cast<std::size_t>(which)]; }
  [[nodiscard]] const T& operator[](BufferClass which) const {
    return of_[static_cast<std::size_t>(which)];
  }
  [[nodiscard]] auto begin() { return of_.begin(); }
  [[nodiscard]] auto end() { return of_.end(); }
  [[nodiscard]] auto begin() const { return of_.begin(); }
  [[nodiscard]] auto end() const { return of_.end(); }

  std::array<T, kBufferClasses> of_{};

  friend bool operator==(const ByBufferClass&, const ByBufferClass&) = default;
};

inline constexpr std::array<BufferClass, kBufferClasses> kAllBufferClasses{
    BufferClass::kTiny, BufferClass::kSmall, BufferClass::kLarge};

using BufferCounts = ByBufferClass<std::uint32_t>;
inline constexpr BufferCounts kBufferBytes{{0, 4096, kPayloadBytesMax}};
inline constexpr BufferCounts kBuffersDefault{{2048, 16384, 1024}};
inline constexpr BufferCounts kBuffersAdvised{{512, 4096, 256}};  // fewer cause waits under load

// The first class whose buffers hold this many bytes.
[[nodiscard]] constexpr BufferClass buffer_class_of(std::uint32_t bytes) {
  PLNET_DEBUG_CHECK(bytes <= kPayloadBytesMax, "a forwarded payload is no longer than LNET_MTU");
  if (bytes == 0) return BufferClass::kTiny;
  return bytes <= kBufferBytes[BufferClass::kSmall] ? BufferClass::kSmall : BufferClass::kLarge;
}

[[nodiscard]] constexpr std::uint64_t bytes_of(const BufferCounts& counts) {
  std::uint64_t sum = 0;
  for (const BufferClass each : kAllBufferClasses)
    sum += std::uint64_t{counts[each]} * kBufferBytes[each];
  return sum;
}

}  // namespace plnet::lnet
