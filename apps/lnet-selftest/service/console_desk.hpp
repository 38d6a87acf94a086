// SPDX-License-Identifier: BSD-3-Clause
// Requests of the admin thread to the console of shard 0, and their results. The admin thread never
// waits; the caller is answered when the shard is done.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "apps/lnet-selftest/lst/console_json.hpp"
#include "lib/runtime/control/verb_table.hpp"
#include "node/admin/lnet_admin.hpp"

namespace plnet::apps {

// The present console, for shard 0; null while LNet is down.
class ConsolePlace {
 public:
  virtual ~ConsolePlace() = default;
  [[nodiscard]] virtual selftest::Console* console_owner() = 0;
  // It has a session, which may end before the next check.
  virtual void session_began_owner() = 0;
};

class ConsoleDesk {
 public:
  // Transactions under way at the same time; at most those of a console.
  static constexpr std::size_t kUnderWayMax = 64;

  template <class T>
  using Told = std::expected<T, lst::Refusal>;

  // Both outlive the desk.
  ConsoleDesk(ConsolePlace& place, node::LnetAdmin& lnet) : place_(place), lnet_(lnet) {}

  // An immediate query: `question` runs on the shard, `answer` here.
  template <class T>
  void ask(std::move_only_function<Told<T>(selftest::Console& console, lnet::Node& node)> question,
           std::move_only_function<void(Told<T>)> answer);
  // A transaction: `begin` runs on the shard. One that cannot begin, or has nothing to do, is
  // answered at once.
  using Begin = std::move_only_function<selftest::Answer<selftest::TransactionId>(
      selftest::Console& console, lnet::Node& node, selftest::WhenDone when_done)>;
  using Done = std::move_only_function<void(Told<selftest::TransactionResult>)>;
  // `key`: of the command's session; none: any session.
  void transact(std::optional<std::uint32_t> key, Begin begin, Done done);

  [[nodiscard]] ConsolePlace& place() { return place_; }
  // Nothing: the console's session has this key, or there is none.
  [[nodiscard]] static std::optional<lst::Refusal> check_key(const selftest::Console& console,
                                                             std::uint32_t key);

 private:
  struct Errand;
  [[nodiscard]] static lst::Refusal down();

  ConsolePlace& place_;
  node::LnetAdmin& lnet_;
  std::shared_ptr<std::size_t> under_way_ = std::make_shared<std::size_t>(0);
};

template <class T>
void ConsoleDesk::ask(
    std::move_only_function<Told<T>(selftest::Console& console, lnet::Node& node)> question,
    std::move_only_function<void(Told<T>)> answer) {
  struct Job {
    decltype(question) ask;
    decltype(answer) tell;
    std::optional<Told<T>> told;
  };
  auto job = std::make_shared<Job>(std::move(question), std::move(answer), std::nullopt);
  const auto sent = lnet_.desk().order(
      0,
      [this, job](lnet::Node& node) {
        if (selftest::Console* const console = place_.console_owner())
          job->told = job->ask(*console, node);
      },
      [job] { job->tell(job->told ? std::move(*job->told) : std::unexpected(down())); });
  if (!sent) job->tell(std::unexpected(lst::Refusal{EAGAIN, sent.error().what}));
}

}  // namespace plnet::apps
