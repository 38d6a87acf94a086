// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/adopt/network.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "apps/lnet-sim/adopt/gateways.hpp"
#include "apps/lnet-sim/adopt/node_facts.hpp"
#include "apps/lnet-sim/adopt/parameters.hpp"
#include "apps/lnet-sim/plan/numbers.hpp"
#include "lib/base/counted.hpp"
#include "lib/base/joined.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/lnet/flow/router_buffers.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

// As of a site file.
constexpr std::size_t kSiteNetsMax = 16;
constexpr std::size_t kSiteGroupsMax = 64;
constexpr std::size_t kSiteInterfacesMax = 8;
constexpr std::uint32_t kSiteBuffersMax = 65'536;
constexpr unsigned kBusyShards = 2;  // of a router or a server

class Adoption {
 public:
  explicit Adoption(std::span<const ConfigFile> files) : files_(files) {}

  std::expected<AdoptedSite, std::string> run() {
    if (files_.empty()) return std::unexpected("expected configuration files of nodes");
    if (files_.size() > kSiteGroupsMax) {
      return std::unexpected(
          fmt::format("{} files, expected at most {}: FILE:COUNT stands for "
                      "nodes of one kind",
                      files_.size(), kSiteGroupsMax));
    }
    for (const ConfigFile& file : files_) {
      auto facts = facts_of(file, notes());
      if (!facts) return std::unexpected(facts.error());
      nodes_.push_back(std::move(*facts));
    }
    if (const std::string wrong = add_nets(); !wrong.empty()) return std::unexpected(wrong);
    add_groups();
    adopt_routes(nodes_, site(), notes());
    add_nids();
    if (const std::string wrong = add_talks(); !wrong.empty()) return std::unexpected(wrong);
    adopt_parameters(files_, site(), notes());
    set_traffic();
    return std::move(result_);
  }

 private:
  [[nodiscard]] SiteConfig& site() { return result_.site; }
  [[nodiscard]] std::vector<std::string>& notes() { return result_.notes; }

  [[nodiscard]] unsigned number_of(NetId net) const {
    const auto& nets = result_.site.nets;
    return static_cast<unsigned>(std::ranges::find(nets, text_of_net(net), &NetPlan::name) -
                                 nets.begin());
  }

  NetPlan plan_of(NetId net) {
    NetPlan plan{.name = text_of_net(net)};
    switch (static_cast<NetType>(net >> 16)) {
      case NetType::kTcp: break;
      case NetType::kO2ib: plan.kind = NetKind::kO2ib; break;
      case NetType::kKfi: plan.kind = NetKind::kKfi; break;
      default: notes().push_back(fmt::format("network {}: simulated as TCP", plan.name)); break;
    }
    return plan;
  }

  std::string add_nets() {
    site().nets.clear();
    for (const NodeFacts& node : nodes_) {
      for (const NetFacts& net : node.nets) {
        if (number_of(net.net) < site().nets.size()) continue;
        site().nets.push_back(plan_of(net.net));
        set_interfaces(net.net);
      }
    }
    if (site().nets.size() <= kSiteNetsMax) return {};
    return fmt::format("{} networks, expected at most {}", site().nets.size(), kSiteNetsMax);
  }

  // All nodes of a simulated network have the same number.
  void set_interfaces(NetId id) {
    std::vector<std::size_t> counts;
    for (NodeFacts& node : nodes_) {
      if (const NetFacts* const own = node.on(id)) counts.push_back(own->interfaces);
    }
    const auto [least, most] = std::ranges::minmax(counts);
    const std::size_t used = std::min(least, kSiteInterfacesMax);
    site().nets.back().interfaces = static_cast<unsigned>(used);
    if (most == used) return;
    notes().push_back(
        fmt::format("network {}: nodes have {} to {} there; {} in the "
                    "site, the same for all nodes",
                    text_of_net(id), least, counted(most, "interface"), used));
  }

  [[nodiscard]] std::string free_name(const std::string& wanted) {
    std::string name = wanted;
    for (unsigned i = 2;
         std::ranges::find(site().groups, name, &GroupPlan::name) != site().groups.end(); ++i)
      name = fmt::format("{}-{}", wanted, i);
    return name;
  }

