// SPDX-License-Identifier: BSD-3-Clause
// Memory of peer views: blocks of four sizes, because nearly every peer has one or two interfaces
// and a few have very many. A peer holds the right to a block of its size; spare blocks hold old
// views that readers may still use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/check.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/qsbr.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

inline constexpr std::array<std::uint16_t, 4> kViewSizes{2, 8, 40, kNisMax};
static_assert(kViewSizes[0] < kViewSizes[1] && kViewSizes[1] < kViewSizes[2] &&
                  kViewSizes[2] < kViewSizes[3],
              "a larger class has room for more interfaces");

// Lies in front of its arrays.
struct ViewBlock : ListNode<> {
  Qsbr::Grace grace = 0;
  PeerView view;
  PeerNetView* nets = nullptr;
  PeerNi** nis = nullptr;
  std::uint8_t size_class = 0;
};

class ViewBlocks {
 public:
  using Counts = std::array<std::size_t, kViewSizes.size()>;

  // `peers`: the most peers that hold a block of each size. Allocates; start-up only.
  ViewBlocks(const Counts& peers, Qsbr& qsbr);

  // Exchanges the right `held` for one to a block with room for `nis` interfaces. False: no such
  // block is left, and the right stays. Never fails for fewer interfaces.
  [[nodiscard]] bool exchange(std::uint8_t& held, std::size_t nis);
  [[nodiscard]] bool reserve(std::uint8_t& held, std::size_t nis);
  // The result that exchange() would have.
  [[nodiscard]] bool may_exchange(std::uint8_t held, std::size_t nis) const;
  void cancel(std::uint8_t held) {
    PLNET_CHECK(held < kViewSizes.size() && reserved_[held] > 0,
                "a right that is given back was held");
    --reserved_[held];
  }

  // A block for a holder of the right; nullptr while readers use too many old ones.
  [[nodiscard]] ViewBlock* take(std::uint8_t size_class);
  // No reader finds the block from now on.
  void retire(ViewBlock* block);
  // Returns blocks that no reader can hold any more; the result is their number.
  std::size_t reclaim(std::size_t limit);

  [[nodiscard]] std::size_t retired() const { return retired_count_; }
  [[nodiscard]] std::size_t bytes() const;

 private:
  template <std::size_t Nis>
  struct Sized : ViewBlock {
    std::array<PeerNetView, Nis> net_room;
    std::array<PeerNi*, Nis> ni_room{};
  };
  template <std::size_t Class>
  using Blocks = Pool<Sized<kViewSizes[Class]>>;

  template <class Block>
  static ViewBlock* lay_out(Pool<Block>& pool, std::uint8_t size_class);
  void give(ViewBlock* block);

  const Counts peers_;
  Counts reserved_{};
  Qsbr& qsbr_;
  Blocks<0> tiny_;
  Blocks<1> small_;
  Blocks<2> medium_;
  Blocks<3> large_;
  IntrusiveList<ViewBlock> retired_;  // oldest first
  std::size_t retired_count_ = 0;
};

}  // namespace plnet::lnet
