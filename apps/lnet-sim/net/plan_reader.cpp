// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/net/plan_reader.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace plnet::sim {

namespace {

void read_fault_rule(KeyReader& reader, const YamlNode& node, ConfigErrors& errors, NetPlan& net) {
  using drivers::Fault;
  using drivers::Trigger;
  std::array<std::pair<std::string_view, Fault>, drivers::kFaultCount> names;
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = {drivers::name_of(static_cast<Fault>(i)), static_cast<Fault>(i)};
  drivers::FaultRule rule;
  unsigned percent = 100;
  std::uint64_t every = 0;
  std::uint64_t at = 0;
  const std::array keys{
      reader.word("fault", rule.fault, names),
      reader.word("direction", rule.direction,
                  std::array{std::pair{std::string_view("tx"), drivers::Direction::kTx},
                             std::pair{std::string_view("rx"), drivers::Direction::kRx}}),
      reader.number("percent", percent, 0, 100),
      reader.number("every", every, 1, UINT64_MAX),
      reader.number("at", at, 1, UINT64_MAX),
      reader.duration("delay", rule.delay),
  };
  reader.mapping(node, keys);
  const auto is_named = [&](std::string_view key) { return node.find(key) != nullptr ? 1 : 0; };
  if (is_named("percent") + is_named("every") + is_named("at") > 1) {
    errors.add(node.at,
               "faults: expected one of percent, every and at: each says which it strikes");
  }
  rule.probability = percent / 100.0;
  if (every > 0) rule.trigger = Trigger::kEveryNth;
  if (at > 0) rule.trigger = Trigger::kAtNth;
  rule.nth = std::max({every, at, std::uint64_t{1}});
  if (!net.faults.add(rule)) {
    errors.add(node.at, fmt::format("faults: more than {} rules", drivers::kRulesMax));
  }
}

void read_kfi(KeyReader& reader, const YamlNode& node, KfiPlan& plan) {
  constexpr std::uint64_t kMany = 8192;
  const std::array keys{
      reader.number("receive_buffers", plan.receive_buffers, 2, 64),
      reader.number("receive_buffer_bytes", plan.receive_buffer_bytes, 4096, 2U << 20U),
      reader.number("copies", plan.copies, 0, kMany),
      reader.number("source_connections", plan.source_connections, 1, kMany),
      reader.number("target_connections", plan.target_connections, 1, kMany),
      reader.number("message_states", plan.message_states, 1, kMany),
      reader.number("answers", plan.answers, 1, kMany),
  };
  reader.mapping(node, keys);
}

void read_o2ib(KeyReader& reader, const YamlNode& node, O2ibPlan& plan) {
  constexpr std::uint64_t kMany = 8192;
  const std::array keys{
      reader.number("answers", plan.answers, 1, kMany),
      reader.number("receives", plan.receives, 1, kMany),
  };
  reader.mapping(node, keys);
}

}  // namespace

void read_net(KeyReader& reader, const YamlNode& node, ConfigErrors& errors, NetPlan& plan) {
  const YamlNode* faults = nullptr;
  const YamlNode* kfi = nullptr;
  const YamlNode* o2ib = nullptr;
  std::array<std::pair<std::string_view, NetKind>, kNetKinds.size()> kinds;
  std::ranges::transform(kNetKinds, kinds.begin(),
                         [](NetKind kind) { return std::pair{traits_of(kind).name, kind}; });
  const std::array keys{
      Key{"name", [&](const YamlNode& value) { plan.name = value.text; }},
      reader.word("kind", plan.kind, kinds),
      reader.number("interfaces", plan.interfaces, 1, 8),
      reader.number("peer_credits", plan.peer_credits, 1, 256),
      reader.number("credits", plan.credits, 1, 4096),
      reader.list("faults",
                  [&](const YamlNode& rule) {
                    faults = &rule;
                    read_fault_rule(reader, rule, errors, plan);
                  }),
      Key{"kfi",
          [&](const YamlNode& value) {
            kfi = &value;
            read_kfi(reader, value, plan.kfi);
          }},
      Key{"o2ib",
          [&](const YamlNode& value) {
            o2ib = &value;
            read_o2ib(reader, value, plan.o2ib);
          }},
  };
  reader.mapping(node, keys);
  if (kfi != nullptr && plan.kind != NetKind::kKfi) {
    errors.add(kfi->at, "kfi: only of a net of `kind: kfi`");
  }
  if (o2ib != nullptr && plan.kind != NetKind::kO2ib) {
    errors.add(o2ib->at, "o2ib: only of a net of `kind: o2ib`");
  }
  for (const char* const key : {"peer_credits", "credits"}) {
    const YamlNode* const found = node.find(key);
    if (found == nullptr || plan.kind == NetKind::kTcp) continue;
    errors.add(found->key_at, fmt::format("{}: only of a net of `kind: tcp`", key));
  }
  if (faults == nullptr) return;
  if (const auto sound = check_faults(plan); !sound) errors.add(faults->at, sound.error().what);
}

}  // namespace plnet::sim
