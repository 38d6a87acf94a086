// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/lnet_pings.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/peers/peer_records.hpp"

namespace plnet::node {
namespace {

using lnet::Nid;
using lnet::PingReport;
using lnet::RemoteNode;

// Added to the time of the pings; after that something is wrong.
constexpr Duration kGrace = std::chrono::seconds(5);
// The limit of a burst whose replies are all slow.
constexpr Duration kBurstMax = std::chrono::minutes(10);

std::unexpected<Error> failed(Errc code) {
  return failure(code, std::string(text_of(code)));
}

// On shard 0. A route that exists may be down, which is another cause than none.
std::unexpected<Error> failed_on(lnet::Node& node, const Nid& nid, Errc code) {
  const lnet::ShardCore& core = node.shard(0).core();
  if (code != Errc::kNoRoute || core.local().net(nid.net()) != nullptr) return failed(code);
  const std::string net = lnet::text_of_net(nid.net());
  if (core.routes().net(nid.net()) == nullptr)
    return failure(code, fmt::format("{}: this node has none to {}", text_of(code), net));
  return failure(code, fmt::format("{}: all routes to {} are down (lnetctl route show -v 1)",
                                   text_of(code), net));
}

// On shard 0: fills in the peer table's record of a NID.
void look_up(lnet::Node& node, const Nid& nid, RemoteNode& remote) {
  const lnet::PeerRecord* const peer = node.coordinator().directory().peer_of(nid);
  if (peer != nullptr) {
    remote.primary = peer->primary;
    remote.multi_rail = peer->multi_rail();
  } else if (nid.is_loopback()) {
    remote.primary = nid;  // this node is no peer of its own
  }
}

}  // namespace

// The pings of one NID of a batch.
struct LnetPings::Course {
  std::uint32_t to_send = 1;  // not queued yet
  std::uint32_t waiting = 0;  // in the queue
  std::uint32_t out = 0;
  std::uint32_t silent = 0;  // timeouts in a row
  lnet::PingBurst burst;
  Duration all_round_trips{};

  [[nodiscard]] bool over() const { return to_send + waiting + out == 0; }
  void count(bool answered, Duration round_trip) {
    --out;
    silent = answered ? 0 : silent + 1;
    if (silent >= kSilentMax) to_send = 0;
    if (!answered) {
      ++burst.failed;
      return;
    }
    burst.least = burst.answered == 0 ? round_trip : std::min(burst.least, round_trip);
    burst.most = std::max(burst.most, round_trip);
    all_round_trips += round_trip;
    burst.average = all_round_trips / ++burst.answered;
  }
};

struct LnetPings::Batch {
  lnet::PingOrder order;
  bool discovers = false;
  bool force = false;
  std::vector<PingReport> reports;
  std::vector<Course> courses;
  std::size_t left = 0;
  std::size_t out = 0;  // requests of all its NIDs
  Duration bound{};     // counts from the first request
  bool begun = false;
  lnet::Reply<std::vector<PingReport>> reply;  // empty after the call

  void finish() {
    if (!reply) return;
    auto answer = std::exchange(reply, nullptr);
    answer(std::move(reports));
  }
};

struct LnetPings::Ping final : lnet::PingRequest, Homecoming {
  Ping(LnetPings& pings, Next next) : owner(pings), of(std::move(next)) {
    const lnet::PingOrder& order = of.batch->order;
    target = {order.nids[of.index], lnet::kLustrePid};
    if (order.source) from = *order.source;
    timeout = order.timeout;
    interfaces = lnet::kInterfacesMax;
  }

  void done(Result<void> outcome, const lnet::PingView* buffer) override {
    // A ping buffer with more NIDs than there is room for: the report lists those that fit.
    const bool cut_short = !outcome && outcome.error() == Errc::kTooBig;
    if (!outcome && !(cut_short && buffer != nullptr)) {
      answer = failed_on(*node, target.nid, outcome.error());
    } else if (buffer != nullptr) {
      RemoteNode remote;
      look_up(*node, target.nid, remote);
      auto walk = buffer->walk();
      while (const auto entry = walk.next())
        remote.nids.push_back(entry->nid);
      answer = std::move(remote);
    }
    round_trip = node->shard(0).core().now - sent_at;
    owner.desk_.send_home_owner(*this);
  }

  void came_home() override {
    const std::unique_ptr<Ping> self(this);
    owner.ended(of, std::move(answer), round_trip);
  }

  LnetPings& owner;
  const Next of;
  lnet::Node* node = nullptr;
  Instant sent_at{};
  Duration round_trip{};
  Outcome<RemoteNode> answer = failed(Errc::kProtocol);
};

struct LnetPings::Discover final : lnet::DiscoverRequest, Homecoming {
  Discover(LnetPings& pings, Next next) : owner(pings), of(std::move(next)) {
    nid = of.batch->order.nids[of.index];
  }

  void done(Result<void> outcome) override {
    if (!outcome) {
      answer = failed_on(*node, nid, outcome.error());
    } else {
      RemoteNode remote;
      look_up(*node, nid, remote);
      if (const lnet::PeerRecord* const peer = node->coordinator().directory().peer_of(nid)) {
        for (const lnet::PeerNi* const ni : peer->seen().nis) {
          if (!ni->nid.is_loopback()) remote.nids.push_back(ni->nid);
        }
      }
      answer = std::move(remote);
    }
    owner.desk_.send_home_owner(*this);
  }

