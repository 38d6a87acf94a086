// SPDX-License-Identifier: BSD-3-Clause
// Two NICs of one fabric, whose lists are to match.
#pragma once

#include <cstring>
#include <memory>

#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft {
class SoftMatch : public ::testing::Test {
 protected:
  SoftMatch() { std::memset(a.arena.data(), 0xa5, 4096); }
  static testing::HostOptions second(testing::HostOptions options) {
    options.address = 2;
    options.pid = 9;
    return options;
  }
  void with(const testing::HostOptions& options) {
    other = std::make_unique<testing::Host>(fabric, options);
  }
  void ack(ReturnCode code, std::uint32_t length = 0) {
    const testing::Event event = a.expect(EventType::kAck, code);
    EXPECT_EQ(event.get<layout::InitiatorShort::TgtError>(), code == ReturnCode::kOk ? 0U : 1U);
    EXPECT_EQ(event.get<layout::InitiatorShort::MLength>(), length);
  }

  Fabric fabric;
  testing::Host a{fabric, {}};
  testing::Host b{fabric, second({})};
  std::unique_ptr<testing::Host> other;
};

}  // namespace plnet::cassini::soft
