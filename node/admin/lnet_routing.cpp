// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/lnet_routing.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/whole_number.hpp"
#include "lib/lnet/control/coordinator.hpp"
#include "lib/lnet/node/node.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/router_memory.hpp"
#include "node/host/shard_tour.hpp"

namespace plnet::node {
namespace {

using lnet::BufferClass;
using lnet::RoutingReport;
using Progress = LnetDesk::Progress;

// `options lnet peer_buffer_credits=`; 0 if it is not set.
Outcome<std::int32_t> peer_buffer_credits_of(const lnet::NodeConfig& config) {
  const std::string_view text = config.module_option("lnet", "peer_buffer_credits");
  if (text.empty()) return 0;
  const auto credits = whole_number<std::int32_t>(text);
  if (credits && *credits >= 0) return *credits;
  return failure(
      Errc::kInvalid,
      fmt::format("options lnet peer_buffer_credits={}: expected a number, 0 or more", text));
}

LnetStep::Act sets_buffers(const lnet::BuffersConfig& buffers) {
  return [buffers](lnet::Node& node) -> Outcome<Progress> {
    auto set = node.set_router_buffers(router_buffers_of(buffers));
    if (set) return Progress::kDone;
    if (set.error().code == Errc::kBusy) return Progress::kAgain;
    return std::unexpected(set.error());
  };
}

// `at_once`: as at the start of a node; otherwise after the peers' notice.
LnetStep::Act sets_routing(bool on, bool at_once) {
  return [on, at_once](lnet::Node& node) -> Outcome<Progress> {
    if (on) {
      if (auto there = node.check_router_memory(); !there) return std::unexpected(there.error());
    }
    lnet::Coordinator& coordinator = node.coordinator();
    const Instant now = node.shard(0).core().now;
    if (at_once) {
      coordinator.set_routing(on, true);
    } else if (!on) {
      coordinator.standing().disable(now);
    } else if (!coordinator.standing().enable(now)) {
      return failure(Errc::kBusy, "this process is draining to its end and does not route again");
    }
    return Progress::kDone;
  };
}

void add(lnet::BufferPoolReport& report, BufferClass of, const lnet::BufferPoolView& pool) {
  report.pages =
      static_cast<std::int32_t>(lnet::kBufferBytes[of] / lnet::kBufferBytes[BufferClass::kSmall]);
  report.buffers += static_cast<std::int32_t>(pool.buffers);
  report.credits += pool.credits;
  report.credits_min += pool.credits_min;
  report.used_max += pool.used_max;
  report.waited += pool.waited;
}

}  // namespace

Outcome<void> begin_routing(lnet::Node& node, const lnet::NodeConfig& config) {
  const auto credits = peer_buffer_credits_of(config);
  if (!credits) return std::unexpected(credits.error());
  node.parameters().peer_buffer_credits.set(*credits);
  const bool needs_buffers = config.routing || config.buffers != lnet::BuffersConfig{};
  if (auto set = node.set_router_buffers(router_buffers_of(config.buffers));
      !set && needs_buffers) {
    return set;
  }
  node.coordinator().set_routing(config.routing, false);
  return {};
}

LnetStep routing_step(bool on, bool at_once) {
  return {.act = sets_routing(on, at_once), .undo = sets_routing(!on, true)};
}

void add_routing_steps(const lnet::NodeConfig& now, const lnet::NodeConfig& wanted, bool at_once,
                       std::vector<LnetStep>& steps) {
  if (now.buffers != wanted.buffers) {
    steps.push_back({.act = sets_buffers(wanted.buffers), .undo = sets_buffers(now.buffers)});
  }
  if (now.routing != wanted.routing) steps.push_back(routing_step(wanted.routing, at_once));
}

void report_routing(LnetDesk& desk, const LnetHost& host, RoutingReport report,
                    lnet::Reply<RoutingReport> reply) {
  report.cpts.resize(host.cpts());
  gather_from_shards(
      desk, std::move(report),
      [](lnet::Node& node, unsigned shard, RoutingReport& gathered) {
        const lnet::ShardCore& core = node.shard(shard).core();
        RoutingReport::OfCpt& cpt = gathered.cpts.at(core.cpt);
        add(cpt.tiny, BufferClass::kTiny, core.buffers.view(BufferClass::kTiny));
        add(cpt.small, BufferClass::kSmall, core.buffers.view(BufferClass::kSmall));
        add(cpt.large, BufferClass::kLarge, core.buffers.view(BufferClass::kLarge));
      },
      std::move(reply));
}

}  // namespace plnet::node