  void came_home() override {
    const std::unique_ptr<Discover> self(this);
    owner.ended(of, std::move(answer));
  }

  LnetPings& owner;
  const Next of;
  lnet::Node* node = nullptr;
  Outcome<RemoteNode> answer = failed(Errc::kProtocol);
};

void LnetPings::ping(lnet::PingOrder order, lnet::Reply<std::vector<PingReport>> reply) {
  auto batch = std::make_shared<Batch>();
  batch->order = std::move(order);
  batch->reply = std::move(reply);
  const std::size_t pings = batch->order.nids.size() * batch->order.count.value_or(1);
  const std::size_t at_a_time = batch->order.count ? batch->order.window : kAtATime;
  const auto rounds = static_cast<Duration::rep>(pings / at_a_time + 1);
  const Duration bound = batch->order.timeout * rounds + kGrace;
  begin(batch, batch->order.count ? std::min(bound, kBurstMax) : bound);
}

void LnetPings::discover(lnet::DiscoverOrder order, Duration bound,
                         lnet::Reply<std::vector<PingReport>> reply) {
  auto batch = std::make_shared<Batch>();
  batch->order.nids = std::move(order.nids);
  batch->discovers = true;
  batch->force = order.force;
  batch->reply = std::move(reply);
  begin(batch, bound);
}

void LnetPings::begin(const std::shared_ptr<Batch>& batch, Duration bound) {
  batch->left = batch->order.nids.size();
  batch->bound = bound;
  for (std::size_t i = 0; i < batch->order.nids.size(); ++i) {
    batch->reports.push_back({batch->order.nids[i], failed(Errc::kTimedOut), {}});
    const std::uint32_t count = batch->order.count.value_or(1);
    const std::uint32_t first = std::min(count, batch->order.window);
    batch->courses.push_back({.to_send = count - first, .waiting = first});
    waiting_.insert(waiting_.end(), first, Next{batch, i});
  }
  if (batch->left == 0) return batch->finish();
  start_waiting();
}

// Orders share the places: an order takes another place only while more are free than it holds. So
// an order with many silent NIDs leaves room for others.
bool LnetPings::may_start(const Batch& batch) const {
  return batch.out < kAtATime && batch.out < kAllAtATime - out_;
}

// A request that cannot be sent ends at once and calls this again before start() returns.
void LnetPings::start_waiting() {
  std::erase_if(waiting_, [](const Next& next) { return !next.batch->reply; });
  for (;;) {
    const auto at =
        std::ranges::find_if(waiting_, [this](const Next& next) { return may_start(*next.batch); });
    if (at == waiting_.end()) return;
    const Next next = std::move(*at);
    waiting_.erase(at);
    Batch& batch = *next.batch;
    if (!std::exchange(batch.begun, true)) {
      desk_.loop().add_timer(batch.bound, Duration::zero(), [weak = std::weak_ptr(next.batch)] {
        if (const auto late = weak.lock()) late->finish();
      });
    }
    Course& course = batch.courses[next.index];
    --course.waiting;
    ++course.out;
    ++course.burst.sent;
    start(next);
  }
}

void LnetPings::start(const Next& next) {
  const bool begun = desk_.begin_errand();
  PLNET_CHECK(begun, "fewer pings at a time than errands");
  ++out_;
  ++next.batch->out;
  const auto send = [this](auto* request, auto work) {
    // Without a node the order's work does not run: the request ends at once.
    const auto taken = std::make_shared<bool>(false);
    auto sent = desk_.order(
        0,
        [request, taken, work](lnet::Node& node) {
          *taken = true;
          request->node = &node;
          work(node, *request);
        },
        [this, request, taken] {
          if (*taken) return;
          request->answer = failed(Errc::kNetworkDown);
          desk_.end_errand();
          request->came_home();
        });
    if (sent) return;
    request->answer = std::unexpected(sent.error());
    desk_.end_errand();
    request->came_home();
  };
  if (next.batch->discovers) {
    send(new Discover(*this, next), [](lnet::Node& node, Discover& request) {
      node.coordinator().discover(request, request.of.batch->force);
    });
  } else {
    send(new Ping(*this, next), [](lnet::Node& node, Ping& request) {
      request.sent_at = node.shard(0).core().now;
      node.coordinator().ping(request);
    });
  }
}

void LnetPings::ended(const Next& next, Outcome<RemoteNode> answer, Duration round_trip) {
  --out_;
  --next.batch->out;
  Course& course = next.batch->courses[next.index];
  course.count(answer.has_value(), round_trip);
  if (course.to_send > 0) {
    --course.to_send;
    ++course.waiting;
    waiting_.push_back(next);
  }
  set_answer(*next.batch, next.index, std::move(answer));
  start_waiting();
}

// A reply to one ping of a burst is kept even if others time out.
void LnetPings::set_answer(Batch& batch, std::size_t index, Outcome<RemoteNode> answer) {
  if (!batch.reply) return;
  PingReport& report = batch.reports[index];
  const Course& course = batch.courses[index];
  if (answer || course.burst.answered == 0) report.answer = std::move(answer);
  if (batch.order.count) report.burst = course.burst;
  if (course.over() && --batch.left == 0) batch.finish();
}

void LnetPings::shut_down() {
  for (const Next& next : std::exchange(waiting_, {})) {
    Course& course = next.batch->courses[next.index];
    course.to_send = 0;
    --course.waiting;
    set_answer(*next.batch, next.index, failed(Errc::kShutdown));
  }
}

}  // namespace plnet::node
