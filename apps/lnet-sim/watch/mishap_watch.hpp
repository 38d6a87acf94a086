// SPDX-License-Identifier: BSD-3-Clause
// Records which faults affect which router, and which of them at the same time; faults elsewhere on
// the site do not count for it. Tests use these counts to prove their coverage.
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

  // A fault of a node (`a` equals `b`) or between two nodes. It ends as often as it begins.
  void begin(Mishap what, std::uint32_t a, std::uint32_t b);
  void end(Mishap what, std::uint32_t a, std::uint32_t b);
  void deleted(std::uint32_t a, std::uint32_t b, Instant now);
  void heal();

  // Call after each begin and end of a fault, and periodically, since buffer exhaustion has no
  // event.
  void look(Instant now);
  [[nodiscard]] const MishapTally& tally() const { return tally_; }

 private:
  using Set = std::uint32_t;    // a bit for each kind
  using Pairs = std::uint64_t;  // a bit for each pair of kinds
  static_assert(kMishaps * kMishaps <= 64);

  struct OfRouter {
    std::uint32_t node = 0;
    Set told = 0;
    Set before = 0;
    Pairs pairs = 0;
    std::uint64_t waited = 0;  // messages that waited for a buffer
    Instant deleted_until{};
    Instant short_until{};  // exhaustion of buffers counts until then
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
