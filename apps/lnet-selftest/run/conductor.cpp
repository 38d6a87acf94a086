// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/conductor.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "apps/lnet-selftest/lst/shell.hpp"
#include "lib/base/check.hpp"
#include "lib/base/counted.hpp"
#include "lib/lnet/names/nid64.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::run {
namespace {

using selftest::TransactionResult;

constexpr const char* kClientGroup = "clients";
constexpr const char* kServerGroup = "servers";
// Every session has a batch of this name.
constexpr const char* kBatch = "batch";

constexpr Duration kAgain = std::chrono::seconds(1);
// Consoles end the session by themselves after this time without commands, for example of a killed
// run.
constexpr std::uint32_t kSessionTimeoutS = 100;
// Long enough to regard a silent node as down.
constexpr std::uint32_t kStatTimeoutS = 10;
constexpr std::uint32_t kQueryTimeoutS = 30;
// A request times out after a minute, so a batch that drains longer will never end.
constexpr unsigned kDrainsMax = 90;
constexpr unsigned kClosesMax = 10;
constexpr std::size_t kNodesNamedMax = 5;

// A node that refuses a session names the one that it has.
std::string session_in_the_way(const selftest::NodeResult& node) {
  const auto* const seen = std::get_if<selftest::PingSeen>(&node.seen);
  if (seen == nullptr || !node.refused) return {};
  return fmt::format(
      ", it has the session '{}' of {}, until {} s after it last heard of that console; --force "
      "takes the node over",
      selftest::text_of(seen->session_name), lnet::text_of(lnet::from_nid64(node.session.nid)),
      seen->timeout_s);
}

}  // namespace

std::string failures_of(const TransactionResult& result) {
  std::string text;
  std::size_t named = 0;
  std::size_t more = 0;
  for (const selftest::NodeResult& node : result.nodes) {
    if (node.rpc_errno == 0 && !node.refused) continue;
    if (named == kNodesNamedMax) {
      ++more;
      continue;
    }
    ++named;
    const int number = node.rpc_errno != 0 ? node.rpc_errno : static_cast<int>(node.status);
    text += fmt::format("{}{}: {}{}{}", text.empty() ? "" : "; ", lnet::text_of(node.id),
                        node.refused ? "refused: " : "", lst::text_of_errno(number),
                        session_in_the_way(node));
  }
  if (more > 0) text += fmt::format("; and {} more", more);
  return text;
}

Conductor::Conductor(const Plan& plan, ConductorSetup setup, Desk& desk, Watcher& watcher)
    : plan_(plan),
      setup_(setup),
      desk_(desk),
      watcher_(watcher),
      points_(points_of(plan)),
      search_(plan.from.size()) {
  PLNET_CHECK(!points_.empty() && plan.repeats > 0, "a plan that is finished has points");
}

Instant Conductor::step(Instant now) {
  switch (state_) {
    case State::kSession: open_session(); break;
    case State::kClients: make_group(kClientGroup, plan_.from, State::kServers); break;
    case State::kServers: make_group(kServerGroup, plan_.to, State::kTest); break;
    case State::kTest: add_test(); break;
    case State::kPace: set_pace(); break;
    case State::kBefore: look_before(now); break;
    case State::kRun: run(); break;
    case State::kSample: return sample(now);
    case State::kStop: stop(); break;
    case State::kDrain: return drain(now);
    case State::kAfter: look_after(); break;
    case State::kClose: return close(now);
    case State::kOver: break;
  }
  return now;
}

void Conductor::interrupt() {
  if (interrupted_ || state_ == State::kOver) return;
  interrupted_ = true;
  if (interval_) keep_measurement(true);
  attempts_ = 0;
  state_ = session_open_ ? State::kClose : State::kOver;
}

void Conductor::fail(std::string what) {
  if (failure_.empty()) failure_ = fmt::format("{}: {}", text_of(points_[point_]), what);
  if (interval_) keep_measurement(true);
  attempts_ = 0;
  state_ = session_open_ ? State::kClose : State::kOver;
}

