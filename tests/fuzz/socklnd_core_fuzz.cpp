// SPDX-License-Identifier: BSD-3-Clause
// A node on TCP and several connections to it, of peers and of strangers: acceptor, LND and core
// with its coordinator read requests, HELLOs, NOOPs, acknowledgements and LNet messages, torn
// anywhere, beside resets, full send buffers and messages of the node's own. At the end the node
// holds no connection and no message.
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "lib/lnet/node/node.hpp"
#include "lib/socklnd/acceptor.hpp"
#include "tests/fuzz/socklnd_speech.hpp"
#include "tests/unit/lib/socklnd/scripted_streams.hpp"

namespace plnet::socklnd::core_fuzz {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

constexpr unsigned kStepsMax = 200;
constexpr std::size_t kStreamsMax = 60;  // begun by strangers
constexpr std::uint64_t kProgramBytes = 1U << 16U;
constexpr std::array<Errc, 3> kEnds{Errc::kClosed, Errc::kReset, Errc::kTimedOut};

SocketAddress address_of(std::uint32_t peer, std::uint16_t port) {
  SocketAddress address{.port = port};
  address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0};
  address.ip[15] = static_cast<std::uint8_t>(1 + peer);
  return address;
}

class World final : public LndMaker, public PeerHomes {
 public:
  explicit World(fuzz::Script& script) : script_(script), streams_(4096), driver_(streams_) {
    driver_.detaches = true;
    streams_.set_driver(driver_);
    NodeSetup setup;
    setup.shard_limits = {.peer_ports = 16,
                          .extra_links = 8,
                          .messages = 32,
                          .receives = 16,
                          .descriptors = 64,
                          .match_entries = 64,
                          .routes = 4};
    setup.coordinator.peers.peers = setup.coordinator.peers.peer_nis = 8;
    setup.coordinator.peers.kept_for_own = 1;
    setup.coordinator.exchanges = 4;
    setup.coordinator.waiting_for_peers = 8;
    const std::size_t control = Coordinator::memory_bytes(setup.coordinator);
    program_ = {{0, control}, kProgramBytes};
    memory_.resize(control + kProgramBytes);
    (void)arenas_.add({.base = memory_.data(), .size = memory_.size()}).value();
    setup.arenas = &arenas_;
    setup.control_memory = {{0, 0}, std::span(memory_).first(control)};
    setup.doorbells = bells_;
    setup.start = now_;
    node_ = std::make_unique<Node>(setup);
    acceptor_ = std::make_unique<Acceptor>(AcceptorConfig{.strangers_max = 8}, streams_, *this);
    PLNET_CHECK(node_->add_ni({.nid = nid_of(0)}, *this).has_value(), "the NI is new");
    node_->set_running();
    (void)node_->shard(0).attach({.portal = 5, .ignore_bits = ~0ULL},
                                 {.fragments = {&program_, 1},
                                  .length = kProgramBytes,
                                  .options = kMdPut | kMdGet | kMdManageRemote});
  }

  void run() {
    for (unsigned i = 0; i < kStepsMax && !script_.empty(); ++i) {
      step();
      turn(milliseconds(1));
    }
    PLNET_CHECK(node_->remove_ni(nid_of(0)).has_value(), "the NI exists");
    acceptor_->shut_down();
    node_->coordinator().shut_down();
    for (unsigned i = 0; i < 2000 && !quiet(); ++i)
      turn(milliseconds(100));
    PLNET_CHECK(quiet(), "the node comes to rest after any input");
  }

