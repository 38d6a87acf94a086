// SPDX-License-Identifier: BSD-3-Clause
// The node's standing towards its peers: link state of NIs, routing on and off, drain, and the log
// lines about them.
#include <algorithm>
#include <utility>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/peers/peer_complaints.hpp"
#include "lib/runtime/admin/once_log.hpp"
#include "node/admin/lnet_admin.hpp"
#include "node/admin/lnet_reports.hpp"
#include "node/admin/lnet_routing.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/open_families.hpp"
#include "node/host/shard_question.hpp"
#include "node/watch/starving_notes.hpp"

namespace plnet::node {
namespace {

using lnet::Nid;
using lnet::NodeConfig;
using lnet::Reply;
using lnet::RoutingState;
using runtime::LogLevel;
using runtime::LogLimit;
using runtime::LogSite;
using Progress = LnetDesk::Progress;

constexpr LogSite kLinkDown{LogLevel::kWarning, "link_down", {"nid", "cause"}, LogLimit::kCaller};
constexpr LogSite kLinkUp{LogLevel::kInfo, "link_up", {"nid"}, LogLimit::kCaller};
constexpr LogSite kNiDown{
    LogLevel::kWarning, "ni_down", {"nid", "cause", "changes"}, LogLimit::kCaller};
constexpr LogSite kNiUp{LogLevel::kInfo, "ni_up", {"nid", "changes"}, LogLimit::kCaller};
constexpr LogSite kRouting{LogLevel::kInfo, "routing", {"state", "drain"}};
constexpr LogSite kCutOff{LogLevel::kWarning, "routing_cut_off", {"messages"}};

// Period of checks during a drain.
constexpr Duration kLookAtDrain = std::chrono::milliseconds(100);
// Extra time for pollers that do not answer.
constexpr Duration kLeaveSlack = std::chrono::seconds(2);

Instant now_of(lnet::Node& node) {
  return node.shard(0).core().now;
}

Duration bound_of(const lnet::DrainOrder& order, lnet::Node& node) {
  return order.bound.value_or(
      lnet::RoutingStateMachine::patience(node.parameters().router_notice()));
}

}  // namespace

// --- Links ---

// Called when an NI has come up and when the system reports a change of links.
void LnetAdmin::look_at_links() {
  if (!running_ || state_ != State::kUp) return;
  const auto said = [this](const Nid& nid, std::string_view cause) {
    if (cause.empty()) {
      log_.write(kLinkUp, {text_of(nid)});
    } else {
      log_.write(kLinkDown, {text_of(nid), std::string(cause)});
    }
  };
  loop_->cancel_timer(link_timer_);
  Instant next = Instant::max();
  for (const auto& host : host_->families().hosts()) {
    host->look_at_links(*desk_, nids_of(*host), loop_->now(), said);
    next = std::min(next, host->look_again_at());
  }
  if (next == Instant::max()) return;
  link_timer_ = loop_->add_timer(std::max(next - loop_->now(), Duration::zero()), Duration::zero(),
                                 [this] { look_at_links(); });
}

// The configured NIDs of a family.
std::vector<Nid> LnetAdmin::nids_of(const FamilyHost& family) const {
  std::vector<Nid> nids;
  for (const lnet::NetConfig& net : config_.nets) {
    for (const lnet::NiConfig& ni : net.nis) {
      if (ni.nid && host_->families().host_of(net.net, ni) == &family) nids.push_back(*ni.nid);
    }
  }
  return nids;
}

// The operating system knows more about a link than the LND reports. An NI that is down always has
// a cause.
void LnetAdmin::add_causes(std::vector<lnet::NetReport>& nets) const {
  for (lnet::NetReport& net : nets) {
    for (lnet::NiReport& ni : net.nis) {
      if (!ni.up && ni.down_cause.empty()) {
        ni.down_cause =
            ni.health.health_value == 0 ? "its health is 0" : "its driver reports a fatal error";
      }
      for (const auto& host : host_->families().hosts()) {
        const std::string_view cause = host->link_trouble_of(ni.nid);
        if (ni.health.fatal_error != 0 && !cause.empty()) ni.down_cause = cause;
      }
    }
  }
}

// --- Routing ---

Outcome<void> LnetAdmin::check_stays() const {
  if (!leaving_) return {};
  return failure(Errc::kBusy, "this process is draining to its end and does not route again");
}

void LnetAdmin::set_routing(bool enabled, Reply<void> done) {
  enqueue(
      [this, enabled](Reply<void> ended) {
        if (auto stays = check_stays(); enabled && !stays) return ended(std::move(stays));
        NodeConfig wanted = config_;
        wanted.routing = enabled;
        if (state_ != State::kUp || wanted != config_) {
          return change_to(std::move(wanted), std::move(ended));
        }
        // The configuration is the same, but the node may be drained.
        std::vector<LnetStep> steps;
        steps.push_back(routing_step(enabled, false));
        run_steps(std::move(steps), std::move(wanted), std::move(ended));
      },
      std::move(done));
}

void LnetAdmin::drain_routing(lnet::DrainOrder order, Reply<void> done) {
  enqueue(
      [this, order](Reply<void> ended) {
        if (auto up = check_up(); !up) return ended(std::move(up));
        if (auto stays = check_stays(); !stays) return ended(std::move(stays));
        desk_->attempt(
            0,
            [order](lnet::Node& node) -> Outcome<Progress> {
              const auto begun = node.coordinator().standing().drain(
                  now_of(node), bound_of(order, node), order.full_notice);
              if (begun) return Progress::kDone;
              return failure(Errc::kInvalid, "this node does not route: nothing to drain");
            },
            kChangeMax, std::move(ended));
      },
      std::move(done));
}

void LnetAdmin::undrain_routing(Reply<void> done) {
  enqueue(
      [this](Reply<void> ended) {
        if (auto up = check_up(); !up) return ended(std::move(up));
        if (auto stays = check_stays(); !stays) return ended(std::move(stays));
        // A stop by `set routing 0` has changed the configuration.
        NodeConfig wanted = config_;
        wanted.routing = true;
        LnetStep::Act undrain = [](lnet::Node& node) -> Outcome<Progress> {
          if (node.coordinator().standing().undrain(now_of(node))) return Progress::kDone;
          return failure(Errc::kInvalid, "this node neither drains nor stops routing");
        };
        std::vector<LnetStep> steps;
        steps.push_back({.act = std::move(undrain), .undo = {}});
        run_steps(std::move(steps), std::move(wanted), std::move(ended));
      },
      std::move(done));
}

void LnetAdmin::routing(Reply<lnet::RoutingReport> reply) {
  report_standing(*desk_,
                  [this, reply = std::move(reply)](Outcome<lnet::RoutingReport>&& report) mutable {
                    if (!report) return reply(std::move(report));
                    report->configured = config_.routing;
                    report->buffers = config_.buffers;
                    report->starving = starving_.list();
                    if (check_up())
                      return report_routing(*desk_, *host_, std::move(*report), std::move(reply));
                    report->cpts.resize(host_->cpts());
                    reply(std::move(report));
                  });
}

// --- The end of the process ---

struct LnetAdmin::Leave {
  Told told;
  Told done;
  lnet::DrainOrder order;
  lnet::StandingReport report;
  bool over = false;

