// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/starving_notes.hpp"

#include <string_view>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {
namespace {

using lnet::BufferClass;
using lnet::PoolBound;
using runtime::LogLevel;
using runtime::LogLimit;
using runtime::LogSite;
using What = lnet::StarvingNote::What;

// The caller limits these lines to one a minute for each shard and resource.
constexpr LogSite kStarve{LogLevel::kWarning,
                          "router_buffers_starve",
                          {"class", "cpt", "shard", "waited", "most_held_by", "more"},
                          LogLimit::kCaller};
constexpr LogSite kGoesOn{LogLevel::kWarning,
                          "router_buffers_still_starve",
                          {"class", "cpt", "shard", "waited", "most_held_by", "more"},
                          LogLimit::kCaller};
constexpr LogSite kSuffice{LogLevel::kInfo,
                           "router_buffers_suffice",
                           {"class", "cpt", "shard", "waited", "buffers"},
                           LogLimit::kCaller};

constexpr LogSite kScarce{LogLevel::kWarning,
                          "lnet_starves",
                          {"of", "cpt", "shard", "waited", "most", "more"},
                          LogLimit::kCaller};
constexpr LogSite kStillScarce{LogLevel::kWarning,
                               "lnet_still_starves",
                               {"of", "cpt", "shard", "waited", "most", "more"},
                               LogLimit::kCaller};
constexpr LogSite kEnough{
    LogLevel::kInfo, "lnet_suffices", {"of", "cpt", "shard", "waited"}, LogLimit::kCaller};

std::string_view name_of(BufferClass of) {
  switch (of) {
    case BufferClass::kTiny: return "tiny";
    case BufferClass::kSmall: return "small";
    case BufferClass::kLarge: return "large";
  }
  return "";
}

std::string holder_text(const lnet::StarvingNote& note) {
  if (note.hop_holds == 0) return "no next hop";
  return fmt::format("{} ({} of {})", text_of(note.hop), note.hop_holds, note.buffers);
}

}  // namespace

std::string bound_text(BufferClass of, PoolBound bound) {
  const auto name = name_of(of);
  switch (bound) {
    case PoolBound::kNone: return "they grow";
    case PoolBound::kSet:
      return fmt::format(
          "{0}_buffers is set; `lnetctl set {0}_buffers N` makes more, 0 lets them "
          "grow",
          name);
    case PoolBound::kMemory:
      return fmt::format("their share of memory is used up; `lnetctl set {}_buffers N` takes more",
                         name);
    case PoolBound::kPlace:
      return fmt::format("as many as grow by themselves; `lnetctl set {}_buffers N` makes more",
                         name);
    case PoolBound::kRecords:
      return "records are used up; `plnet: lnet: messages` and `receives` and a restart make more";
  }
  return "";
}

std::string more_text(Scarce of) {
  switch (of) {
    case Scarce::kClientCredits:
      return "more peer_buffer_credits: `net add --peer-buffer-credits N`, or `options lnet "
             "peer_buffer_credits=N` and a restart; without either they are borrowed while buffers "
             "are free, and `lnetctl set large_buffers N` makes more of those";
    case Scarce::kNiCredits: return "more credits of the NI: `net del`, `net add --credits N`";
    case Scarce::kMessages: return "`plnet: lnet: messages` and a restart make more";
    case Scarce::kReceives: return "`plnet: lnet: receives` and a restart make more";
  }
  return "";
}

void say_scarce(const ScarceNote& note, runtime::Log& log, StarvingBoard& board) {
  const std::string of(name_of(note.news.of));
  const std::string cpt = std::to_string(note.cpt);
  const std::string shard = std::to_string(note.shard);
  const std::string waited = std::to_string(note.news.waited);
  if (note.news.what == What::kOver) {
    board.erase(note.shard, of);
    log.write(kEnough, {of, cpt, shard, waited});
    return;
  }
  const std::string more = more_text(note.news.of);
  board.set({.of = of,
             .cpt = note.cpt,
             .shard = note.shard,
             .waited = note.news.waited,
             .most = note.most,
             .more = more});
  log.write(note.news.what == What::kBegins ? kScarce : kStillScarce,
            {of, cpt, shard, waited, note.most.empty() ? "none" : note.most, more});
}

void say_starving(const lnet::StarvingNote& note, runtime::Log& log, StarvingBoard& board) {
  const std::string of = fmt::format("{}_buffers", name_of(note.of));
  const std::string cpt = std::to_string(note.cpt);
  const std::string shard = std::to_string(note.shard);
  const std::string waited = std::to_string(note.waited);
  if (note.what == What::kOver) {
    board.erase(note.shard, of);
    log.write(kSuffice, {name_of(note.of), cpt, shard, waited, std::to_string(note.buffers)});
    return;
  }
  board.set({.of = of,
             .cpt = note.cpt,
             .shard = note.shard,
             .waited = note.waited,
             .most = note.hop_holds == 0 ? "" : holder_text(note),
             .more = bound_text(note.of, note.bound)});
  log.write(
      note.what == What::kBegins ? kStarve : kGoesOn,
      {name_of(note.of), cpt, shard, waited, holder_text(note), bound_text(note.of, note.bound)});
}

}  // namespace plnet::node
