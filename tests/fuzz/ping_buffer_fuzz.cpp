// SPDX-License-Identifier: BSD-3-Clause
// Ping buffers from strangers: the walk stays within the bytes and ends; what a well-behaved sender
// could have said builds to a buffer that says the same.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

using namespace plnet::lnet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of the exact size, so that the sanitizer sees a read one byte beyond.
  const std::vector<std::uint8_t> copy(data, data + size);
  const auto view = PingView::parse(std::as_bytes(std::span(copy)));
  if (!view) return 0;
  std::vector<PingEntry> entries;
  bool sayable = true;
  auto walk = view->walk();
  while (const auto entry = walk.next()) {
    entries.push_back(*entry);
    sayable = sayable && entry->nid.is_well_formed() && !entry->nid.is_any() &&
              !entry->nid.is_loopback() && (entry->status == kNiUp || entry->status == kNiDown);
  }
  PLNET_CHECK(entries.size() <= size / 12, "every entry took bytes");
  (void)view->primary();
  if (!sayable || entries.size() >= kInterfacesMax) return 0;

  // A stranger may have put a small NID among the large ones; we do not.
  std::vector<PingEntry> expected;
  for (const bool large : {false, true}) {
    std::ranges::copy_if(entries, std::back_inserter(expected),
                         [large](const auto& entry) { return entry.nid.is_large() == large; });
  }
  std::array<std::byte, kPingBytesMax> out{};
  const auto length = build_ping({.sequence = view->sequence(), .interfaces = entries}, out);
  PLNET_CHECK(length.has_value(), "the largest buffer has room for all");
  const auto again = PingView::parse(std::span(out).first(*length));
  PLNET_CHECK(again && !again->truncated(), "what we say is whole");
  std::vector<PingEntry> heard;
  auto second = again->walk();
  while (const auto entry = second.next())
    heard.push_back(*entry);
  PLNET_CHECK(heard == expected, "what we say is heard");
  return 0;
}
