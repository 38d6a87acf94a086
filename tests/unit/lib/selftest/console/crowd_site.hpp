// SPDX-License-Identifier: BSD-3-Clause
// A console and emulated nodes.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/selftest/console/console.hpp"
#include "tests/unit/lib/selftest/console/crowd.hpp"

namespace plnet::selftest {

inline constexpr std::uint64_t kConsoleNid = 0x0002'0000'c0a8'010a;
inline constexpr std::int64_t kStamp = 0x018c'1234'5678;  // as in the golden vectors

// Records the completion of a transaction.
class Told {
 public:
  [[nodiscard]] WhenDone listen() {
    return [state = state_](TransactionResult result) {
      ++state->times;
      state->result = std::move(result);
    };
  }
  [[nodiscard]] unsigned times() const { return state_->times; }
  [[nodiscard]] const TransactionResult& result() const { return state_->result; }

 private:
  struct State {
    unsigned times = 0;
    TransactionResult result;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

template <class T>
[[nodiscard]] Refusal refusal_of(const Answer<T>& answer) {
  EXPECT_FALSE(answer.has_value());
  if (answer) return Refusal::kTooMany;
  EXPECT_FALSE(answer.error().why.empty());
  return answer.error().code;
}

class CrowdSite {
 public:
  explicit CrowdSite(ConsoleSetup setup = {.rpcs = 64, .lists = 8, .join_buffers = 4},
                     std::int64_t stamp = kStamp)
      : now_(std::chrono::milliseconds(stamp)), crowd(Console::memory_bytes(setup)) {
    setup.unix_seconds = 1'700'000'000;
    setup.start = now_;
    console = std::make_unique<Console>(crowd, setup, crowd.memory);
    console->open();
    idle_ = crowd.open_count();
  }

  void turn(Duration step = std::chrono::microseconds(1)) {
    now_ += step;
    crowd.turn();
    console->poll(now_);
  }
  void settle(unsigned turns = 50) {
    for (unsigned i = 0; i < turns; ++i)
      turn();
  }
  void pass(Duration time, Duration step = std::chrono::milliseconds(500)) {
    const Instant until = now_ + time;
    while (now_ < until)
      turn(step);
    settle();
  }
  // Runs a command to its completion. `ask` receives the callback.
  template <class Ask>
  TransactionResult of(const Ask& ask) {
    Told told;
    const Answer<TransactionId> begun = ask(told.listen());
    EXPECT_TRUE(begun.has_value()) << (begun ? "" : begun.error().why);
    if (!begun) return {};
    EXPECT_EQ(told.times(), 0U) << "not from within the command";
    settle();
    for (unsigned i = 0; i < 1000 && told.times() == 0; ++i)
      turn(std::chrono::milliseconds(100));
    EXPECT_EQ(told.times(), 1U);
    return told.result();
  }

  [[nodiscard]] static NewSession plain_session() {
    return {.name = "bulk", .key = 77, .nid = lnet::from_nid64(kConsoleNid)};
  }
  TransactionResult begin(const NewSession& session = plain_session()) {
    return of([&](WhenDone done) { return console->new_session(session, std::move(done)); });
  }
  TransactionResult add(const std::string& group, unsigned first, unsigned last) {
    const bool there = console->group_info(group).has_value();
    EXPECT_TRUE(there || console->add_group(group).has_value());
    std::vector<lnet::ProcessId> ids;
    for (unsigned i = first; i <= last; ++i)
      ids.push_back(Crowd::id(i));
    return of([&](WhenDone done) { return console->add_nodes(group, ids, std::move(done)); });
  }
  TransactionResult add_test(const AddTest& test) {
    return of([&](WhenDone done) { return console->add_test(test, std::move(done)); });
  }
  TransactionResult ping(const PingTarget& target, std::uint32_t timeout_s = 5) {
    return of([&](WhenDone done) { return console->ping(target, timeout_s, std::move(done)); });
  }
  TransactionResult end() {
    return of([&](WhenDone done) { return console->end_session(std::move(done)); });
  }
  [[nodiscard]] NodeState state(const std::string& group, std::size_t index) {
    const auto nodes = console->group_nodes(group);
    EXPECT_TRUE(nodes && index < nodes->size());
    return nodes && index < nodes->size() ? (*nodes)[index].state : NodeState::kUnknown;
  }
  // From clients to servers.
  [[nodiscard]] static AddTest brw() {
    return {.batch = "batch", .from = "clients", .to = "servers", .test = BrwTest{}};
  }
  // Only the buffer for JOIN requests remains on the network.
  void expect_clean() {
    crowd.hold_unlinks(false);
    settle();
    EXPECT_EQ(crowd.open_count(), idle_);
    console->close();
    settle();
    EXPECT_TRUE(console->closed());
    EXPECT_EQ(crowd.open_count(), 0U);
  }
  [[nodiscard]] Instant now() const { return now_; }

 private:
  Instant now_;
  std::size_t idle_ = 0;

 public:
  Crowd crowd;
  std::unique_ptr<Console> console;
};

}  // namespace plnet::selftest
