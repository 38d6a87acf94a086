// SPDX-License-Identifier: BSD-3-Clause
// Accounts of the objects that the services of a NIC use: of each kind so many are kept for a
// service and so many it may have at most. List entries are the pool that a process feels: an
// append that finds none fails.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "drivers/net/cassini/soft/codes.hpp"
#include "drivers/net/cassini/soft/service.hpp"
#include "drivers/net/cassini/soft/sharing.hpp"

namespace plnet::cassini::soft {

class Resources {
 public:
  // At most the existing number is reserved; a service lists at most as many VNIs as the NIC can
  // hold.
  Resources(const Limits& limits, std::span<const Service> services);

  // Other processes have the same NIC: their use counts, too. `with` outlives this object.
  void share(Sharing* with) { sharing_ = with; }
  // A service more, in a row that is free or the next one. False: less is left than it keeps.
  [[nodiscard]] bool add(unsigned row, const std::array<Share, kResources>& shares);
  // The same after another process added it.
  void set(unsigned row, const std::array<Share, kResources>& shares);
  // Nothing of it is in use.
  void remove(unsigned row);

  // Services by their row.
  [[nodiscard]] bool take(unsigned row, Resource what);
  void give(unsigned row, Resource what);
  [[nodiscard]] unsigned used(unsigned row, Resource what) const {
    const unsigned own = rows_[row][index(what)].used;
    return sharing_ == nullptr ? own : own + sharing_->others(row, index(what));
  }
  [[nodiscard]] unsigned used(Resource what) const;
  // Neither in use nor kept for a service.
  [[nodiscard]] unsigned unclaimed(Resource what) const {
    return total_[index(what)] - std::min(claimed(what), total_[index(what)]);
  }
  [[nodiscard]] unsigned total(Resource what) const { return total_[index(what)]; }
  [[nodiscard]] Share share(unsigned row, Resource what) const {
    return rows_[row][index(what)].share;
  }

 private:
  struct Account {
    Share share;
    unsigned used = 0;
  };
  static constexpr unsigned index(Resource what) { return static_cast<unsigned>(what); }

  // Sum over services of the larger of used and reserved.
  [[nodiscard]] unsigned claimed(Resource what) const;
  [[nodiscard]] bool fits(unsigned row, Resource what) const;
  void tell(unsigned row, Resource what) {
    if (sharing_ != nullptr) sharing_->tell(row, index(what), rows_[row][index(what)].used);
  }

  std::array<unsigned, kResources> total_{};
  std::vector<std::array<Account, kResources>> rows_;
  Sharing* sharing_ = nullptr;
};

}  // namespace plnet::cassini::soft
