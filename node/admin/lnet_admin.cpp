// SPDX-License-Identifier: BSD-3-Clause
// Start and stop of LNet, and the queue of changes. The changes are in lnet_admin_changes.cpp, the
// reports in lnet_admin_reports.cpp.
#include "node/admin/lnet_admin.hpp"

#include <utility>

#include <sys/epoll.h>

#include "node/admin/lnet_routing.hpp"
#include "node/admin/retuning.hpp"
#include "node/admin/route_reports.hpp"
#include "node/admin/router_options.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/open_families.hpp"
#include "node/host/shard_question.hpp"
#include "node/host/shard_tour.hpp"

namespace plnet::node {

using Progress = LnetDesk::Progress;

namespace {
// The node runs on: NIs keep the link state that they started with.
constexpr runtime::LogSite kLinksUnwatched{
    runtime::LogLevel::kWarning, "links_unwatched", {"cause"}};
}  // namespace

Outcome<void> follow_links(runtime::LinkWatch& watch, runtime::EventLoop& loop,
                           const std::function<void()>& look) {
  auto told = watch.open();
  if (told) {
    told = loop.add(watch.descriptor(), EPOLLIN, [&watch, look](std::uint32_t) {
      watch.drain();
      look();
    });
  }
  look();  // after open(): the watch reports no earlier changes
  return told;
}

LnetAdmin::LnetAdmin(runtime::Log& log) : log_(log), recovery_log_(log) {}
LnetAdmin::~LnetAdmin() = default;

FamilyHost* LnetAdmin::host_of(std::string_view family) {
  return host_ == nullptr ? nullptr : host_->families().host_of(family);
}

Outcome<void> LnetAdmin::start(LnetHost& host, runtime::EventLoop& loop,
                               const lnet::NodeConfig& wanted) {
  host_ = &host;
  loop_ = &loop;
  desk_ = std::make_unique<LnetDesk>(host, loop);
  pings_ = std::make_unique<LnetPings>(*desk_);
  lnd_metrics_ = std::make_unique<LndMetrics>(*desk_, *host_, host_->metrics());
  load_metrics_ = std::make_unique<LoadMetrics>(host_->metrics());
  state_metrics_ = std::make_unique<StateMetrics>(host_->metrics());
  (void)host_->metrics().add("reach", {}, reach_.counters());
  if (std::ranges::any_of(host_->families().hosts(), &FamilyHost::may_move))
    (void)host_->metrics().add("ni_moves", {}, moves_.counters.view());
  boot_ = wanted;
  // No poller turns yet: all of it happens during the call.
  Outcome<void> outcome = failure(Errc::kTimedOut, "LNet has not started");
  const auto keep = [&outcome](Outcome<void> done) { outcome = std::move(done); };
  config_.module_options = wanted.module_options;
  go_up(keep);
  if (!outcome) return outcome;
  enqueue([this, &wanted](lnet::Reply<void> ended) { bring_about(wanted, std::move(ended)); },
          keep);
  return outcome;
}

Outcome<void> LnetAdmin::set_running(std::vector<runtime::Poller*> pollers) {
  if (auto opened = desk_->open(std::move(pollers)); !opened) return opened;
  running_ = true;
  host_->node()->set_running();
  if (auto told = follow_links(link_watch_, *loop_, [this] { look_at_links(); }); !told) {
    links_unwatched_ = told.error().what;
    log_.write(kLinksUnwatched, {links_unwatched_});
  }
  wait_for_gateways();
  load_timer_ = loop_->add_timer(LoadMetrics::kPeriod, LoadMetrics::kPeriod,
                                 [this] { renew_load_metrics(); });
  renew_states();
  state_timer_ =
      loop_->add_timer(StateMetrics::kPeriod, StateMetrics::kPeriod, [this] { renew_states(); });
  recovery_timer_ =
      loop_->add_timer(RecoveryLog::kPeriod, RecoveryLog::kPeriod, [this] { say_recovery(); });
  return {};
}

// With check_routers_before_use, changes wait until each gateway has answered or failed one ping,
// as LNet's start does in the kernel. The bound is the time of two silent gateways.
void LnetAdmin::wait_for_gateways() {
  if (state_ != State::kUp || config_.routes.empty()) return;
  const lnet::Parameters& parameters = host_->node()->parameters();
  if (parameters.check_routers_before_use.get() == 0) return;
  const Duration bound =
      2 * std::chrono::seconds(parameters.router_ping_timeout_s.get()) + std::chrono::seconds(5);
  awaits_gateways_ = std::make_shared<std::atomic<bool>>(true);
  enqueue(
      [this, bound](lnet::Reply<void> ended) {
        desk_->attempt(
            0,
            [awaited = awaits_gateways_](lnet::Node& node) -> Outcome<Progress> {
              const bool over = !awaited->load(std::memory_order_relaxed) ||
                                node.coordinator().gateway_checks().all_known();
              return over ? Progress::kDone : Progress::kAgain;
            },
            bound, std::move(ended));
      },
      [](Outcome<void>&&) {});
}

// Taking LNet down does not depend on the gateways.
void LnetAdmin::stop_waiting_for_gateways() {
  if (awaits_gateways_) awaits_gateways_->store(false, std::memory_order_relaxed);
}

void LnetAdmin::tell_of_routes(runtime::Log& log) {
  if (state_ != State::kUp || !running_ || asking_for_news_) return;
  asking_for_news_ = true;
  take_route_news(*desk_, *host_->node(), [this, &log](const std::vector<lnet::RouteNews>& news) {
    asking_for_news_ = false;
    log_route_news(news, log);
  });
}

void LnetAdmin::close() {
  if (desk_ == nullptr) return;
  loop_->cancel_timer(load_timer_);
  loop_->cancel_timer(state_timer_);
  loop_->cancel_timer(recovery_timer_);
  if (running_ && links_unwatched_.empty()) loop_->remove(link_watch_.descriptor());
  desk_->close();
}

// --- The queue of changes ---

void LnetAdmin::enqueue(Change change, lnet::Reply<void> done) {
  if (changes_.size() == kChangesWaiting) {
    return done(failure(Errc::kBusy, "too many changes of LNet wait already; try again"));
  }
  changes_.emplace_back(std::move(change), std::move(done));
  if (!changing_) next_change();
}

void LnetAdmin::next_change() {
  if (changes_.empty()) return;
  auto next = std::move(changes_.front());
  changes_.pop_front();
  changing_ = true;
  next.first([this, done = std::move(next.second)](Outcome<void> outcome) mutable {
    note_connections([this, outcome = std::move(outcome), done = std::move(done)]() mutable {
      changing_ = false;
      done(std::move(outcome));
      if (!changing_) next_change();
    });
  });
}

// The tunables in force change only with a change of the configuration.
void LnetAdmin::note_connections(LnetDesk::After after) {
  using InForce = std::vector<TunablesInForce>;
  ask_node(*desk_, tunables_in_force,
           [this, after = std::move(after)](Outcome<InForce>&& in_force) mutable {
             const bool down = !in_force && in_force.error().code == Errc::kNetworkDown;
             if (in_force || down)
               note_in_force(host_->families(), config_, std::move(in_force).value_or(InForce{}));
             after();
           });
}

Outcome<void> LnetAdmin::check_up() const {
  if (state_ == State::kUp) return {};
  return failure(Errc::kNetworkDown,
                 "Network is down: LNet is not configured; `lnetctl lnet configure` starts it");
}

// --- LNet up ---

void LnetAdmin::configure(const lnet::ConfigureRequest& request, lnet::Reply<void> done) {
  enqueue(
      [this, request](lnet::Reply<void> ended) {
        if (state_ == State::kUp) return ended({});
        if (!request.networks) return go_up(std::move(ended));
        lnet::NodeConfig wanted = config_;
        wanted.nets = boot_.nets;
        wanted.ip2nets = boot_.ip2nets;
        wanted.ip2nets_text = boot_.ip2nets_text;
        wanted.peers = boot_.peers;
        wanted.routes = boot_.routes;
        wanted.faults = boot_.faults;
        wanted.access = boot_.access;
        wanted.udsps = boot_.udsps;
        go_up_with(std::move(wanted), std::move(ended));
      },
      std::move(done));
}

void LnetAdmin::go_up(lnet::Reply<void> done) {
  if (state_ == State::kUp) return done({});
  if (state_ == State::kGoing) {
    return done(failure(Errc::kBusy,
                        "LNet is still going down; `lnetctl lnet unconfigure` ends "
                        "it"));
  }
  lnet::Parameters checked;
  if (auto taken = take_router_options(config_, checked); !taken) return done(std::move(taken));
  lnet::Node& node = host_->build();
  (void)take_router_options(config_, node.parameters());
  node::set_parameters(node, config_.parameters);
  if (auto begun = begin_routing(node, config_); !begun) {
    host_->discard();
    return done(std::move(begun));
  }
  if (running_) node.set_running();
  desk_->place_everywhere(&node, [this, done = std::move(done)]() mutable {
    state_ = State::kUp;
    done({});
  });
}

void LnetAdmin::go_up_with(lnet::NodeConfig wanted, lnet::Reply<void> done) {
  go_up([this, wanted = std::move(wanted), done = std::move(done)](Outcome<void> up) mutable {
    if (!up) return done(std::move(up));
    change_to(std::move(wanted), [this, done = std::move(done)](Outcome<void> changed) mutable {
      if (changed) return done({});
      go_down([why = std::move(changed), done = std::move(done)](Outcome<void> /*down*/) mutable {
        done(std::move(why));
      });
    });
  });
}

// --- LNet down ---

void LnetAdmin::unconfigure(lnet::Reply<void> done) {
  stop_waiting_for_gateways();
  enqueue([this](lnet::Reply<void> ended) { go_down(std::move(ended)); }, std::move(done));
}

void LnetAdmin::shut_down(lnet::Reply<void> done) {
  if (desk_ == nullptr) return done({});
  for (auto& waiting : std::exchange(changes_, {}))
    waiting.second(failure(Errc::kShutdown, "this process is ending"));
  unconfigure(std::move(done));
}

// Removes the NIs and shuts the coordinator down, then waits until no shard has anything of LNet
// left. Then the node is destroyed.
void LnetAdmin::go_down(lnet::Reply<void> done) {
  if (state_ == State::kDown) return done({});
  const bool first = state_ == State::kUp;
  state_ = State::kGoing;
  pings_->shut_down();
  lnd_metrics_->let_go();
  load_metrics_->let_go();
  show_down();
  scarce_.clear();
  starving_.clear();
  reach_.clear();
  refusals_.clear();
  refused_peers_.clear();
  silence_.clear();
  moves_.forget();
  auto attempt = [begun = !first, clock = &host_->clock(),
                  families = &host_->families()](lnet::Node& node) mutable -> Outcome<Progress> {
    lnet::Coordinator& coordinator = node.coordinator();
    if (!begun) {
      begun = true;
      std::vector<lnet::Nid> nids;
      for (const lnet::Ni* ni : coordinator.local().nis)
        nids.push_back(ni->nid);
      for (const lnet::Nid& nid : nids) {
        for (const auto& host : families->hosts())
          host->close_ni(nid);
        (void)node.remove_ni(nid);
      }
      coordinator.shut_down();
    }
    const Instant now = clock->now();
    const bool settled = coordinator.quiet() && node.releasing_nis() == 0 &&
                         coordinator.next_deadline(now) > now + std::chrono::milliseconds(100);
    return settled ? Progress::kDone : Progress::kAgain;
  };
  desk_->attempt(0, std::move(attempt), kChangeMax,
                 [this, done = std::move(done)](Outcome<void> settled) mutable {
                   if (!settled) return done(std::move(settled));
                   end_idle(std::move(done));
                 });
}

void LnetAdmin::end_idle(lnet::Reply<void> done) {
  const auto await_idle = [this](unsigned shard, lnet::Reply<void> ended) {
    desk_->attempt(
        shard,
        [shard](lnet::Node& node) -> Outcome<Progress> {
          return node.shard(shard).idle() ? Progress::kDone : Progress::kAgain;
        },
        kChangeMax, std::move(ended));
  };
  in_turn(host_->shards(), await_idle, [this, done = std::move(done)](Outcome<void> idle) mutable {
    if (!idle) return done(std::move(idle));
    desk_->place_everywhere(nullptr, [this, done = std::move(done)]() mutable {
      host_->discard();
      config_.nets.clear();
      config_.ip2nets.clear();
      config_.ip2nets_text.clear();
      config_.peers.clear();
      config_.routes.clear();
      config_.faults.clear();
      config_.access.clear();
      config_.udsps.clear();
      state_ = State::kDown;
      done({});
    });
  });
}

}  // namespace plnet::node
