// SPDX-License-Identifier: BSD-3-Clause
// A kfi node of the end-to-end tests: `role=serve` answers until its time is over; `role=drive`
// completes a number of operations, each of which must end once. Prints one line of results at its
// end. Exit code 0: success; 1: failure; 77: cannot run here.
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/prctl.h>

#include "bench/drivers/cassini_kfi_node.hpp"
#include "lib/base/random.hpp"

using namespace plnet;
using bench::KfiAsk;
using bench::KfiNode;
using bench::KfiWords;
using kfilnd::FabricCompletion;
using kfilnd::FabricEvent;

namespace {

constexpr int kCannotRun = 77;
constexpr std::uint64_t kSecond = 1'000'000'000;

class Driver {
 public:
  // When an operation with `peer` fails, the following ones use `other`.
  Driver(KfiNode& node, std::uint32_t peer, std::uint32_t other, std::uint64_t count,
         std::uint64_t patience_ns)
      : node_(node),
        peer_(peer),
        other_(other),
        count_(count),
        patience_ns_(patience_ns),
        random_(peer) {
    node_.on_end = [this](const FabricCompletion& one) { ended(one); };
    for (unsigned i = 0; i < kPlaces; ++i)
      free_.push_back(i);
  }

  // Runs until enough operations succeeded and nothing is under way. False: not in time.
  bool run(std::uint64_t end_ns) {
    bool half_said = false;
    while (node_.now_ns() < end_ns) {
      if (node_.turn() == 0) ::sched_yield();
      cancel_stale();
      while (may_begin() && begin()) {
      }
      if (good_ >= count_ / 2 && !std::exchange(half_said, true)) say("half");
      if (good_ >= count_ && running_.empty()) return true;
    }
    return false;
  }
  void say(std::string_view how) const {
    const auto frames = node_.faults().counts();
    const auto& port = node_.node().node().port();
    using Link = cassini::soft::link::LinkCount;
    const auto& link = node_.node().wire().layer().stats();
    std::printf(
        "%.*s good=%llu failed=%llu twice=%llu damaged=%llu left=%zu dropped=%llu "
        "duplicated=%llu late=%llu spoilt=%llu resent=%llu bad_checksum=%llu again=%llu mtu=%u\n",
        static_cast<int>(how.size()), how.data(), static_cast<unsigned long long>(good_),
        static_cast<unsigned long long>(failed_), static_cast<unsigned long long>(twice_),
        static_cast<unsigned long long>(node_.damaged), running_.size(),
        static_cast<unsigned long long>(frames.dropped),
        static_cast<unsigned long long>(frames.duplicated),
        static_cast<unsigned long long>(frames.late),
        static_cast<unsigned long long>(frames.damaged),
        static_cast<unsigned long long>(link.get(Link::kResent)),
        static_cast<unsigned long long>(link.get(Link::kBadChecksum)),
        static_cast<unsigned long long>(port.count(cassini::soft::PortCounters::Id::kResent)),
        node_.node().wire().status().mtu);
    (void)std::fflush(stdout);
  }
  [[nodiscard]] bool is_well() const { return twice_ == 0 && node_.damaged == 0; }

 private:
  static constexpr unsigned kPlaces = KfiNode::kBulkPlaces;
  // Even cookies are messages, odd ones are the tagged buffers that the messages announce.
  struct Running {
    KfiAsk ask = KfiAsk::kNothing;
    unsigned place = 0;
    std::uint32_t length = 0;
    bool message_over = false;
    bool buffer_over = false;
    bool good = true;
    bool cancelled = false;
    std::uint64_t begun_ns = 0;
  };