  void end() {
    if (!std::exchange(over, true)) done(report);
  }
  // The messages of the last report end with the process.
  void cut_off() {
    report.cut_off = report.load.held;
    end();
  }
};

void LnetAdmin::leave(const lnet::DrainOrder& order, Told told, Told done) {
  auto leave = std::make_shared<Leave>();
  leave->told = std::move(told);
  leave->done = std::move(done);
  leave->order = order;
  if (state_ != State::kUp) return leave->end();
  leaving_ = true;
  loop_->add_timer(bound_of(order, *host_->node()) + kLeaveSlack, Duration::zero(),
                   [leave] { leave->cut_off(); });
  keep_leaving(leave, true);
}

void LnetAdmin::keep_leaving(const std::shared_ptr<Leave>& leave, bool first) {
  if (leave->over) return;
  const auto look_again = [this, leave](bool still_first) {
    loop_->add_timer(kLookAtDrain, Duration::zero(),
                     [this, leave, still_first] { keep_leaving(leave, still_first); });
  };
  ask_node(
      *desk_,
      [first, order = leave->order](lnet::Node& node) {
        lnet::NodeStanding& standing = node.coordinator().standing();
        // Fails if the node does not route: then the report says that it is done.
        if (first) (void)standing.leave(now_of(node), bound_of(order, node), order.full_notice);
        return standing.report(now_of(node));
      },
      [leave, look_again, first](Outcome<lnet::StandingReport>&& seen) {
        if (leave->over) return;
        // Too many orders wait. If that lasts, the timer of leave() ends it.
        if (!seen && seen.error().code == Errc::kAgain) return look_again(first);
        if (!seen) return leave->cut_off();
        leave->report = *seen;
        if (leave->report.state == RoutingState::kDisabled) return leave->end();
        leave->told(leave->report);
        look_again(false);
      });
}

// --- Log lines ---

void LnetAdmin::say_standing() {
  if (host_ == nullptr || host_->node() == nullptr) return;
  lnet::StandingNote note;
  while (host_->node()->coordinator().standing().pop_note(note)) {
    if (!note.nid.is_loopback() && note.cause == lnet::NiCause::kNone) {
      log_.write(kNiUp, {text_of(note.nid), std::to_string(note.number)});
    } else if (!note.nid.is_loopback()) {
      log_.write(kNiDown, {text_of(note.nid), std::string(text_of(note.cause)),
                           std::to_string(note.number)});
    } else {
      log_.write(kRouting, {std::string(text_of(note.state)), std::string(text_of(note.phase))});
      if (note.number > 0) log_.write(kCutOff, {std::to_string(note.number)});
    }
  }
  for (unsigned shard = 0; shard < host_->shards(); ++shard) {
    lnet::StarvingNote starving;
    while (host_->node()->shard(shard).core().keeper.pop_note(starving))
      say_starving(starving, log_, starving_);
  }
  say_paths();
  look_for_scarce();
}

void LnetAdmin::say_paths() {
  const Instant now = loop_->now();
  if (refused_peers_.judge_by(config_.access)) refusals_.forget_access();
  using Id = lnet::LnetReach::Id;
  const ReachWatch::Explain explain = explained();
  std::uint64_t unreachable = 0;
  for (unsigned shard = 0; shard < host_->shards(); ++shard) {
    const lnet::ShardCore& core = host_->node()->shard(shard).core();
    lnet::PeerNews news;
    while (core.reach->take(news))
      reach_.hear(news, now, explain, log_);
    const auto& counters = core.reach->counters();
    unreachable +=
        counters.get(Id::kLost) - counters.get(Id::kFound) - counters.get(Id::kForgotten);
    lnet::RefusedMessage refused;
    while (core.refusals->take(refused))
      note_refusal(refused, now);
    lnet::SilenceNote silence;
    while (core.silence->take(silence))
      silence_.hear(silence, now);
  }
  reach_.step(now, unreachable, log_);
}

// On a network of ours it is the peer that cannot be reached.
void LnetAdmin::note_refusal(const lnet::RefusedMessage& refused, Instant now) {
  const bool near = config_.net(refused.destination.net()) != nullptr;
  const bool wants_path = refused.cause == lnet::Cause::kDroppedForwardNoPath ||
                          refused.cause == lnet::Cause::kTxNoPath;
  if (near && wants_path) return;
  refusals_.hear(refused, now, log_);
}

// All NIs of a network are of the first one's family.
std::string LnetAdmin::explain_trouble(const lnet::Nid& peer, Errc trouble) const {
  const lnet::NetConfig* const net = config_.net(peer.net());
  if (net == nullptr || net->nis.empty()) return {};
  const FamilyHost* const family = host_->families().host_of(net->net, net->nis.front());
  return family == nullptr ? std::string() : family->explain_unreachable(peer, trouble);
}

ReachWatch::Explain LnetAdmin::explained() const {
  return [this](const lnet::PeerNews& news) { return explain_trouble(news.nid, *news.trouble); };
}

runtime::Json LnetAdmin::path_warnings(std::span<const GrowingCause> drops) const {
  runtime::Json all = runtime::Json::array();
  if (host_ == nullptr || host_->node() == nullptr) return all;
  all = reach_.warnings(loop_->now(), explained());
  for (runtime::Json& each : refused_peers_.warnings(loop_->now()))
    all.push_back(std::move(each));
  for (runtime::Json& each : refusals_.warnings(loop_->now(), drops))
    all.push_back(std::move(each));
  return all;
}

void LnetAdmin::say_refused_peers(runtime::OnceLog& log) {
  if (host_ == nullptr || host_->node() == nullptr) return;
  lnet::RefusedPeer refused;
  for (unsigned shard = 0; shard < host_->shards(); ++shard) {
    while (host_->node()->shared().refused_peers[shard].take(refused))
      refused_peers_.hear(refused, loop_->now(), log);
  }
}

void LnetAdmin::say_complaints(runtime::OnceLog& log) {
  if (host_ == nullptr || host_->node() == nullptr) return;
  lnet::PeerComplaint complaint;
  for (unsigned shard = 0; shard < host_->shards(); ++shard) {
    while (host_->node()->shard(shard).core().complaints->take(complaint))
      log.tell(text_of(complaint.nid), complaint.cause);
  }
  while (host_->node()->coordinator().directory().complaints().take(complaint))
    log.tell(text_of(complaint.nid), complaint.cause);
}

// This thread may read counters; only the shard knows the largest holder of a resource.
void LnetAdmin::look_for_scarce() {
  if (!running_ || state_ != State::kUp) return;
  scarce_.resize(host_->shards());
  for (unsigned shard = 0; shard < host_->shards(); ++shard) {
    const lnet::ShardCore& core = host_->node()->shard(shard).core();
    for (const ScarceNews& news : scarce_[shard].look(scarce_counts(core.causes), loop_->now())) {
      ask_shard(
          *desk_, shard,
          [of = news.of, shard](lnet::Node& node) {
            return holder_of(of, node.shard(shard).core());
          },
          [this,
           note = ScarceNote(news, core.cpt, shard, "")](Outcome<std::string>&& most) mutable {
            if (!most || state_ != State::kUp) return;
            note.most = std::move(*most);
            say_scarce(note, log_, starving_);
          });
    }
  }
}

}  // namespace plnet::node
