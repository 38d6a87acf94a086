// SPDX-License-Identifier: BSD-3-Clause
// The connection of mock LNDs in memory: a table from NID to end. No protocol, no time, no loss;
// drivers/net/fault provides faults.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "lib/lnet/api/lnd.hpp"

namespace plnet::mocks {

struct MockLndConfig {
  lnet::Nid nid;
  const ArenaTable* arenas = nullptr;
  std::size_t in_flight_max = 32;    // further sends are back-pressure
  std::size_t window = 4;            // stream: messages on the wire per connection
  std::uint32_t piece_bytes = 1000;  // stream: payload bytes per flush and connection
  // Stream: the group of LNDs that can take kept payloads from each other. Null: nothing is kept.
  const void* family = nullptr;
  unsigned kept_flushes = 2;            // stream: flushes until a kept payload is delivered
  std::uint32_t inline_bytes_max = 64;  // RDMA: payloads up to this travel with their header
  Duration lnd_timeout = std::chrono::seconds(50);
};

template <class End>
class MockNetwork {
 public:
  void add(const lnet::Nid& nid, End& end) { ends_[key(nid)] = &end; }
  void remove(const lnet::Nid& nid) { ends_.erase(key(nid)); }
  [[nodiscard]] End* find(const lnet::Nid& nid) const {
    const auto found = ends_.find(key(nid));
    return found == ends_.end() ? nullptr : found->second;
  }

 private:
  static std::uint64_t key(const lnet::Nid& nid) {
    std::uint64_t value = 0;
    std::memcpy(&value, &nid, sizeof value);
    return value;
  }
  std::map<std::uint64_t, End*> ends_;
};

inline std::vector<std::byte> gather(const ArenaTable& arenas, const lnet::Payload& payload) {
  std::vector<std::byte> bytes;
  lnet::for_each_piece(payload, [&](const Fragment& piece) {
    const auto here = arenas.bytes(piece);
    bytes.insert(bytes.end(), here.begin(), here.end());
  });
  return bytes;
}

// Copies `bytes` to the window after its first `skip` bytes.
inline void scatter(const ArenaTable& arenas, const lnet::Payload& payload, std::uint32_t skip,
                    std::span<const std::byte> bytes) {
  PLNET_CHECK(skip + bytes.size() <= payload.length, "more bytes than the window holds");
  lnet::for_each_piece(lnet::Payload{payload.fragments, payload.offset + skip,
                                     static_cast<std::uint32_t>(bytes.size())},
                       [&](const Fragment& piece) {
                         std::memcpy(arenas.bytes(piece).data(), bytes.data(), piece.length);
                         bytes = bytes.subspan(piece.length);
                       });
}

}  // namespace plnet::mocks
