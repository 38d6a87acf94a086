// SPDX-License-Identifier: BSD-3-Clause
// The contract of every lnet::Lnd as tests. To check an LND, define the building of a pair of nodes
// and INSTANTIATE_TEST_SUITE_P(Name, LndConformance, testing::Values(LndCase{"name", build})).
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "tests/mocks/fake_core.hpp"

namespace plnet::conformance {

struct LndRigOptions {
  std::uint64_t seed = 1;
  unsigned park_percent = 0;
  unsigned drop_percent = 0;
  unsigned park_turns_max = 3;
};

// Two nodes, or one and a network that answers by itself: then there is no b().
class LndRig {
 public:
  virtual ~LndRig() = default;
  virtual mocks::FakeCore& a() = 0;
  virtual mocks::FakeCore* b() = 0;
  virtual lnet::Lnd& lnd_a() = 0;
  virtual lnet::Nid nid_b() = 0;
  virtual void turn(Instant now) = 0;
  virtual bool quiet() { return lnd_a().idle(); }  // nothing on the wire

  [[nodiscard]] virtual unsigned turns_max() const { return 20000; }

  // Turns until both cores are settled and the wire is empty. False: not within `turns`.
  bool settle() { return settle(turns_max()); }
  bool settle(unsigned turns) {
    for (unsigned i = 0; i < turns; ++i) {
      if (a().settled() && (b() == nullptr || b()->settled()) && quiet()) return true;
      step();
    }
    return false;
  }
  void step() { turn(now_ += std::chrono::microseconds(1)); }
  [[nodiscard]] Instant now() const { return now_; }

  void expect_no_breach() {
    EXPECT_EQ(a().breaches(), std::vector<std::string>{});
    if (b() == nullptr) return;
    EXPECT_EQ(b()->breaches(), std::vector<std::string>{});
  }

 private:
  Instant now_{};
};

struct LndCase {
  std::string name;
  std::function<std::unique_ptr<LndRig>(const LndRigOptions&)> build;
  // Payloads arrive in the order of their headers. False if large ones need a handshake.
  bool ends_in_order = true;
  friend std::ostream& operator<<(std::ostream& out, const LndCase& which) {
    return out << which.name;
  }
};

class LndConformance : public testing::TestWithParam<LndCase> {};

}  // namespace plnet::conformance
