// SPDX-License-Identifier: BSD-3-Clause
// The transmit descriptors of one LND and their buffers.
#pragma once

#include "lib/base/pool.hpp"
#include "lib/o2iblnd/environment.hpp"
#include "lib/o2iblnd/tx.hpp"

namespace plnet::o2iblnd {

class TxPool {
 public:
  // `first` is the block of message memory where the buffers begin.
  TxPool(Environment& environment, std::uint64_t first);

  // nullptr: all are in use. Messages of ours and answers have separate shares.
  [[nodiscard]] Tx* take(bool reply);
  void give(Tx& tx);
  // The descriptor was not needed: messages that wait for one do not retry.
  void give_unused(Tx& tx);

  [[nodiscard]] Fragment buffer(const Tx& tx, std::uint32_t length) const;
  [[nodiscard]] std::span<std::byte> bytes(const Tx& tx) const;
  [[nodiscard]] std::uint32_t index_of(const Tx& tx) const { return pool_.index_of(&tx); }
  [[nodiscard]] Tx* at(std::uint32_t index) {
    return pool_.is_lent(index) ? &pool_.at(index) : nullptr;
  }
  // Finds it by the cookie that the peer has returned. nullptr: never used, or ended.
  [[nodiscard]] Tx* find(std::uint64_t cookie);
  [[nodiscard]] std::size_t used() const { return pool_.capacity() - pool_.free_count(); }
  template <class Visit>
  void for_each(Visit&& visit) {
    pool_.for_each_lent(std::forward<Visit>(visit));
  }

 private:
  Environment& environment_;
  const std::uint64_t first_;
  Pool<Tx> pool_;
  std::size_t replies_ = 0;
  std::size_t ours_ = 0;
};

}  // namespace plnet::o2iblnd