  // Like kfilnd: the peer knew the buffer and died.
  void cancel_stale() {
    for (auto& [number, one] : running_) {
      if (one.buffer_over || one.cancelled || node_.now_ns() < one.begun_ns + patience_ns_)
        continue;
      one.cancelled = node_.endpoint().cancel_tagged(static_cast<kfilnd::Tag>(number)).has_value();
    }
  }
  // One at a time until the peer answers: it starts at the same time and may take longer.
  [[nodiscard]] bool may_begin() const {
    return met_ ? good_ + running_.size() < count_ && !free_.empty() : running_.empty();
  }
  bool begin() {
    const std::uint64_t number = next_;
    Running one;
    one.ask = static_cast<KfiAsk>(std::array{0U, 2U, 3U}[random_.below(3)]);
    one.place = free_.back();
    one.length = static_cast<std::uint32_t>(random_.between(1, 200'000));
    one.buffer_over = one.ask == KfiAsk::kNothing;
    one.begun_ns = node_.now_ns();
    const auto tag = static_cast<kfilnd::Tag>(number);
    const kfilnd::Target to = node_.peer(peer_);
    Fragment fragment = KfiNode::place(one.place, one.length);
    if (!one.buffer_over) {
      if (one.ask == KfiAsk::kPut) KfiNode::fill(node_.bytes(fragment), number);
      const lnet::Payload payload{{&fragment, 1}, 0, fragment.length};
      if (!node_.endpoint().post_tagged(to, tag, one.ask == KfiAsk::kPut, payload, 2 * number + 1))
        return false;
    }
    ++next_;
    const KfiWords words{
        .ask = one.ask, .nic = node_.nic(), .cookie = number, .tag = tag, .length = one.length};
    if (!node_.send(to, words, 2 * number)) {
      one.message_over = true;
      one.good = false;
      if (!one.buffer_over) one.cancelled = node_.endpoint().cancel_tagged(tag).has_value();
      if (one.buffer_over) return false;  // the next operation has not begun
    }
    free_.pop_back();
    running_.emplace(number, one);
    return one.good;
  }
  void ended(const FabricCompletion& completion) {
    const std::uint64_t number = completion.cookie / 2;
    const auto found = running_.find(number);
    if (found == running_.end()) {
      ++twice_;
      return;
    }
    Running& one = found->second;
    bool& over = completion.cookie % 2 == 0 ? one.message_over : one.buffer_over;
    if (std::exchange(over, true)) ++twice_;
    const bool good =
        completion.status.has_value() && completion.event != FabricEvent::kTaggedCancelled;
    one.good = one.good && good;
    if (completion.cookie % 2 == 0 && !good && !one.buffer_over && !one.cancelled)
      one.cancelled = node_.endpoint().cancel_tagged(static_cast<kfilnd::Tag>(number)).has_value();
    if (completion.event == FabricEvent::kTaggedWritten && good &&
        !KfiNode::is_filled(node_.bytes(KfiNode::place(one.place, one.length)), number))
      ++node_.damaged;
    if (!one.message_over || !one.buffer_over) return;
    if (met_) {
      ++(one.good ? good_ : failed_);
      if (!one.good) peer_ = other_;
    }
    met_ = met_ || one.good;
    free_.push_back(one.place);
    running_.erase(found);
  }

  KfiNode& node_;
  std::uint32_t peer_;
  std::uint32_t other_;
  std::uint64_t count_;
  std::uint64_t patience_ns_;
  Random random_;
  std::map<std::uint64_t, Running> running_;
  std::vector<unsigned> free_;
  bool met_ = false;
  std::uint64_t next_ = 1;
  std::uint64_t good_ = 0, failed_ = 0, twice_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::map<std::string, std::string, std::less<>> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) words[word.substr(0, equals)] = word.substr(equals + 1);
  }
  const auto number = [&](std::string_view key, std::uint64_t otherwise) {
    const auto found = words.find(key);
    return found == words.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 0);
  };
  bench::KfiNodeOptions options{.vdev = words["vdev"], .time_divisor = number("divisor", 20)};
  options.wire.mtu = static_cast<unsigned>(number("mtu", 0));
  options.wire.address = static_cast<cassini::soft::NicAddress>(number("address", 1));
  auto node = KfiNode::start(options);
  if (!node) {
    std::printf("cannot %s\n", node.error().what.c_str());
    return kCannotRun;
  }
  const double share = static_cast<double>(number("per_mille", 0)) / 1000;
  (*node)->faults().set({.seed = number("address", 1),
                         .drop = share,
                         .duplicate = share * static_cast<double>(number("more", 0)),
                         .late = share * static_cast<double>(number("more", 0)),
                         .damage = share * static_cast<double>(number("more", 0))});
  const std::uint64_t end_ns = (*node)->now_ns() + number("seconds", 120) * kSecond;
  if (words["role"] == "drive") {
    const auto peer = static_cast<std::uint32_t>(number("peer", 2));
    Driver driver(**node, peer, static_cast<std::uint32_t>(number("other", peer)),
                  number("count", 100), number("patience", 2) * kSecond);
    const bool done = driver.run(end_ns);
    driver.say(done ? "done" : "late");
    return done && driver.is_well() ? 0 : 1;
  }
  // After this many messages the fabric gives it another address.
  std::uint64_t move_to = number("moves_to", 0);
  const std::uint64_t move_after = number("moves_after", 0);
  while ((*node)->now_ns() < end_ns) {
    if ((*node)->turn() == 0) ::sched_yield();
    if (move_to != 0 && (*node)->messages >= move_after)
      (*node)->node().wire().set_address(
          static_cast<cassini::soft::NicAddress>(std::exchange(move_to, 0)));
    if ((*node)->damaged == 0) continue;
    std::printf("damaged\n");
    return 1;
  }
  return 0;
}
