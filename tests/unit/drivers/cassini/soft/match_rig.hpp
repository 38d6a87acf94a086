// SPDX-License-Identifier: BSD-3-Clause
// Two NICs of one fabric for matching tests.
#pragma once

#include <cstring>
#include <memory>

#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft {
class SoftMatch : public ::testing::Test {
 protected:
  SoftMatch() { std::memset(a.arena.data(), 0xa5, 4096); }
  static rigs::HostOptions second(rigs::HostOptions options) {
    options.address = 2;
    options.pid = 9;
    return options;
  }
  void with(const rigs::HostOptions& options) {
    other = std::make_unique<rigs::Host>(fabric, options);
  }
  void ack(ReturnCode code, std::uint32_t length = 0) {
    const rigs::Event event = a.expect(EventType::kAck, code);
    EXPECT_EQ(event.get<layout::InitiatorShort::TgtError>(), code == ReturnCode::kOk ? 0U : 1U);
    EXPECT_EQ(event.get<layout::InitiatorShort::MLength>(), length);
  }

  Fabric fabric;
  rigs::Host a{fabric, {}};
  rigs::Host b{fabric, second({})};
  std::unique_ptr<rigs::Host> other;
};

}  // namespace plnet::cassini::soft
