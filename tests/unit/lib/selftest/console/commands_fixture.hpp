// SPDX-License-Identifier: BSD-3-Clause
// Commands on groups and batches, run to their end.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/console/crowd_site.hpp"

namespace plnet::selftest {

class CommandsTest : public testing::Test, public CrowdSite {
 protected:
  static WhenDone nobody() { return {}; }
  TransactionResult remove(const std::string& group, std::vector<lnet::ProcessId> ids) {
    return of([&](WhenDone done) { return console->remove_nodes(group, ids, std::move(done)); });
  }
  TransactionResult del(const std::string& group) {
    return of([&](WhenDone done) { return console->del_group(group, std::move(done)); });
  }
  TransactionResult refresh(const std::string& group) {
    return of([&](WhenDone done) { return console->refresh_group(group, std::move(done)); });
  }
  TransactionResult run() {
    return of([&](WhenDone done) { return console->run("batch", 0, std::move(done)); });
  }
  TransactionResult stop() {
    return of([&](WhenDone done) { return console->stop("batch", false, std::move(done)); });
  }
  TransactionResult query(std::uint32_t test) {
    return of(
        [&](WhenDone done) { return console->query("batch", test, false, 5, std::move(done)); });
  }
  void two_groups() {
    (void)begin();
    (void)add("clients", 1, 2);
    (void)add("servers", 3, 4);
  }
};

}  // namespace plnet::selftest
