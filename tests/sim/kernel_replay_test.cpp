// SPDX-License-Identifier: BSD-3-Clause
// One of the two kernels of a capture is replayed, and a whole node of ours, from its sockets to
// LNet, replaces the other one. Its messages are compared field by field with those of the replaced
// kernel. The capture is beside the tree, not in it.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/sim/kernel_script.hpp"
#include "tests/sim/replayed_kernel.hpp"
#include "tests/sim/tcp_node.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::sim::kernel_replay_test {
namespace {

using namespace lnet;
using Kind = WireItem::Kind;
using Line = KernelScript::Line;
using Differences = std::set<std::string>;

constexpr std::uint64_t kSeeds = 10;
// Portals of lnet_selftest, which the program replaces.
constexpr PortalId kFirstProgramPortal = 50;
constexpr PortalId kLastProgramPortal = 52;
constexpr Duration kPatience = std::chrono::seconds(20);

class Ping final : public PingRequest {
 public:
  void done(Result<void> outcome, const PingView* /*buffer*/) override { ok = outcome.has_value(); }
  std::optional<bool> ok;
};
class Discover final : public DiscoverRequest {
 public:
  void done(Result<void> outcome) override { ok = outcome.has_value(); }
  std::optional<bool> ok;
};

// Plays one side of a script against a node in the other role.
class Replay {
 public:
  Replay(const KernelScript& script, bool we_dial, std::uint64_t seed,
         const drivers::SimShape& shape)
      : script_(script),
        we_dial_(we_dial),
        us_(script.side(we_dial)),
        kernel_(script.side(!we_dial)),
        cluster_(seed, shape),
        fabric_(cluster_.network, shape.stream, seed) {
    for (const auto& [side, host] : {std::pair{&us_, 0U}, std::pair{&kernel_, 1U}}) {
      const auto added = cluster_.network.add_address(cluster_.shards[host]->host(),
                                                      drivers::mapped_ipv4(side->nid.address32()));
      PLNET_CHECK(added.has_value(), "two hosts, two addresses");
    }
    node_ = std::make_unique<TcpNode>(TcpNodeSetup{.nid = us_.nid,
                                                   .incarnation = us_.incarnation,
                                                   .interface_cookie = us_.interface_cookie,
                                                   .start = cluster_.loop.now()},
                                      fabric_, *cluster_.shards[0]);
    peer_ = std::make_unique<ReplayedKernel>(fabric_, *cluster_.shards[1], kernel_.nid);
    for (PortalId portal = kFirstProgramPortal; portal <= kLastProgramPortal; ++portal)
      node_->take_puts(portal);
  }

  // Returns the number of our lines that were compared.
  unsigned play() {
    if (we_dial_) ping();
    for (const Line& line : script_.lines) {
      SCOPED_TRACE("packet " + std::to_string(line.packet) + ": " + line.item.text());
      if (line.by_dialler != we_dial_) {
        speak(line);
      } else {
        ask_for(line.item);
        expect(line);
      }
      if (testing::Test::HasFailure()) return compared_;
    }
    end();
    return compared_;
  }

  // Number of differences by field.
  std::map<std::string, unsigned> found;

 private:
  bool wait(const std::function<bool()>& done) { return cluster_.run(done, kPatience); }

  // Sends the kernel's line.
  void speak(const Line& line) {
    if (line.item.kind == Kind::kRequest) peer_->dial(us_.nid, script_.ports[line.connection]);
    ASSERT_TRUE(wait([&] { return peer_->connections() > line.connection; }));
    WireItem item = line.item;
    // We request no acknowledgements, so the kernel would not send them.
    if (item.kind == Kind::kNoop && item.frame.cookies[1] >= socklnd::kFirstCookie) return;
    if (item.kind == Kind::kMessage) prepare_for(item);
    peer_->say(line.connection, item.bytes);
  }

