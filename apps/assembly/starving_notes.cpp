// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/starving_notes.hpp"

#include <string_view>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::apps {
namespace {

using lnet::BufferClass;
using lnet::PoolBound;
using runtime::LogLevel;
using runtime::LogSite;
using What = lnet::StarvingNote::What;

constexpr LogSite kStarve{LogLevel::kWarning,
                          "router_buffers_starve",
                          {"class", "cpt", "shard", "waited", "most_held_by", "more"}};
constexpr LogSite kGoesOn{LogLevel::kWarning,
                          "router_buffers_still_starve",
                          {"class", "cpt", "shard", "waited", "most_held_by", "more"}};
constexpr LogSite kSuffice{
    LogLevel::kInfo, "router_buffers_suffice", {"class", "cpt", "shard", "waited", "buffers"}};

std::string_view name_of(BufferClass of) {
  switch (of) {
    case BufferClass::kTiny: return "tiny";
    case BufferClass::kSmall: return "small";
    case BufferClass::kLarge: return "large";
  }
  return "";
}

std::string holder_text(const lnet::StarvingNote& note) {
  if (note.hop_holds == 0) return "nobody";
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

void say_starving(const lnet::StarvingNote& note, runtime::Log& log) {
  const std::string cpt = std::to_string(note.cpt);
  const std::string shard = std::to_string(note.shard);
  const std::string waited = std::to_string(note.waited);
  if (note.what == What::kOver) {
    log.write(kSuffice, {name_of(note.of), cpt, shard, waited, std::to_string(note.buffers)});
    return;
  }
  log.write(
      note.what == What::kBegins ? kStarve : kGoesOn,
      {name_of(note.of), cpt, shard, waited, holder_text(note), bound_text(note.of, note.bound)});
}

}  // namespace plnet::apps