  void add_groups() {
    site().nodes = 0;
    for (const NodeFacts& node : nodes_) {
      GroupPlan group{.name = free_name(node.file->name), .nodes = node.file->nodes};
      group.router = node.router;
      if (node.router || node.file->is_server) group.shards = {kBusyShards};
      for (const NetFacts& net : node.nets)
        group.nets.push_back(number_of(net.net));
      if (node.router) set_buffers(*node.file, group);
      site().nodes += group.nodes;
      site().groups.push_back(std::move(group));
    }
  }

  void set_buffers(const ConfigFile& file, GroupPlan& group) {
    const NodeConfig& config = file.settings.lnet;
    const auto set = [&](BufferClass which, std::string_view name, std::int32_t value) {
      const auto wanted =
          value > 0 ? static_cast<unsigned>(value) : static_cast<unsigned>(kBuffersDefault[which]);
      group.buffers[which] = std::min(wanted, kSiteBuffersMax);
      if (wanted > kSiteBuffersMax)
        notes().push_back(fmt::format("{}: {} {} router buffers: {} in the site, its limit",
                                      file.title, wanted, name, kSiteBuffersMax));
    };
    set(BufferClass::kTiny, "tiny", config.buffers.tiny);
    set(BufferClass::kSmall, "small", config.buffers.small);
    set(BufferClass::kLarge, "large", config.buffers.large);
    const auto credits =
        whole_number<unsigned>(config.module_option("lnet", "peer_buffer_credits"));
    group.peer_buffer_credits = std::min(credits.value_or(0), 65'535U);
  }

  // In the order of the nodes, as many of each; only complete lists are used.
  void add_nids() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const unsigned count = nodes_[i].file->nodes;
      for (unsigned node = 0; node < count; ++node) {
        for (const NetFacts& net : nodes_[i].nets) {
          const std::size_t share = net.nids.size() / count;
          for (std::size_t k = 0; k < share; ++k)
            site().groups[i].nids.push_back(text_of(net.nids[node * share + k]));
        }
      }
    }
  }

  [[nodiscard]] static bool reaches(const GroupPlan& from, const GroupPlan& to) {
    return std::ranges::any_of(to.nets, [&](unsigned net) {
      return contains(from.nets, net) ||
             std::ranges::find(from.routes, net, &RoutePlan::net) != from.routes.end();
    });
  }

  std::string add_talks() {
    bool any_server = false;
    bool any_talk = false;
    for (std::size_t to = 0; to < nodes_.size(); ++to) {
      if (!nodes_[to].file->is_server) continue;
      any_server = true;
      for (std::size_t from = 0; from < nodes_.size(); ++from) {
        if (nodes_[from].file->is_server || nodes_[from].router) continue;
        any_talk = add_talk(from, to) || any_talk;
      }
    }
    if (!any_server) return "no servers, expected --servers FILE…: the nodes that answer clients";
    if (any_talk) return {};
    return "no client can exchange messages with a server, expected a common network, or routes of "
           "both by given routers" +
           (notes().empty() ? std::string() : fmt::format("\n{}", joined(notes(), "\n")));
  }

  bool add_talk(std::size_t from, std::size_t to) {
    GroupPlan& client = site().groups[from];
    const GroupPlan& server = site().groups[to];
    const bool there = reaches(client, server);
    if (there && reaches(server, client)) {
      client.talks_to.push_back(static_cast<unsigned>(to));
      return true;
    }
    notes().push_back(fmt::format("{} has no way to {}, so they exchange nothing",
                                  there ? nodes_[to].file->title : nodes_[from].file->title,
                                  there ? nodes_[from].file->title : nodes_[to].file->title));
    return false;
  }

  // Reads, one at a time: a client without an answer waits.
  void set_traffic() {
    TrafficPlan& traffic = site().traffic;
    traffic.operations = 200;
    traffic.window = 1;
    traffic.size_min = 4096;
    traffic.size_max = 65'536;
    traffic.pause = std::chrono::seconds(2);
    traffic.put_wildcard = traffic.put_unique = traffic.put_lazy = traffic.put_managed = 0;
    traffic.get = 100;
    traffic.abandon_percent = traffic.unlink_percent = traffic.loopback_percent = 0;
    traffic.scattered = false;
    site().time = std::chrono::seconds(60);
  }

  std::span<const ConfigFile> files_;
  std::vector<NodeFacts> nodes_;
  AdoptedSite result_;
};

}  // namespace

std::expected<AdoptedSite, std::string> adopt(std::span<const ConfigFile> files) {
  return Adoption(files).run();
}

}  // namespace plnet::sim
