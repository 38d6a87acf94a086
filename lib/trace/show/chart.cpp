// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/show/chart.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "lib/base/counted.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/trace/show/words.hpp"

namespace plnet::trace {

namespace {

constexpr std::size_t kNowhere = ~std::size_t{0};

std::string label_of(const Sighting& sighting) {
  std::string label = operation_text(sighting.message);
  if (sighting.paired.exchange != nullptr && sighting.message.record.portal() == std::nullopt) {
    label += " of " + operation_text(*sighting.paired.exchange);
  }
  if (const auto status = sighting.message.status(); status && *status != 0) {
    label += fmt::format(" ({})", *status);
  }
  if (sighting.record().payload_length > 0) {
    label += " " + size_text(sighting.record().payload_length);
  }
  return printable(label);
}

// Characters that Mermaid interprets.
std::string mermaid_text(std::string_view text) {
  std::string out;
  for (const char letter : text)
    out += letter == ';' || letter == '#' || letter == ':' || letter == '<' ? ' ' : letter;
  return out;
}

constexpr std::string_view kPageBegin = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>lnetdump</title><style>
body{font:13px system-ui,sans-serif;margin:1em;color:#222;background:#fff}
svg text{font:11px system-ui,sans-serif;fill:currentColor}
.life{stroke:#bbb}.arrow{stroke:#246;stroke-width:1.4}.reply{stroke:#284;stroke-dasharray:5 3}
.bulk{stroke:#a60;stroke-width:3}.drop{stroke:#c22}.failed{stroke:#c22}
g.message:hover line{stroke-width:4}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}.arrow{stroke:#8bf}
.reply{stroke:#8d8}.bulk{stroke:#fb6}}
</style></head><body>
)";

std::string_view class_of(Role role) {
  switch (role) {
    case Role::kReply:
    case Role::kEarlyReply: return "arrow reply";
    case Role::kBulk: return "arrow bulk";
    case Role::kNone:
    case Role::kRequest: break;
  }
  return "arrow";
}

}  // namespace

std::size_t Chart::node(const lnet::Nid& nid) {
  const auto found = std::ranges::find(nodes_, nid);
  if (found != nodes_.end()) return static_cast<std::size_t>(found - nodes_.begin());
  if (nodes_.size() == kNodesMax) return kNowhere;
  nodes_.push_back(nid);
  return nodes_.size() - 1;
}

void Chart::add(const Sighting& sighting) {
  const RecordHeader& record = sighting.record();
  const std::size_t from = node(record.source);
  const std::size_t to = node(record.destination);
  if (from == kNowhere || to == kNowhere || arrows_.size() == kArrowsMax) {
    ++left_out_;
    return;
  }
  const auto status = sighting.message.status();
  const auto* const exchange = sighting.paired.exchange;
  arrows_.push_back({.from = from,
                     .to = to,
                     .time_ns = record.time_ns,
                     .role = sighting.paired.role,
                     .dropped = record.direction == Direction::kDropped,
                     .failed = status.value_or(0) != 0,
                     .exchange = exchange != nullptr ? exchange->number : 0,
                     .label = label_of(sighting)});
}

std::string Chart::text() const {
  constexpr std::size_t kTimeWidth = 12;
  std::size_t lane = 24;
  for (const lnet::Nid& nid : nodes_)
    lane = std::max(lane, lnet::text_of(nid).size() + 2);
  const auto column = [&](std::size_t index) { return kTimeWidth + index * lane + lane / 2; };
  const std::size_t width = kTimeWidth + nodes_.size() * lane;
  std::string out(width, ' ');
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::string name = lnet::text_of(nodes_[i]);
    out.replace(column(i) - name.size() / 2, name.size(), name);
  }
  out += '\n';
  const std::uint64_t start = arrows_.empty() ? 0 : arrows_.front().time_ns;
  for (const Arrow& arrow : arrows_) {
    std::string line(width, ' ');
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      line[column(i)] = '|';
    const std::string time = fmt::format(
        "{:.6f}", static_cast<double>(arrow.time_ns - std::min(start, arrow.time_ns)) / 1e9);
    line.replace(0, std::min(time.size(), kTimeWidth), time);
    const std::size_t left = std::min(column(arrow.from), column(arrow.to));
    const std::size_t right = std::max(column(arrow.from), column(arrow.to));
    const char stroke = arrow.role == Role::kBulk ? '=' : arrow.role == Role::kReply ? '.' : '-';
    for (std::size_t at = left + 1; at < right; ++at)
      line[at] = stroke;
    if (arrow.to != arrow.from) {
      line[arrow.to > arrow.from ? right - 1 : left + 1] = arrow.dropped           ? 'x'
                                                           : arrow.to > arrow.from ? '>'
                                                                                   : '<';
    }
    out += line + " " + arrow.label + "\n";
  }
  if (left_out_ > 0) out += counted(left_out_, "message") + " left out\n";
  return out;
}

std::string Chart::mermaid() const {
  std::string out = "sequenceDiagram\n";
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    out += fmt::format("  participant n{} as {}\n", i, mermaid_text(lnet::text_of(nodes_[i])));
  for (const Arrow& arrow : arrows_) {
    const bool answers = arrow.role == Role::kReply || arrow.role == Role::kEarlyReply;
    out +=
        fmt::format("  n{}{}n{}: {}{}\n", arrow.from,
                    arrow.dropped ? "-x"
                    : answers     ? "-->>"
                                  : "->>",
                    arrow.to, arrow.role == Role::kBulk ? "bulk " : "", mermaid_text(arrow.label));
  }
  if (left_out_ > 0) out += fmt::format("  %% {} left out\n", counted(left_out_, "message"));
  return out;
}

// The axis is proportional to time, but long pauses are cut to a few lines.
std::string Chart::html() const {
  constexpr int kLane = 220;
  constexpr int kLeft = 110;
  constexpr int kStep = 18;
  constexpr double kPauseMax = 5 * kStep;
  std::vector<double> heights;
  double y = 50;
  double scale = 0;  // pixels for a nanosecond: the median gap is one step
  std::vector<std::uint64_t> gaps;
  for (std::size_t i = 1; i < arrows_.size(); ++i)
    gaps.push_back(arrows_[i].time_ns - std::min(arrows_[i].time_ns, arrows_[i - 1].time_ns));
  if (!gaps.empty()) {
    std::ranges::nth_element(gaps, gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2));
    scale = kStep / std::max(1.0, static_cast<double>(gaps[gaps.size() / 2]));
  }
  for (std::size_t i = 0; i < arrows_.size(); ++i) {
    if (i > 0) {
      const auto last = arrows_[i - 1].time_ns;
      const double gap =
          static_cast<double>(arrows_[i].time_ns - std::min(arrows_[i].time_ns, last));
      y += std::clamp(gap * scale, double{kStep}, kPauseMax);
    }
    heights.push_back(y);
  }
  const auto x = [&](std::size_t node) {
    return kLeft + kLane / 2 + static_cast<int>(node) * kLane;
  };
  std::string out(kPageBegin);
  out += fmt::format("<p>{} of {}", counted(arrows_.size(), "message"),
                     counted(nodes_.size(), "node"));
  if (left_out_ > 0) out += fmt::format(", {} left out", left_out_);
  out += fmt::format("</p>\n<svg width=\"{}\" height=\"{:.0f}\">\n",
                     kLeft + static_cast<int>(nodes_.size()) * kLane, y + 30);
  out +=
      "<defs><marker id=\"m\" markerWidth=\"9\" markerHeight=\"8\" refX=\"8\" refY=\"4\" "
      "orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path d=\"M0,0L9,4L0,8z\" "
      "fill=\"currentColor\"/></marker></defs>\n";
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    out += fmt::format(
        "<line class=\"life\" x1=\"{0}\" x2=\"{0}\" y1=\"30\" y2=\"{1:.0f}\"/>"
        "<text x=\"{0}\" y=\"20\" text-anchor=\"middle\">{2}</text>\n",
        x(i), y + 15, escape_html(lnet::text_of(nodes_[i])));
  }
  const std::uint64_t start = arrows_.empty() ? 0 : arrows_.front().time_ns;
  for (std::size_t i = 0; i < arrows_.size(); ++i) {
    const Arrow& arrow = arrows_[i];
    const auto since = arrow.time_ns - std::min(start, arrow.time_ns);
    const int from = x(arrow.from);
    const int to = arrow.from == arrow.to ? from + 40 : x(arrow.to);
    out += fmt::format(
        "<g class=\"message\"><title>{0} #{1}</title>"
        "<text x=\"4\" y=\"{2:.1f}\">{3}</text>"
        "<line class=\"{4}{5}\" x1=\"{6}\" x2=\"{7}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" "
        "marker-end=\"url(#m)\"/><text x=\"{8}\" y=\"{9:.1f}\" text-anchor=\"middle\">{0}</text>"
        "</g>\n",
        escape_html(arrow.label), arrow.exchange, heights[i], duration_text(since),
        class_of(arrow.role), arrow.dropped || arrow.failed ? " failed" : "", from, to,
        (from + to) / 2, heights[i] - 3);
  }
  return out + "</svg></body></html>\n";
}

}  // namespace plnet::trace