 private:
  void step() {
    const std::uint8_t what = script_.byte();
    const std::uint32_t stream = driver_.streams.empty() ? 0 : script_.byte() % many();
    if (what % 12 == 0 || driver_.streams.empty()) return arrive();
    switch (what % 12) {
      case 1: return say(stream, speech_.request());
      case 2: return say(stream, speech_.hello());
      case 3:
      case 4:
      case 5: return say(stream, speech_.message());
      case 6: return say(stream, speech_.noop());
      case 7: return say(stream, script_.bytes(script_.byte()));
      case 8:
        if (!is_open(stream)) return;
        return driver_.give_room(stream, script_.number<std::uint16_t>());
      case 9: return driver_.end(stream, kEnds[script_.below(kEnds.size())]);
      case 10:
        return turn(script_.below(2) == 0 ? milliseconds(250) : seconds(script_.byte() % 60));
      default: return begin();
    }
  }
  [[nodiscard]] std::uint32_t many() const {
    return static_cast<std::uint32_t>(driver_.streams.size());
  }
  [[nodiscard]] bool is_open(std::uint32_t stream) {
    return !driver_.at(stream).ended && !driver_.at(stream).closing;
  }
  void turn(Duration time) {
    now_ += time;
    node_->shard(0).begin_turn(now_);
    driver_.serve_all();
    (void)acceptor_->flush(now_);
    for (const Arrival& arrival : std::exchange(arrivals_, {}))
      lnd_ != nullptr ? lnd_->accept(arrival) : driver_.discard(arrival.stream);
    (void)node_->shard(0).poll(now_);
    node_->quiescent(0);
    (void)node_->coordinate(now_);
  }
  [[nodiscard]] bool quiet() const {
    return acceptor_->idle() && node_->releasing_nis() == 0 && node_->coordinator().quiet() &&
           node_->idle();
  }
  void arrive() {
    if (driver_.streams.size() >= kStreamsMax) return;
    const std::uint32_t from = 1 + script_.below(kPeers);
    const std::uint16_t port = script_.below(8) == 0 ? 5000 : 1000;
    driver_.streams.push_back({});
    driver_.read_bytes_max = 1 + script_.number<std::uint16_t>();
    streams_.on_accepted(ScriptedStreams::id(many() - 1),
                         {address_of(0, 988), address_of(from, port)});
  }
  // A connection that the node has begun is established first.
  void say(std::uint32_t stream, std::span<const std::byte> bytes) {
    auto& to = driver_.at(stream);
    if (is_open(stream) && std::exchange(to.request.addresses.remote.port, 0) != 0)
      driver_.connected(stream);
    driver_.bring(stream, bytes);
  }
  // The node sends a message, which may first need a connection and discovery.
  void begin() {
    const std::uint32_t length = script_.number<std::uint16_t>() % kLengthMax;
    const ProcessId to{nid_of(script_.below(kPeers + 2)), kLustrePid};
    const bool is_put = script_.below(2) == 0;
    const auto md = node_->shard(0).bind(
        {.fragments = {&program_, 1}, .length = length, .threshold = is_put ? 1 : 2});
    if (!md) return;
    const auto begun = is_put ? node_->shard(0).put(*md, {.target = to, .portal = 5, .ack = false})
                              : node_->shard(0).get(*md, {.target = to, .portal = 5});
    if (!begun) (void)node_->shard(0).unlink(*md);
  }

  // LndMaker and PeerHomes.
  std::unique_ptr<Lnd> make(NiPort& port, ShardId /*shard*/) override {
    SockLndConfig config{.nid = port.ni().nid, .arenas = &arenas_};
    config.peers_max = 8;
    config.connections_max = 24;
    config.silence_max = seconds(10);
    config.payload_rate_min = 10'000;
    config.start = now_;
    auto lnd = std::make_unique<SockLnd>(config, port, streams_);
    lnd_ = lnd.get();
    return lnd;
  }
  [[nodiscard]] std::optional<LocalInterface> local(const Nid& nid) const override {
    if (nid != nid_of(0)) return std::nullopt;
    return LocalInterface{.incarnation = 1};
  }
  [[nodiscard]] Room room_for(const Arrival& /*arrival*/) override {
    return lnd_->has_room() ? Room::kFree : Room::kNone;
  }
  void hand_over(const Arrival& arrival) override { arrivals_.push_back(arrival); }

  fuzz::Script& script_;
  Speech speech_{script_};
  Instant now_{std::chrono::hours(1)};
  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  Fragment program_;
  SilentDoorbell bell_;
  std::array<Doorbell*, 1> bells_{&bell_};
  StreamSwitch streams_;
  ScriptedStreams driver_;
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<Node> node_;
  SockLnd* lnd_ = nullptr;  // the node's
  std::vector<Arrival> arrivals_;
};

}  // namespace
}  // namespace plnet::socklnd::core_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plnet::fuzz::end_at_failures();
  plnet::fuzz::Script script(data, size);
  plnet::socklnd::core_fuzz::World(script).run();
  return 0;
}
