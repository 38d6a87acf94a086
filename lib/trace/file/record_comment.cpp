// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/file/record_comment.hpp"

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/trace/decode/lnet_names.hpp"

namespace plnet::trace {

namespace {

constexpr std::string_view kMark = "lnetdump";

void apply(std::string_view key, std::string_view value, RecordHeader& header, KnownNids& nids) {
  if (key == "dir") {
    const auto direction = number_in(direction_names(), value);
    if (direction) header.direction = static_cast<Direction>(*direction);
  }
  if (key == "cause") {
    const auto cause = number_in(cause_names(), value);
    if (cause) header.cause = static_cast<std::uint8_t>(*cause);
  }
  lnet::Nid* const target = key == "hop"   ? &header.hop
                            : key == "src" ? &header.source
                            : key == "dst" ? &header.destination
                                           : nullptr;
  if (target == nullptr) return;
  if (const auto nid = nids.find(value)) *target = *nid;
}

}  // namespace

std::string comment_of(const RecordHeader& header) {
  std::string text =
      fmt::format("{} dir={} hop={}", kMark, name_of(header.direction), lnet::text_of(header.hop));
  if (header.direction == Direction::kDropped) {
    text += fmt::format(" cause={}", name_or_number(cause_names(), header.cause));
  }
  // Headers in packets have short NIDs.
  if (header.source.is_large()) text += fmt::format(" src={}", lnet::text_of(header.source));
  if (header.destination.is_large()) {
    text += fmt::format(" dst={}", lnet::text_of(header.destination));
  }
  return text;
}

void apply_comment(std::string_view comment, RecordHeader& header, KnownNids& nids) {
  if (!comment.starts_with(kMark)) return;
  while (!comment.empty()) {
    const std::size_t blank = comment.find(' ');
    const std::string_view word = comment.substr(0, blank);
    comment = blank == std::string_view::npos ? std::string_view() : comment.substr(blank + 1);
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) {
      apply(word.substr(0, equals), word.substr(equals + 1), header, nids);
    }
  }
}

}  // namespace plnet::trace
