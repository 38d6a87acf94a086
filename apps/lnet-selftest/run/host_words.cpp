// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/host_words.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "apps/lnet-selftest/lst/nid_words.hpp"
#include "lib/base/whole_number.hpp"

namespace plnet::run {
namespace {

constexpr std::string_view kFile = "hostfile:";
constexpr std::string_view kSlurm = "slurm:";
constexpr std::string_view kDefaultNet = "tcp";
constexpr std::string_view kBlanks = " \t\r\v\f";

struct Range {
  std::size_t first = 0;  // from 0
  std::size_t last = 0;
};

struct HostWord {
  bool of_slurm = false;
  std::string name;
  std::optional<Range> range;
  std::string net;
};

// "5-8" or "5"; nothing: neither.
std::optional<Range> read_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = whole_number<std::size_t>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : whole_number<std::size_t>(text.substr(dash + 1));
  if (!first || !last || *first == 0 || *first > *last) return std::nullopt;
  return Range{*first - 1, *last - 1};
}

bool is_job(std::string_view text) {
  return std::ranges::all_of(
      text, [](char letter) { return (letter >= '0' && letter <= '9') || letter == '_'; });
}

Outcome<HostWord> read_word(std::string_view text) {
  HostWord word{.of_slurm = text.starts_with(kSlurm)};
  std::string_view rest = text.substr((word.of_slurm ? kSlurm : kFile).size());
  const std::size_t at = rest.rfind('@');
  word.net = at == std::string_view::npos ? kDefaultNet : rest.substr(at + 1);
  rest = rest.substr(0, at);
  const std::size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos) {
    word.range = read_range(rest.substr(colon + 1));
    if (!word.range && word.of_slurm)
      return failure(Errc::kInvalid,
                     fmt::format("'{}': expected hosts like 1-4 behind the job", text));
    if (word.range) rest = rest.substr(0, colon);
  }
  word.name = rest;
  const bool good = word.of_slurm ? is_job(word.name) : !word.name.empty();
  if (!good || word.net.empty()) {
    return failure(Errc::kInvalid,
                   fmt::format("'{}': expected hostfile:FILE or slurm:JOB, then :FIRST-LAST and "
                               "@NET if need be",
                               text));
  }
  return word;
}

Outcome<std::vector<std::string>> hosts_of(const HostWord& word, const HostDirectory& directory) {
  if (word.of_slurm) return directory.hosts_of_job(word.name);
  const auto text = directory.read_file(word.name);
  if (!text) return std::unexpected(text.error());
  return hosts_of_file(*text);
}

// The NIDs of one word.
Outcome<std::vector<std::string>> nids_of(std::string_view text, const HostDirectory& directory) {
  const auto word = read_word(text);
  if (!word) return std::unexpected(word.error());
  auto hosts = hosts_of(*word, directory);
  if (!hosts) return hosts;
  if (hosts->size() > lst::kNodesOfListMax)
    return failure(Errc::kInvalid, fmt::format("'{}': too many hosts", text));
  const Range range = word->range.value_or(Range{0, hosts->empty() ? 0 : hosts->size() - 1});
  if (range.last >= hosts->size()) {
    return failure(Errc::kInvalid, fmt::format("'{}': there are {} hosts, not {}", text,
                                               hosts->size(), range.last + 1));
  }
  std::vector<std::string> nids;
  for (std::size_t i = range.first; i <= range.last; ++i) {
    const std::string& host = (*hosts)[i];
    if (host.find('@') != std::string::npos) {
      nids.push_back(host);
      continue;
    }
    const auto address = directory.address_of(host);
    if (!address) {
      return failure(address.error().code,
                     fmt::format("'{}': host {}: {}", text, host, address.error().what));
    }
    nids.push_back(fmt::format("{}@{}", *address, word->net));
  }
  return nids;
}

}  // namespace

std::vector<std::string> hosts_of_file(std::string_view text) {
  std::vector<std::string> hosts;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    line = line.substr(0, line.find('#'));
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) continue;
    line = line.substr(begin);
    std::string_view host = line.substr(0, line.find_first_of(kBlanks));
    // Colons of an IPv6 address belong to it.
    const std::size_t colon = host.find(':');
    const bool has_slots = colon != std::string_view::npos && colon == host.rfind(':') && colon > 0;
    if (has_slots && host.find('@') == std::string_view::npos) host = host.substr(0, colon);
    hosts.emplace_back(host);
  }
  return hosts;
}

Outcome<void> replace_hosts(std::vector<std::string>& words, const HostDirectory& directory) {
  std::vector<std::string> all;
  for (std::string& word : words) {
    if (!word.starts_with(kFile) && !word.starts_with(kSlurm)) {
      all.push_back(std::move(word));
      continue;
    }
    auto nids = nids_of(word, directory);
    if (!nids) return std::unexpected(std::move(nids.error()));
    all.insert(all.end(), nids->begin(), nids->end());
  }
  words = std::move(all);
  return {};
}

}  // namespace plnet::run