std::optional<TransactionResult> Conductor::transact(std::string_view verb, Desk::Args args,
                                                     std::string_view what) {
  args["key"] = setup_.key;
  const auto answer = desk_.ask(verb, args);
  if (!answer) {
    const lst::Refusal& refusal = answer.error();
    fail(fmt::format("{}: {}", what,
                     refusal.why.empty() ? lst::text_of_errno(refusal.number) : refusal.why));
    return std::nullopt;
  }
  auto result = lst::from_json<TransactionResult>(*answer);
  if (!result) {
    fail(fmt::format("{}: the console's answer: {}", what, result.error().what));
    return std::nullopt;
  }
  if (result->rpc_errno != 0 || result->framework_errno != 0) {
    fail(fmt::format("{}: {}", what, failures_of(*result)));
    return std::nullopt;
  }
  return std::move(*result);
}

void Conductor::open_session() {
  const auto made = desk_.begin_session({{"name", plan_.name},
                                         {"key", setup_.key},
                                         {"features", setup_.features},
                                         {"timeout", kSessionTimeoutS},
                                         {"force", plan_.force}});
  if (!made) {
    const lst::Refusal& refusal = made.error();
    return fail(fmt::format("cannot begin a session: {}{}{}", lst::text_of_errno(refusal.number),
                            refusal.why.empty() ? "" : ": ", refusal.why));
  }
  session_open_ = true;
  state_ = State::kClients;
}

void Conductor::make_group(const char* name, const std::vector<std::string>& nodes, State next) {
  const auto made = desk_.ask("lst add_group", {{"group", name}, {"key", setup_.key}});
  if (!made) {
    return fail(fmt::format("cannot name a group: {} {}", lst::text_of_errno(made.error().number),
                            made.error().why));
  }
  if (!transact("lst add_nodes", {{"group", name}, {"nodes", nodes}}, "session on nodes")) return;
  state_ = next;
}

void Conductor::add_test() {
  const auto test = test_of(plan_, points_[point_], kBatch, kClientGroup, kServerGroup);
  Desk::Args args;
  args["test"] = nlohmann::json(lst::to_json(test));
  if (!transact("lst add_test", std::move(args), "adding the test")) return;
  state_ = points_[point_].rate > 0 ? State::kPace : State::kBefore;
}

void Conductor::set_pace() {
  const auto set = desk_.set_pace(points_[point_]);
  if (!set) return fail(fmt::format("setting the pace: {}", set.error().why));
  state_ = State::kBefore;
}

bool Conductor::take_stat(Sample& sample) {
  auto from = transact("lst stat", {{"group", kClientGroup}, {"timeout", kStatTimeoutS}},
                       "counters of clients");
  if (!from) return false;
  auto to = transact("lst stat", {{"group", kServerGroup}, {"timeout", kStatTimeoutS}},
                     "counters of servers");
  if (!to) return false;
  sample = {std::move(*from), std::move(*to), desk_.cpu_times()};
  return true;
}

void Conductor::look_before(Instant /*now*/) {
  watcher_.on_begin(points_[point_], repeat_, point_ * plan_.repeats + repeat_ + 1,
                    points_.size() * plan_.repeats);
  // A floor is meaningless for an open loop.
  if (plan_.baseline && points_[point_].rate == 0) floor_ = desk_.measure_floor(points_[point_]);
  if (!take_stat(before_)) return;
  last_ = before_;
  state_ = State::kRun;
}

void Conductor::run() {
  if (!transact("lst run", {{"batch", kBatch}, {"timeout", 0}}, "running the test")) return;
  just_run_ = true;
  state_ = State::kSample;
}

Instant Conductor::sample(Instant now) {
  if (std::exchange(just_run_, false)) {  // all clients have answered, however long it took
    measure_at_ = now + plan_.warm_up;
    sample_at_ = std::min(now + setup_.sample_period, measure_at_);
  }
  if (just_begun_) {  // the first sample is available only now, however long it took
    just_begun_ = false;
    end_at_ = now + plan_.duration;
    sample_at_ = std::min(now + setup_.sample_period, end_at_);
  }
  if (now < sample_at_) return sample_at_;
  const bool begins = !interval_ && now >= measure_at_;
  if (begins) {
    pollers_before_ = desk_.poller_times();
    desk_.begin_latency(points_[point_]);
  }
  const bool ends = interval_ && now >= end_at_;
  // Before the counters, as at the beginning, so that both cover the same interval.
  if (ends) {
    latencies_ = desk_.end_latency();
    pollers_after_ = desk_.poller_times();
  }
  Sample sample;
  if (!take_stat(sample)) return now;
  const GroupFigures last = figures_between(last_.from, sample.from);
  watcher_.on_sample(throughput_of(points_[point_], last), last.sum().rpc_rate, !interval_);
  if (interval_) interval_->add(last_, sample);
  if (begins) interval_.emplace(points_[point_], sample);
  last_ = std::move(sample);
  just_begun_ = begins;
  if (begins) return now;
  if (ends) {
    state_ = State::kStop;
    return now;
  }
  // Derived from the plan's times, not from the last answer, so that errors do not add up.
  const Instant bound = interval_ ? end_at_ : measure_at_;
  sample_at_ = std::min(std::max(sample_at_ + setup_.sample_period, now), bound);
  return sample_at_;
}