  void prepare_for(WireItem& item) {
    const MessageType type = item.header.type;
    const bool answers = type == MessageType::kAck || type == MessageType::kReply;
    if (answers) {
      const WireHandle theirs = item.handle();
      const auto ours = names_.find(theirs.object_cookie);
      ASSERT_NE(ours, names_.end()) << "it answers a request that we did not send";
      item.set_handle({us_.interface_cookie, ours->second});
    }
    const bool for_program = !answers && portal_of(item.header) >= kFirstProgramPortal;
    if (for_program && type == MessageType::kGet) {
      const auto& area = item.header.area<GetArea>();
      node_->attach_for_get(area.portal, area.match_bits, reply_to(item));
    }
    if (for_program && type == MessageType::kPut) expected_.emplace_back(bytes_of(item));
    if (type == MessageType::kReply && !is_ping_buffer(item)) {
      expected_.emplace_back(bytes_of(item));
    }
  }

  static std::vector<std::byte> bytes_of(const WireItem& item) {
    return {item.payload().begin(), item.payload().end()};
  }
  static bool is_ping_buffer(const WireItem& item) {
    return item.header.payload_length < 1024;  // all other replies are pages
  }
  // The kernel's reply to this GET in the capture.
  [[nodiscard]] std::span<const std::byte> reply_to(const WireItem& get) const {
    for (const Line& line : script_.lines) {
      const bool reply = line.by_dialler == we_dial_ && line.item.kind == Kind::kMessage &&
                         line.item.header.type == MessageType::kReply;
      if (reply && line.item.handle() == get.handle()) return line.item.payload();
    }
    return {};
  }

  // Requests of people and programs, which a node does not make by itself, are repeated here.
  void ask_for(const WireItem& item) {
    if (item.kind != Kind::kMessage) return;
    const ProcessId to{kernel_.nid, item.header.destination_pid};
    if (item.header.type == MessageType::kGet && portal_of(item.header) == 0) {
      if (pings_++ > 0) discover();  // the first one made us dial
      return;
    }
    if (item.header.type == MessageType::kGet) {
      const auto& area = item.header.area<GetArea>();
      node_->get(to, area.portal, area.match_bits, area.sink_length);
    } else if (item.header.type == MessageType::kPut && portal_of(item.header) != 0) {
      const auto& area = item.header.area<PutArea>();
      node_->put(to, area.portal, area.match_bits, item.payload());
    }
    cluster_.shards[0]->ring();
  }
  void ping() {
    ping_.target = {kernel_.nid};
    ping_.interfaces = kInterfacesMax;
    ping_.deadline = Instant::max();
    node_->node().coordinator().ping(ping_);
    cluster_.shards[0]->ring();
  }
  void discover() {
    discover_.nid = kernel_.nid;
    node_->node().coordinator().discover(discover_, false);
    cluster_.shards[0]->ring();
  }

  // Expects our line.
  void expect(const Line& line) {
    const auto heard = [&]() -> WireItem* {
      if (peer_->connections() <= line.connection) return nullptr;
      for (WireItem& item : peer_->heard(line.connection)) {
        if (item.resembles(line.item)) return &item;
      }
      return nullptr;
    };
    ASSERT_TRUE(wait([&] { return heard() != nullptr; })) << "we do not say that";
    auto& all = peer_->heard(line.connection);
    const WireItem* const ours = heard();
    for (const std::string& field : differences(line.item, *ours, names_))
      ++found[field];
    if (ours != &all.front()) ++found["said before: " + all.front().text()];
    all.erase(all.begin() + (ours - &all.front()));
    ++compared_;
  }

  void end() {
    cluster_.loop.run_for(std::chrono::seconds(2));
    EXPECT_TRUE(peer_->all_taken()) << "we say more than the kernel";
    EXPECT_EQ(peer_->connections(), script_.connections);
    EXPECT_EQ(peer_->closed(), 0U);
    EXPECT_TRUE(peer_->called_from_reserved_ports());
    // In another order, if they came on several connections.
    EXPECT_TRUE(std::ranges::is_permutation(node_->received(), expected_))
        << node_->received().size() << " of " << expected_.size();
    EXPECT_EQ(node_->failures(), 0U);
    if (we_dial_) {
      EXPECT_EQ(ping_.ok, std::optional(true));
      EXPECT_EQ(discover_.ok, std::optional(true));
    }
  }

