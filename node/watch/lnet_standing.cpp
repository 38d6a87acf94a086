// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/lnet_standing.hpp"

#include <chrono>
#include <memory>
#include <utility>

namespace plnet::node {
namespace {

// Shards answer within a turn or two.
constexpr Duration kAnswerMax = std::chrono::seconds(2);

// Asks one question after the other. When time is up, replies with the answers so far.
class Questions : public std::enable_shared_from_this<Questions> {
 public:
  Questions(lnet::LnetControl& lnet, std::move_only_function<void(LnetStanding)> reply)
      : lnet_(lnet), reply_(std::move(reply)) {}

  void ask() {
    lnet_.nets(std::nullopt, 0,
               taken(&LnetStanding::nets, [](Questions& self) { self.ask_routes(); }));
  }
  void give_up() {
    if (!reply_) return;
    standing_.answered = false;
    finish();
  }

 private:
  void ask_routes() {
    lnet_.routes(taken(&LnetStanding::routes, [](Questions& self) { self.ask_routing(); }));
  }
  void ask_routing() {
    lnet_.routing([self = shared_from_this()](Outcome<lnet::RoutingReport>&& report) {
      if (!self->reply_) return;
      if (!report) return self->fail(report.error());
      self->standing_.routing = std::move(*report);
      self->ask_access();
    });
  }
  void ask_access() {
    lnet_.access(taken(&LnetStanding::access, [](Questions& self) { self.ask_drop_rules(); }));
  }
  void ask_drop_rules() {
    lnet_.faults(lnet::FaultKind::kDrop,
                 taken(&LnetStanding::drop_rules, [](Questions& self) { self.ask_delay_rules(); }));
  }
  void ask_delay_rules() {
    lnet_.faults(lnet::FaultKind::kDelay,
                 taken(&LnetStanding::delay_rules, [](Questions& self) { self.finish(); }));
  }

  template <class Report, class Next>
  lnet::Reply<Report> taken(Report LnetStanding::* part, Next next) {
    return [self = shared_from_this(), part, next](Outcome<Report>&& report) {
      if (!self->reply_) return;  // the reply was sent already
      if (!report) return self->fail(report.error());
      self->standing_.*part = std::move(*report);
      next(*self);
    };
  }
  void fail(const Error& why) {
    standing_.down = why;
    finish();
  }
  void finish() { std::exchange(reply_, nullptr)(std::move(standing_)); }

  lnet::LnetControl& lnet_;
  std::move_only_function<void(LnetStanding)> reply_;  // empty after the reply
  LnetStanding standing_;
};

}  // namespace

void ask_standing(lnet::LnetControl& lnet, runtime::EventLoop& loop,
                  std::move_only_function<void(LnetStanding standing)> reply) {
  const auto questions = std::make_shared<Questions>(lnet, std::move(reply));
  loop.add_timer(kAnswerMax, Duration::zero(), [questions] { questions->give_up(); });
  questions->ask();
}

}  // namespace plnet::node