void Conductor::stop() {
  if (!transact("lst stop", {{"batch", kBatch}, {"force", false}}, "stopping the test")) return;
  attempts_ = 0;
  state_ = State::kDrain;
}

Instant Conductor::drain(Instant now) {
  const auto left =
      transact("lst query",
               {{"batch", kBatch}, {"test", 0}, {"servers", false}, {"timeout", kQueryTimeoutS}},
               "waiting for the last requests");
  if (!left) return now;
  if (left->running == 0) {
    state_ = State::kAfter;
    return now;
  }
  if (++attempts_ == kDrainsMax) {
    fail(fmt::format("{} {} requests", counted(left->running, "node"),
                     agreeing(left->running, "does not finish its", "do not finish their")));
    return now;
  }
  return now + kAgain;
}

void Conductor::look_after() {
  if (!take_stat(last_)) return;
  keep_measurement(false);
  next_repeat();
}

void Conductor::keep_measurement(bool cut_short) {
  just_begun_ = false;
  const auto interval = std::exchange(interval_, std::nullopt);
  auto latencies = std::exchange(latencies_, std::nullopt);
  auto pollers = std::exchange(pollers_after_, std::nullopt);
  if (!interval || interval->empty()) return;
  if (cut_short && !latencies) latencies = desk_.end_latency();
  if (cut_short && !pollers) pollers = desk_.poller_times();
  Measurement done = interval->measure(repeat_);
  done.cut_short = cut_short;
  if (pollers) done.pollers = use_between(pollers_before_, *pollers);
  set_cycles(done);
  if (latencies) {
    done.latency = latencies->all;
    done.latency_by_node = std::move(latencies->nodes);
    done.pace = latencies->pace;
    // The nodes' counters also include the messages of a console on one of them.
    if (done.point.rate > 0 && !cut_short && done.seconds > 0)
      done.rpc_rate = static_cast<double>(done.pace.begun) / done.seconds;
  }
  done.floor = std::exchange(floor_, std::nullopt);
  add_errors(before_.from, last_.from, done.errors);
  add_errors(before_.to, last_.to, done.errors);
  measurements_.push_back(std::move(done));
  watcher_.on_end(measurements_.back());
}

void Conductor::next_repeat() {
  if (++repeat_ < plan_.repeats) {
    state_ = State::kBefore;
    return;
  }
  search_on();
  complete_ = point_ + 1 == points_.size();
  attempts_ = 0;
  state_ = State::kClose;
}

void Conductor::search_on() {
  const auto& goal = plan_.highest_rate;
  if (!goal) return;
  const Point& tried = points_[point_];
  const std::span all(measurements_);
  search_.judge(keeps(*goal, tried.rate, all.last(plan_.repeats)));
  Point next = tried;
  if (const auto rate = search_.rate()) {
    next.rate = *rate;
    points_.insert(points_.begin() + static_cast<std::ptrdiff_t>(point_) + 1, next);
    return;
  }
  highest_rates_.push_back({tried, search_.highest(), search_.at_top()});
  search_ = RateSearch(plan_.from.size());
}

Instant Conductor::close(Instant now) {
  const auto ended = desk_.ask("lst end_session", {{"key", setup_.key}});
  if (!ended && ended.error().number != ESRCH && ++attempts_ < kClosesMax) return now + kAgain;
  session_open_ = false;
  if (!ended && ended.error().number != ESRCH) {
    left_behind_ = fmt::format("the console did not end the session: {} {}",
                               lst::text_of_errno(ended.error().number), ended.error().why);
  } else if (ended) {
    const auto result = lst::from_json<TransactionResult>(*ended);
    if (result && (result->rpc_errno != 0 || result->framework_errno != 0))
      left_behind_ = failures_of(*result);
  }
  if (complete_ || interrupted_ || !failure_.empty()) {
    state_ = State::kOver;
    return now;
  }
  ++point_;
  repeat_ = 0;
  state_ = State::kSession;
  return now;
}

}  // namespace plnet::run
