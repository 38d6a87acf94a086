// SPDX-License-Identifier: BSD-3-Clause
// Sees which faults befall which router, and which of them together: a fault somewhere else on the
// site is none of a router's. What a test says that it covers is counted here.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "apps/lnet-sim/host/host.hpp"
#include "apps/lnet-sim/plan/mishap.hpp"

namespace plnet::sim {

class MishapWatch {
 public:
  explicit MishapWatch(const World& world);

  // Of a node (`a` and `b` are the same) or between two. As often as it begins it ends.
  void begin(Mishap what, std::uint32_t a, std::uint32_t b);
  void end(Mishap what, std::uint32_t a, std::uint32_t b);
  void deleted(std::uint32_t a, std::uint32_t b, Instant now);
  void heal();

  // Whenever something has begun or ended, and now and then: that buffers run out is not told.
  void look(Instant now);
  [[nodiscard]] const MishapTally& tally() const { return tally_; }

 private:
  using Set = std::uint32_t;    // a bit for each kind
  using Pairs = std::uint64_t;  // a bit for each pair of them
  static_assert(kMishaps * kMishaps <= 64);

  struct OfRouter {
    std::uint32_t node = 0;
    Set told = 0;
    Set before = 0;
    Pairs pairs = 0;
    std::uint64_t waited = 0;  // messages, for a buffer
    Instant deleted_until{};
    Instant short_until{};  // of buffers
  };
  struct Active {
    Mishap what = Mishap::kCrash;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    friend auto operator<=>(const Active&, const Active&) = default;
  };

  [[nodiscard]] static Set bit(Mishap what) { return Set{1} << static_cast<unsigned>(what); }
  [[nodiscard]] bool concerns(const Active& active, std::uint32_t router) const;
  [[nodiscard]] Set seen_of(OfRouter& router, Instant now) const;
  void collect();
  void count(OfRouter& router, Set now);

  const World& world_;
  std::vector<OfRouter> routers_;
  std::map<Active, unsigned> active_;
  bool changed_ = false;
  MishapTally tally_;
};

}  // namespace plnet::sim