  const KernelScript& script_;
  const bool we_dial_;
  const KernelScript::Side& us_;
  const KernelScript::Side& kernel_;
  drivers::SimCluster cluster_;
  drivers::SimStreamFabric fabric_;
  std::unique_ptr<TcpNode> node_;
  std::unique_ptr<ReplayedKernel> peer_;
  HandleNames names_;
  std::vector<std::vector<std::byte>> expected_;
  Ping ping_;
  Discover discover_;
  unsigned pings_ = 0;
  unsigned compared_ = 0;
};

class KernelReplay : public testing::Test {
 protected:
  using Fields = std::map<std::string, unsigned>;

  static std::optional<KernelScript> read(const std::filesystem::path& path, std::size_t lines) {
    const auto streams = mocks::read_tcp_capture(path);
    if (!streams) return std::nullopt;
    KernelScript script = script_of(*streams);
    EXPECT_EQ(script.trouble, "");
    EXPECT_EQ(script.lines.size(), lines);
    return script;
  }
  // 3 requests, 6 HELLOs, 8 messages.
  static std::optional<KernelScript> excerpt() {
    return read(PLNET_SOURCE_ROOT "/tests/data/captures/kernel-2.17-tcp-discovery.pcap", 17);
  }
  // 36 messages of lnet_selftest and 2 NOOPs more.
  static std::optional<KernelScript> whole() {
    return read(mocks::shared_capture("kernel-2.17-tcp.pcap"), 55);
  }

  // `allowed`: number of differences by field, for `lines` compared lines.
  static void play(const KernelScript& script, bool we_dial, unsigned lines,
                   const Fields& allowed) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Replay replay(script, we_dial, seed,
                    seed % 2 == 0 ? drivers::SimShape::rough() : drivers::SimShape::calm());
      EXPECT_EQ(replay.play(), lines);
      EXPECT_EQ(replay.found, allowed);
      if (HasFailure()) return;
    }
  }
};

// Counts the changes of a node's interfaces since its start.
constexpr const char* kSequence = "ping: sequence number";
// The ACK of a push and the own push: the kernel's come from two threads.
constexpr const char* kOrder = "said before: ACK for match bits 8000000000000000";
// The kernel sends large payloads without a copy and asks for a notice when the memory is free.
constexpr const char* kZeroCopy = "frame: first cookie";

TEST_F(KernelReplay, AKernelThatDialsUsIsGreetedPingedAndPushedToAsByAKernel) {
  const auto script = excerpt();
  ASSERT_TRUE(script);
  play(*script, false, 7, {{kSequence, 3}, {kOrder, 1}});
}

TEST_F(KernelReplay, AKernelThatWeDialIsGreetedPingedAndPushedToAsByAKernel) {
  const auto script = excerpt();
  ASSERT_TRUE(script);
  play(*script, true, 10, {{kSequence, 1}});
}

TEST_F(KernelReplay, AKernelThatConnectsToUsReceivesAKernelsMessages) {
  const auto script = whole();
  if (!script) GTEST_SKIP() << "no capture at " << mocks::shared_capture("kernel-2.17-tcp.pcap");
  play(*script, false, 26, {{kSequence, 3}, {kOrder, 1}, {kZeroCopy, 2}});
}

TEST_F(KernelReplay, AKernelThatWeConnectToReceivesAKernelsMessages) {
  const auto script = whole();
  if (!script) GTEST_SKIP() << "no capture at " << mocks::shared_capture("kernel-2.17-tcp.pcap");
  play(*script, true, 29, {{kSequence, 1}});
}

TEST_F(KernelReplay, NoByteCanDifferUnnoticed) {
  const auto script = excerpt();
  ASSERT_TRUE(script);
  for (const Line& line : script->lines) {
    SCOPED_TRACE("packet " + std::to_string(line.packet) + ": " + line.item.text());
    HandleNames same;
    ASSERT_EQ(differences(line.item, line.item, same), Differences{});
    for (std::size_t at = 0; at < line.item.bytes.size(); ++at) {
      WireItem other = line.item;
      other.bytes[at] ^= std::byte{1};
      other.parse();
      HandleNames names = same;
      EXPECT_NE(differences(line.item, other, names), Differences{}) << "byte " << at;
    }
  }
}

}  // namespace
}  // namespace plnet::sim::kernel_replay_test
