// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/mlx/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "lib/base/check.hpp"

namespace plnet::mlx {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

std::uint64_t parts_of(const Arena& arena) {
  return (arena.size + Memory::kPartBytes - 1) / Memory::kPartBytes;
}

}  // namespace

Outcome<void> Memory::enter(ibv_pd& domain) {
  PLNET_CHECK(domain_ == nullptr, "the memory enters one domain");
  domain_ = &domain;
  for (std::size_t at = 0; at < arenas_.count(); ++at) {
    const auto i = static_cast<ArenaId>(at);
    const Arena& arena = arenas_.arena(i);
    Registered& of = registered_[i];
    if (arena.mapped_on_demand) continue;
    if (arena.taken_when_used) {
      of.parts = std::make_unique<std::atomic<ibv_mr*>[]>(parts_of(arena));
      continue;
    }
    of.region = ibv_reg_mr(domain_, arena.base, arena.size, kAccess);
    if (of.region == nullptr) {
      const int number = errno;
      return failure(errc_of_errno(number),
                     std::string("ibv_reg_mr: ") + std::generic_category().message(number) +
                         "; `ulimit -l` has to allow all of the node's memory to be locked");
    }
    of.keys = {.local = of.region->lkey, .remote = of.region->rkey};
  }
  return {};
}

void Memory::leave() {
  for (std::size_t at = 0; at < arenas_.count(); ++at) {
    const auto i = static_cast<ArenaId>(at);
    Registered& of = registered_[i];
    if (of.region != nullptr) (void)ibv_dereg_mr(of.region);
    const std::uint64_t parts = of.parts == nullptr ? 0 : parts_of(arenas_.arena(i));
    for (std::uint64_t k = 0; k < parts; ++k) {
      if (ibv_mr* const region = of.parts[k].load(std::memory_order_acquire))
        (void)ibv_dereg_mr(region);
    }
    of = {};
  }
}

Keys Memory::keys_of_part(const Registered& of, const Fragment& fragment) const {
  PLNET_CHECK(fragment.length <= kFragmentBytesMax, "parts overlap by LNet's largest payload");
  std::atomic<ibv_mr*>& part = of.parts[fragment.at.offset / kPartBytes];
  const ibv_mr* region = part.load(std::memory_order_acquire);
  if (region == nullptr) region = enter_part(part, fragment);
  return region == nullptr ? Keys{} : Keys{.local = region->lkey, .remote = region->rkey};
}

// Two shards may come at once: one registration stays.
ibv_mr* Memory::enter_part(std::atomic<ibv_mr*>& part, const Fragment& fragment) const {
  const Arena& arena = arenas_.arena(fragment.at.arena);
  const std::uint64_t begin = fragment.at.offset / kPartBytes * kPartBytes;
  PLNET_CHECK(begin < arena.size, "a fragment lies in its arena");
  const std::uint64_t bytes = std::min(arena.size - begin, kPartBytes + kFragmentBytesMax);
  ibv_mr* const made = ibv_reg_mr(domain_, arena.base + begin, bytes, kAccess);
  if (made == nullptr) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  ibv_mr* there = nullptr;
  if (part.compare_exchange_strong(there, made, std::memory_order_acq_rel)) {
    parts_.fetch_add(1, std::memory_order_relaxed);
    return made;
  }
  (void)ibv_dereg_mr(made);
  return there;
}

}  // namespace plnet::mlx
