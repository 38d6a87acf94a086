// SPDX-License-Identifier: BSD-3-Clause
// A node of the ethdev tests: a process of its own, since a process can start the EAL only once.
// Prints one line of results at its end. Exit code 0: everything arrived; 1: it did not; 77: cannot
// run here.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <sched.h>
#include <sys/prctl.h>

#include "bench/drivers/cassini_link_node.hpp"

using namespace plnet;
using cassini::soft::NicAddress;
using cassini::soft::link::LinkCount;

namespace {

constexpr int kCannotRun = 77;

struct Wishes {
  std::map<std::string, std::string, std::less<>> words;
  [[nodiscard]] std::string text(std::string_view key) const {
    const auto found = words.find(key);
    return found == words.end() ? "" : found->second;
  }
  [[nodiscard]] std::uint64_t number(std::string_view key, std::uint64_t otherwise) const {
    const std::string word = text(key);
    return word.empty() ? otherwise : std::strtoull(word.c_str(), nullptr, 0);
  }
};

void say(bench::LinkNode& node, std::string_view how, std::uint64_t count) {
  std::printf(
      "%.*s count=%llu damaged=%llu links_up=%u resent=%llu duplicates=%llu bad_checksum=%llu "
      "restarted=%llu dead=%llu moved=%llu mtu=%u address=%u\n",
      static_cast<int>(how.size()), how.data(), static_cast<unsigned long long>(count),
      static_cast<unsigned long long>(node.damaged), node.links_up,
      static_cast<unsigned long long>(node.count(LinkCount::kResent)),
      static_cast<unsigned long long>(node.count(LinkCount::kDuplicates)),
      static_cast<unsigned long long>(node.count(LinkCount::kBadChecksum)),
      static_cast<unsigned long long>(node.count(LinkCount::kPeersRestarted)),
      static_cast<unsigned long long>(node.count(LinkCount::kPeersDead)),
      static_cast<unsigned long long>(node.count(LinkCount::kPeersMoved)), node.wire().status().mtu,
      node.wire().status().address);
  (void)std::fflush(stdout);
}

// Runs until its time is over; the parent ends it earlier.
int echo(bench::LinkNode& node, std::uint64_t end_ns) {
  std::deque<std::pair<NicAddress, std::uint64_t>> owed;
  node.on_number = [&](NicAddress from, std::uint64_t number) { owed.emplace_back(from, number); };
  bool is_told = false;
  while (node.now_ns() < end_ns) {
    if (node.turn() == 0) ::sched_yield();
    if (node.is_up && !std::exchange(is_told, true)) say(node, "up", 0);
    while (!owed.empty() && node.send(owed.front().first, owed.front().second, 16))
      owed.pop_front();
  }
  return 0;
}

// Sends numbers as fast as they are accepted; each must come back once and in order.
int stream(bench::LinkNode& node, NicAddress peer, const Wishes& wishes, std::uint64_t end_ns) {
  const std::uint64_t count = wishes.number("count", 1000);
  const std::size_t bytes = wishes.number("bytes", 100);
  std::uint64_t next = 1;
  std::uint64_t back = 0;
  std::uint64_t out_of_turn = 0;
  node.on_number = [&](NicAddress, std::uint64_t number) {
    if (number != ++back) ++out_of_turn;
  };
  while (back < count && node.now_ns() < end_ns) {
    while (node.is_up && next <= count && next < back + 200 && node.send(peer, next, bytes))
      ++next;
    if (node.turn() == 0) ::sched_yield();
  }
  say(node, out_of_turn == 0 && back == count ? "all" : "not_all", back);
  return out_of_turn == 0 && back == count && node.damaged == 0 ? 0 : 1;
}

// Sends one at a time and repeats after a while, as an upper layer would: survives any failure.
int ping(bench::LinkNode& node, NicAddress peer, const Wishes& wishes, std::uint64_t end_ns) {
  const std::uint64_t count = wishes.number("count", 1000);
  constexpr std::uint64_t kAgainNs = 200'000'000;
  std::uint64_t back = 0;
  bool has_said_half = false;
  node.on_number = [&](NicAddress, std::uint64_t number) {
    if (number == back + 1) ++back;
  };
  std::uint64_t asked = 0;
  std::uint64_t again_ns = 0;
  while (back < count && node.now_ns() < end_ns) {
    if (node.is_up && (asked != back + 1 || node.now_ns() >= again_ns) &&
        node.send(peer, back + 1, 64)) {
      asked = back + 1;
      again_ns = node.now_ns() + kAgainNs;
      if (back >= count / 2 && !std::exchange(has_said_half, true)) say(node, "half", back);
    }
    if (node.turn() == 0) ::sched_yield();
  }
  say(node, back == count ? "all" : "not_all", back);
  return back == count && node.damaged == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Wishes wishes;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) wishes.words[word.substr(0, equals)] = word.substr(equals + 1);
  }
  bench::LinkNodeOptions options{.vdev = wishes.text("vdev"),
                                 .cpu = static_cast<unsigned>(wishes.number("cpu", 0))};
  options.wire.mtu = static_cast<unsigned>(wishes.number("mtu", 0));
  if (const auto address = wishes.number("address", 0); address != 0)
    options.wire.address = static_cast<NicAddress>(address);
  auto node = bench::LinkNode::start(options);
  if (!node) {
    std::printf("cannot %s\n", node.error().what.c_str());
    return kCannotRun;
  }
  const std::uint64_t end_ns =
      (*node)->now_ns() + wishes.number("seconds", 20) * std::uint64_t{1'000'000'000};
  const auto peer = static_cast<NicAddress>(wishes.number("peer", 0));
  const std::string role = wishes.text("role");
  if (role == "stream") return stream(**node, peer, wishes, end_ns);
  if (role == "ping") return ping(**node, peer, wishes, end_ns);
  return echo(**node, end_ns);
}
