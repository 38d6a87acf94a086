// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/lnet_desk.hpp"

#include <utility>

#include "lib/lnet/node/node.hpp"
#include "lib/runtime/poll/poller.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/lnet_shard.hpp"

namespace plnet::node {
namespace {

// Between two attempts: most of them succeed within some turns.
constexpr Duration kPatience = std::chrono::milliseconds(2);

}  // namespace

struct LnetDesk::Trial {
  unsigned shard = 0;
  Attempt attempt;
  Instant deadline;
  lnet::Reply<void> done;
  Outcome<Progress> result = Progress::kAgain;
};

LnetDesk::~LnetDesk() {
  close();
}

Outcome<void> LnetDesk::open(std::vector<runtime::Poller*> pollers) {
  if (auto ready = home_bell_.ready(); !ready) return ready;
  home_bell_.arm_for_good();
  auto watched = loop_.add(home_bell_.descriptor(), EPOLLIN, [this](std::uint32_t) {
    home_bell_.clear();
    collect_home();
  });
  if (!watched) return watched;
  pollers_ = std::move(pollers);
  waiting_.resize(pollers_.size());
  out_.resize(pollers_.size());
  return {};
}

void LnetDesk::close() {
  if (pollers_.empty()) return;
  loop_.remove(home_bell_.descriptor());
  pollers_.clear();
  waiting_.clear();
  out_.clear();
}

unsigned LnetDesk::shards() const {
  return host_.shards();
}

Outcome<void> LnetDesk::order(unsigned shard, Work work, After after) {
  Order order;
  order.work = [this, shard, work = std::move(work)]() mutable {
    lnet::Node* const node = host_.place(shard).node_owner();
    if (node == nullptr) return;
    node->shard(shard).begin_turn(host_.clock().now());  // the last turn may be long ago
    work(*node);
  };
  order.after = std::move(after);
  return submit(shard, std::move(order));
}

Outcome<void> LnetDesk::submit(unsigned shard, Order order) {
  if (pollers_.empty()) {
    order.work();
    order.after();
    return {};
  }
  if (waiting_[shard].size() == kOrdersWaiting) {
    return failure(Errc::kAgain, "too many requests wait for " +
                                     std::string(pollers_[shard]->name()) + "; try again");
  }
  waiting_[shard].push_back(std::move(order));
  send_waiting(shard);
  return {};
}

void LnetDesk::send_waiting(unsigned shard) {
  auto& waiting = waiting_[shard];
  while (!waiting.empty() && out_[shard] < kOrdersOut) {
    auto& commands = pollers_[shard]->commands();
    if (commands.outstanding() == runtime::CommandChannel::kCommandsMax) {
      // Other users have filled the channel. It drains without notice, so a timer tries again.
      loop_.add_timer(kPatience, Duration::zero(), [this, shard] {
        if (shard < waiting_.size()) send_waiting(shard);
      });
      return;
    }
    Order order = std::move(waiting.front());
    waiting.pop_front();
    ++out_[shard];
    const auto sent = commands.submit(runtime::make_command(
        std::move(order.work), [this, shard, after = std::move(order.after)]() mutable {
          if (shard < out_.size()) {
            --out_[shard];
            send_waiting(shard);
          }
          after();
        }));
    PLNET_CHECK(sent.has_value(), "there was room for one more");
  }
}

void LnetDesk::attempt(unsigned shard, Attempt attempt, Duration bound, lnet::Reply<void> done) {
  auto trial = std::make_shared<Trial>();
  trial->shard = shard;
  trial->attempt = std::move(attempt);
  trial->deadline = loop_.now() + bound;
  trial->done = std::move(done);
  try_again(trial);
}

// The pollers do not turn yet, so this thread does the work of their turns, too.
void LnetDesk::try_alone(Trial& trial) {
  do {
    (void)order(
        trial.shard,
        [&trial](lnet::Node& node) {
          trial.result = trial.attempt(node);
          node.pass_unturned();
        },
        [] {});
  } while (trial.result && *trial.result == Progress::kAgain && loop_.now() < trial.deadline);
  if (!trial.result) return trial.done(std::unexpected(trial.result.error()));
  if (*trial.result == Progress::kDone) return trial.done({});
  trial.done(failure(Errc::kTimedOut, "LNet did not finish in time; try again"));
}

void LnetDesk::try_again(const std::shared_ptr<Trial>& trial) {
  if (pollers_.empty()) return try_alone(*trial);
  auto sent = order(
      trial->shard, [trial](lnet::Node& node) { trial->result = trial->attempt(node); },
      [this, trial] {
        if (!trial->result) return trial->done(std::unexpected(trial->result.error()));
        if (*trial->result == Progress::kDone) return trial->done({});
        if (loop_.now() >= trial->deadline) {
          return trial->done(failure(Errc::kTimedOut, "LNet did not finish in time; try again"));
        }
        loop_.add_timer(kPatience, Duration::zero(), [this, trial] { try_again(trial); });
      });
  if (!sent) trial->done(std::move(sent));
}

void LnetDesk::place_everywhere(lnet::Node* node, After after) {
  const auto left = std::make_shared<unsigned>(shards());
  const auto last = std::make_shared<After>(std::move(after));
  for (unsigned shard = 0; shard < shards(); ++shard) {
    Order order;
    order.work = [this, shard, node] { host_.place(shard).set_node_owner(node); };
    order.after = [left, last] {
      if (--*left == 0) (*last)();
    };
    // Never refused: this order alone may exceed the limit of the queue.
    if (pollers_.empty()) {
      order.work();
      order.after();
    } else {
      waiting_[shard].push_back(std::move(order));
      send_waiting(shard);
    }
  }
}

bool LnetDesk::begin_errand() {
  if (errands_ == kErrandsMax) return false;
  ++errands_;
  return true;
}

void LnetDesk::send_home_owner(Homecoming& errand) {
  const bool pushed = home_.push(&errand);
  PLNET_CHECK(pushed, "the ring of completions has room for every errand");
  home_bell_.ring();
}

void LnetDesk::collect_home() {
  Homecoming* errand = nullptr;
  while (home_.pop(errand)) {
    PLNET_CHECK(errands_ > 0, "a returned errand was sent");
    --errands_;
    errand->came_home();
  }
}

}  // namespace plnet::node
