// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/sim/selftest_site.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim {

using selftest::kBulkBytesMax;

namespace {

constexpr std::uint32_t kConsoleAddress = 0x0a00'0001;
constexpr std::uint32_t kFirstNet = 0x0a01'0000;  // of 250 nodes, from 1 on
constexpr unsigned kNodesOfNet = 250;
constexpr Duration kStep = std::chrono::milliseconds(1);
// A transaction has its own timeout; no state of a node outlives LNet's transactions.
constexpr Duration kTransactionMax = std::chrono::minutes(10);
constexpr Duration kEndMax = std::chrono::minutes(10);

selftest::SourceData source_in(std::byte* bytes) {
  selftest::WorkMemory memory{{0, 0}, {bytes, kBulkBytesMax}};
  return selftest::SourceData(memory);
}

SelftestHostLimits console_limits(const SelftestSiteSetup& setup) {
  SelftestHostLimits limits = setup.node;
  limits.peers = setup.nodes;
  limits.console_rpcs = setup.console_rpcs > 0 ? setup.console_rpcs : setup.nodes;
  return limits;
}

}  // namespace

lnet::Nid SelftestSite::console_nid() {
  return lnet::Nid::of(lnet::NetType::kTcp, 0, kConsoleAddress);
}

lnet::Nid SelftestSite::nid_of(unsigned node) {
  return lnet::Nid::of(lnet::NetType::kTcp, 0,
                       kFirstNet + (node / kNodesOfNet << 8U) + node % kNodesOfNet + 1);
}

SelftestSite::SelftestSite(const SelftestSiteSetup& setup)
    : setup_(setup),
      source_(std::make_unique<std::byte[]>(kBulkBytesMax)),
      loop_(setup.seed),
      network_(loop_, setup.shape.link, setup.seed),
      streams_(network_, setup.shape.stream, setup.seed),
      source_data_(source_in(source_.get())),
      world_{.streams = streams_,
             .lcore = setup.shape.shard,
             .seed = setup.seed,
             .source = {.base = source_.get(), .size = kBulkBytesMax},
             .source_data = source_data_,
             .latency = latency_,
             .paced = paced_} {
  PLNET_CHECK(setup.nodes > 0 && setup.nodes <= kSelftestNodesMax, "as many as a console keeps");
  console_ = std::make_unique<SelftestHost>(world_, 0, console_nid(), console_limits(setup));
  nodes_.reserve(setup.nodes);
  for (unsigned i = 0; i < setup.nodes; ++i)
    nodes_.push_back(std::make_unique<SelftestHost>(world_, i + 1, nid_of(i), setup.node));
}

void SelftestSite::start() {
  console_->start();
  for (const auto& node : nodes_)
    node->start();
}

bool SelftestSite::run_until(const std::function<bool()>& done, Duration bound) {
  const Instant end = loop_.now() + bound;
  while (!done()) {
    if (loop_.now() >= end) return false;
    (void)loop_.run_until(std::clamp(loop_.next(), loop_.now(), loop_.now() + kStep));
  }
  return true;
}

std::expected<selftest::TransactionResult, selftest::Refused> SelftestSite::transact(Begin begin) {
  if (console_->state() != SelftestHost::State::kUp)
    return selftest::refuse(selftest::Refusal::kShuttingDown);
  // Filled by the console's callback, at the latest when it is destroyed.
  struct Told {
    bool is_there = false;
    selftest::TransactionResult result;
  };
  const auto told = std::make_shared<Told>();
  const auto begun = ask([&](selftest::Console& console) {
    return begin(console, [told](selftest::TransactionResult result) {
      *told = {.is_there = true, .result = std::move(result)};
    });
  });
  if (!begun) return std::unexpected(begun.error());
  if (!run_until([&] { return told->is_there; }, kTransactionMax))
    return selftest::refuse(selftest::Refusal::kBusy, "the transaction does not end");
  return std::move(told->result);
}

std::string SelftestSite::close() {
  std::vector<SelftestHost*> all{console_.get()};
  for (const auto& node : nodes_)
    all.push_back(node.get());
  for (SelftestHost* const host : all) {
    if (host->state() == SelftestHost::State::kUp) host->shut_down();
  }
  const auto over = [&] {
    return std::ranges::all_of(all, [](const SelftestHost* host) { return host->gone(); });
  };
  if (!run_until(over, kEndMax)) {
    const auto left = std::ranges::find_if_not(all, &SelftestHost::gone);
    return fmt::format("{} does not end: {}", lnet::text_of((*left)->nid()),
                       (*left)->what_is_missing());
  }
  for (SelftestHost* const host : all) {
    if (const std::string missing = host->what_is_missing(); !missing.empty())
      return fmt::format("{} {}", lnet::text_of(host->nid()), missing);
    if (host->state() == SelftestHost::State::kDying) host->destroy();
  }
  return {};
}

}  // namespace plnet::sim
