// SPDX-License-Identifier: BSD-3-Clause
// Memory with the names that a provider needs: arenas, registered once for each endpoint, and own
// blocks for payload in no arena. Peers may read registered memory and never write it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <rdma/fi_domain.h>

#include "lib/base/arena.hpp"
#include "lib/lnet/api/payload.hpp"

namespace plnet::ofi {

struct Region {
  fid_mr* mr = nullptr;
  std::byte* base = nullptr;
  std::uint64_t remote_base = 0;  // to which a peer adds an offset
  std::uint64_t key = 0;
  void* descriptor = nullptr;
};

// One contiguous piece of registered memory.
struct Place {
  std::byte* at = nullptr;
  const Region* region = nullptr;

  [[nodiscard]] std::uint64_t remote() const {
    return region == nullptr ? 0
                             : region->remote_base + static_cast<std::uint64_t>(at - region->base);
  }
  [[nodiscard]] std::uint64_t key() const { return region == nullptr ? 0 : region->key; }
};

class Memory {
 public:
  Memory(const ArenaTable& arenas, unsigned blocks, std::uint32_t block_bytes);
  ~Memory() { close(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Start-up only. An arena that the provider refuses is bounced; false: it refused our own memory.
  [[nodiscard]] bool add(fid_domain* domain, const fi_info& info);
  // Own memory, which must be registered; null on failure.
  [[nodiscard]] const Region* add(fid_domain* domain, const fi_info& info,
                                  std::span<std::byte> bytes);
  void close();

  // The name of a payload that is one piece for the provider. Nothing: it must be bounced.
  [[nodiscard]] std::optional<Place> contiguous(const lnet::Payload& payload) const;
  void gather(const lnet::Payload& from, std::byte* to) const;
  void scatter(const std::byte* from, const lnet::Payload& to, std::uint32_t length) const;
  [[nodiscard]] std::span<std::byte> bytes(const Fragment& fragment) const {
    return arenas_.bytes(fragment);
  }

  [[nodiscard]] std::uint32_t take_block();  // kNone: all are lent
  // Half of them is reserved for requests of peers, which end by themselves; a buffer that is laid
  // open does not. Two nodes that had given all blocks to such buffers would wait for each other.
  [[nodiscard]] bool may_lay_open() const { return free_.size() > free_.capacity() / 2; }
  void give_block(std::uint32_t block);
  [[nodiscard]] Place block(std::uint32_t block) const;
  [[nodiscard]] std::uint32_t block_bytes() const { return block_bytes_; }

 private:
  [[nodiscard]] bool open(fid_domain* domain, const fi_info& info, std::span<std::byte> bytes,
                          std::uint64_t wanted_key, Region& region);

  static constexpr std::size_t kOwnMax = 3;  // blocks, packets out, packets in

  const ArenaTable& arenas_;
  std::uint32_t block_bytes_;
  std::vector<std::byte> blocks_;
  std::vector<std::uint32_t> free_;  // never grows beyond its size at start
  std::array<Region, kArenasMax> regions_{};
  std::array<Region, kOwnMax> own_{};
  std::size_t own_count_ = 0;
};

}  // namespace plnet::ofi
