// SPDX-License-Identifier: BSD-3-Clause
// A session of LNet selftest on simulated nodes, with the commands of lst.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnet-selftest/sim/selftest_site.hpp"

namespace plnet::sim {

class SelftestSession {
 public:
  explicit SelftestSession(SelftestSite& site) : site_(site) {}

  using Told = std::expected<selftest::TransactionResult, selftest::Refused>;

  Told begin(const std::string& name, bool force = false) {
    return site_.transact([&](selftest::Console& console, selftest::WhenDone done) {
      return console.new_session(
          {.name = name, .key = 1, .force = force, .nid = SelftestSite::console_nid()},
          std::move(done));
    });
  }
  // Nodes `first` to `last`.
  Told group(const std::string& name, unsigned first, unsigned last) {
    const auto made =
        site_.ask([&](selftest::Console& console) { return console.add_group(name); });
    if (!made) return std::unexpected(made.error());
    std::vector<lnet::ProcessId> ids;
    for (unsigned i = first; i <= last; ++i)
      ids.push_back({.nid = SelftestSite::nid_of(i)});
    return site_.transact([&](selftest::Console& console, selftest::WhenDone done) {
      return console.add_nodes(name, ids, std::move(done));
    });
  }
  // A test of "clients" with "servers", in the default batch.
  Told test(decltype(selftest::AddTest::test) what, std::uint32_t concurrency) {
    return site_.transact([&](selftest::Console& console, selftest::WhenDone done) {
      return console.add_test({.batch = "batch",
                               .from = "clients",
                               .to = "servers",
                               .test = what,
                               .concurrency = concurrency},
                              std::move(done));
    });
  }
  Told run() {
    return site_.transact([](selftest::Console& console, selftest::WhenDone done) {
      return console.run("batch", 0, std::move(done));
    });
  }
  Told stop(bool force = false) {
    return site_.transact([&](selftest::Console& console, selftest::WhenDone done) {
      return console.stop("batch", force, std::move(done));
    });
  }
  Told query() {
    return site_.transact([](selftest::Console& console, selftest::WhenDone done) {
      return console.query("batch", 0, false, 30, std::move(done));
    });
  }
  Told stat(const std::string& group) {
    return site_.transact([&](selftest::Console& console, selftest::WhenDone done) {
      return console.stat(selftest::OfGroup{group}, 10, std::move(done));
    });
  }
  Told end() {
    return site_.transact([](selftest::Console& console, selftest::WhenDone done) {
      return console.end_session(std::move(done));
    });
  }

 private:
  SelftestSite& site_;
};

}  // namespace plnet::sim
