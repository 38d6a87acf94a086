// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/link/wire_ethdev.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>

#include "lib/base/check.hpp"

namespace plnet::cassini::soft {

namespace {

constexpr unsigned kBurst = 32;
constexpr unsigned kBurstsPerPoll = 2;
constexpr std::uint64_t kLookNs = 10'000'000;    // interval of reading the port's link and MTU
constexpr std::uint64_t kDialNs = 200'000'000;   // time for the other end to take a connection
constexpr std::uint64_t kHungUpNs = 50'000'000;  // pause between two connection attempts
constexpr unsigned kMtuMin = link::kPacketBytesFloor + link::kLinkHeaderBytes;
constexpr unsigned kMtuMax = 9600;
constexpr std::size_t kVlanAndCheckBytes = 8;

Error error_of(const std::string& port, const std::string& what, int negative) {
  return {.code = errc_of_errno(-negative),
          .what = "cassini: port " + port + ": " + what + ": " + rte_strerror(-negative)};
}

NicAddress address_of(const link::Mac& mac) {
  const auto high = static_cast<NicAddress>(mac.bytes[3] & 0xf) << 16;
  return high | static_cast<NicAddress>(mac.bytes[4]) << 8 | mac.bytes[5];
}

}  // namespace

struct WireEthdev::State final : public link::FramePort {
  ~State() override {
    if (is_started) (void)rte_eth_dev_stop(port);
    for (std::size_t i = 0; i < waiting; ++i)
      rte_pktmbuf_free(out[i]);
    if (is_configured) (void)rte_eth_dev_close(port);
    rte_mempool_free(own_pool);  // null is allowed
  }

  plnet::Outcome<void> configure(const WireEthdevOptions& options);
  plnet::Outcome<void> choose_mtu(const WireEthdevOptions& options);
  plnet::Outcome<void> make_pool(const WireEthdevOptions& options);
  plnet::Outcome<void> make_queues(const WireEthdevOptions& options);
  plnet::Outcome<void> make_layer(const WireEthdevOptions& options);
  void dial(std::uint64_t now_ns);
  void look_at_port(std::uint64_t now_ns, WireEvents& events);
  unsigned take_in(std::uint64_t now_ns, WireEvents& events);
  void flush();

  std::span<std::byte> begin_frame(std::size_t bytes) override {
    if (waiting == kBurst) flush();
    if (waiting == kBurst) return {};
    next = rte_pktmbuf_alloc(pool);
    if (next == nullptr) return {};
    auto* place =
        reinterpret_cast<std::byte*>(rte_pktmbuf_append(next, static_cast<std::uint16_t>(bytes)));
    if (place != nullptr) return {place, bytes};
    rte_pktmbuf_free(std::exchange(next, nullptr));  // a given pool of small buffers
    return {};
  }
  void end_frame() override { out[waiting++] = std::exchange(next, nullptr); }

  std::string name;
  std::string driver;
  std::uint16_t port = 0;
  bool is_configured = false;
  bool is_started = false;
  // The port connects only when it is started: while there is no other end, or after it has gone,
  // the port is restarted repeatedly.
  bool is_dialled = false;
  bool follows_mtu = true;
  unsigned mtu = 0;
  unsigned mtu_at_start = 0;
  link::Mac mac;
  rte_mempool* pool = nullptr;
  rte_mempool* own_pool = nullptr;
  std::unique_ptr<link::LinkLayer> layer;
  std::vector<std::byte> straight;  // buffer to join a frame of several segments

  std::array<rte_mbuf*, kBurst> out{};
  std::size_t waiting = 0;  // in `out`
  rte_mbuf* next = nullptr;
  std::uint64_t look_at_ns = 0;
  std::uint64_t dial_at_ns = 0;
  bool is_link_told = false;
};

plnet::Outcome<void> WireEthdev::State::configure(const WireEthdevOptions& options) {
  name = options.port;
  if (const int rc = rte_eth_dev_get_port_by_name(name.c_str(), &port); rc != 0)
    return std::unexpected(error_of(name, "DPDK knows no such port; named by --vdev or -a?", rc));
  rte_eth_dev_info info{};
  if (const int rc = rte_eth_dev_info_get(port, &info); rc != 0)
    return std::unexpected(error_of(name, "what it is", rc));
  driver = info.driver_name;
  const rte_devargs* words = info.device == nullptr ? nullptr : rte_dev_devargs(info.device);
  const std::string_view arguments =
      words == nullptr || words->args == nullptr ? std::string_view{} : words->args;
  // A server listens by itself.
  is_dialled = driver == "net_memif" && arguments.find("role=server") == std::string_view::npos;
  rte_ether_addr address{};
  if (const int rc = rte_eth_macaddr_get(port, &address); rc != 0)
    return std::unexpected(error_of(name, "its MAC address", rc));
  std::ranges::copy(address.addr_bytes, mac.bytes.begin());
  const rte_eth_conf plain{};
  if (const int rc = rte_eth_dev_configure(port, 1, 1, &plain); rc != 0)
    return std::unexpected(error_of(name, "one queue each way", rc));
  is_configured = true;
  return {};
}

plnet::Outcome<void> WireEthdev::State::choose_mtu(const WireEthdevOptions& options) {
  std::uint16_t now = 0;
  if (const int rc = rte_eth_dev_get_mtu(port, &now); rc != 0)
    return std::unexpected(error_of(name, "its MTU", rc));
  mtu = now;
  if (options.mtu != 0 && options.mtu != mtu) {
    if (options.mtu < kMtuMin || options.mtu > kMtuMax)
      return failure(Errc::kOutOfRange, "cassini: mtu " + std::to_string(options.mtu) +
                                            "; expected " + std::to_string(kMtuMin) + " to " +
                                            std::to_string(kMtuMax));
    const int rc = rte_eth_dev_set_mtu(port, static_cast<std::uint16_t>(options.mtu));
    if (rc != 0 && rc != -ENOTSUP)
      return std::unexpected(error_of(name, "an MTU of " + std::to_string(options.mtu), rc));
    follows_mtu = rc == 0;
    mtu = options.mtu;
  }
  if (mtu < kMtuMin)
    return failure(Errc::kOutOfRange, "cassini: port " + name + " has an MTU of " +
                                          std::to_string(mtu) + "; expected at least " +
                                          std::to_string(kMtuMin));
  mtu = std::min(mtu, kMtuMax);
  mtu_at_start = mtu;
  return {};
}

plnet::Outcome<void> WireEthdev::State::make_pool(const WireEthdevOptions& options) {
  pool = options.pool;
  if (pool != nullptr) return {};
  // At least the usual size: net_af_packet needs room for the frames of its ring.
  const std::size_t room =
      std::max<std::size_t>(RTE_PKTMBUF_HEADROOM + link::kEthernetBytes + kVlanAndCheckBytes + mtu,
                            RTE_MBUF_DEFAULT_BUF_SIZE);
  // Both rings full, a burst each way, and the per-lcore caches.
  constexpr unsigned kCache = 64;
  const unsigned count = 2 * options.descriptors + 4 * kBurst + 4 * kCache;
  own_pool = rte_pktmbuf_pool_create(("plnet_" + name).substr(0, RTE_MEMPOOL_NAMESIZE - 1).c_str(),
                                     count, kCache, 0, static_cast<std::uint16_t>(room),
                                     rte_eth_dev_socket_id(port));
  pool = own_pool;
  if (pool == nullptr)
    return std::unexpected(
        error_of(name, "a pool of " + std::to_string(count) + " buffers", -rte_errno));
  return {};
}

plnet::Outcome<void> WireEthdev::State::make_queues(const WireEthdevOptions& options) {
  std::uint16_t rx = static_cast<std::uint16_t>(options.descriptors);
  std::uint16_t tx = rx;
  if (const int rc = rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx, &tx); rc != 0)
    return std::unexpected(error_of(name, "sizes of its rings", rc));
  const auto node = static_cast<unsigned>(rte_eth_dev_socket_id(port));
  if (const int rc = rte_eth_rx_queue_setup(port, 0, rx, node, nullptr, pool); rc != 0)
    return std::unexpected(error_of(name, "a queue to receive", rc));
  if (const int rc = rte_eth_tx_queue_setup(port, 0, tx, node, nullptr); rc != 0)
    return std::unexpected(error_of(name, "a queue to send", rc));
  const int rc = rte_eth_dev_start(port);
  is_started = rc == 0;
  if (is_started || is_dialled) return {};
  return std::unexpected(error_of(name, "start", rc));
}

plnet::Outcome<void> WireEthdev::State::make_layer(const WireEthdevOptions& options) {
  const NicAddress address = options.address.value_or(address_of(mac));
  if (address >= link::kEverybody)
    return failure(Errc::kOutOfRange,
                   "cassini: port " + name + ": NIC address " + std::to_string(address) +
                       "; expected one of 0 to 1048574, given or by the MAC's lowest 20 bits");
  link::LinkOptions link_options = options.link;
  link_options.packet_bytes = mtu - link::kLinkHeaderBytes;
  link_options.seed = options.link.seed ^ rte_rdtsc();  // makes sessions of different starts differ
  layer = std::make_unique<link::LinkLayer>(link_options, address, mac);
  straight.resize(link::kFrameHeaderBytes + link::kPayloadMax);
  return {};
}

plnet::Outcome<std::unique_ptr<WireEthdev>> WireEthdev::open(const WireEthdevOptions& options) {
  auto state = std::make_unique<State>();
  plnet::Outcome<void> done = state->configure(options);
  if (done) done = state->choose_mtu(options);
  if (done) done = state->make_pool(options);
  if (done) done = state->make_queues(options);
  if (done) done = state->make_layer(options);
  if (!done) return std::unexpected(std::move(done.error()));
  return std::unique_ptr<WireEthdev>(new WireEthdev(std::move(state)));
}

WireEthdev::WireEthdev(std::unique_ptr<State> state) : state_(std::move(state)) {}
WireEthdev::~WireEthdev() = default;

std::size_t WireEthdev::packet_bytes_max() const {
  return state_->layer->packet_bytes_max();
}

std::size_t WireEthdev::packet_bytes_max_to(NicAddress to) const {
  return state_->layer->packet_bytes_max_to(to);
}

bool WireEthdev::send(NicAddress to, std::span<const std::byte> header,
                      std::span<const std::byte> payload) {
  return state_->layer->send(to, header, payload);
}

unsigned WireEthdev::poll(std::uint64_t now_ns, WireEvents& events) {
  State& state = *state_;
  if (now_ns >= state.look_at_ns) state.look_at_port(now_ns, events);
  if (!state.is_started) return 0;
  const unsigned came = state.take_in(now_ns, events);
  const unsigned went = state.layer->transmit(now_ns, state);
  if (state.waiting > 0) state.flush();
  return came + went;
}

void WireEthdev::State::look_at_port(std::uint64_t now_ns, WireEvents& events) {
  look_at_ns = now_ns + kLookNs;
  std::uint16_t mtu_now = 0;
  if (follows_mtu && rte_eth_dev_get_mtu(port, &mtu_now) == 0 && mtu_now != mtu &&
      mtu_now >= kMtuMin) {
    // Buffers keep their initial size: a larger MTU needs a restart.
    mtu = std::min<unsigned>(mtu_now, mtu_at_start);
    layer->set_packet_bytes_max(mtu - link::kLinkHeaderBytes);
  }
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(port, &link) != 0) return;
  const bool is_up = is_started && link.link_status == RTE_ETH_LINK_UP;
  if (is_dialled && !is_up && now_ns >= dial_at_ns) dial(now_ns);
  if (is_link_told && is_up == layer->link_up()) return;
  is_link_told = true;
  layer->set_link(is_up, now_ns);
  events.on_link(is_up, layer->address());
}

// Slowly: net_memif of DPDK 22.11 panics at the other end if a connection ends while it is being
// accepted. And not in one call: the driver ends a connection in a thread of its own, which may be
// still running and then ends what a restart has made meanwhile.
void WireEthdev::State::dial(std::uint64_t now_ns) {
  const bool is_first_look = dial_at_ns == 0;
  if (is_started && is_first_look) {
    dial_at_ns = now_ns + kDialNs;
    return;
  }
  if (is_started) {
    (void)rte_eth_dev_stop(port);
    is_started = false;
    dial_at_ns = now_ns + kHungUpNs;
    return;
  }
  is_started = rte_eth_dev_start(port) == 0;
  dial_at_ns = now_ns + kDialNs;
}

unsigned WireEthdev::State::take_in(std::uint64_t now_ns, WireEvents& events) {
  unsigned count = 0;
  for (unsigned burst = 0; burst < kBurstsPerPoll; ++burst) {
    std::array<rte_mbuf*, kBurst> in{};
    const unsigned got = rte_eth_rx_burst(port, 0, in.data(), kBurst);
    for (unsigned i = 0; i < got; ++i) {
      if (i + 1 < got) rte_prefetch0(rte_pktmbuf_mtod(in[i + 1], void*));
      const std::uint32_t bytes = rte_pktmbuf_pkt_len(in[i]);
      if (bytes <= straight.size()) {
        const void* frame = rte_pktmbuf_read(in[i], 0, bytes, straight.data());
        PLNET_CHECK(frame != nullptr, "a frame has its stated length");
        layer->receive({static_cast<const std::byte*>(frame), bytes}, now_ns, events);
      }
    }
    if (got > 0) rte_pktmbuf_free_bulk(in.data(), got);
    count += got;
    if (got < kBurst) break;
  }
  return count;
}

// Frames that the port rejects now stay before later ones.
void WireEthdev::State::flush() {
  const std::size_t taken =
      rte_eth_tx_burst(port, 0, out.data(), static_cast<std::uint16_t>(waiting));
  std::copy(out.begin() + static_cast<std::ptrdiff_t>(taken),
            out.begin() + static_cast<std::ptrdiff_t>(waiting), out.begin());
  waiting -= taken;
}

CounterView WireEthdev::counters() const {
  return state_->layer->stats().view();
}

void WireEthdev::set_address(NicAddress own) {
  state_->layer->set_address(own);
  state_->is_link_told = false;
  state_->look_at_ns = 0;
}

WireEthdevStatus WireEthdev::status() const {
  return {.port = state_->name,
          .driver = state_->driver,
          .mac = state_->mac,
          .address = state_->layer->address(),
          .mtu = state_->mtu,
          .link_up = state_->layer->link_up(),
          .clashing = state_->layer->clashing()};
}

const link::LinkLayer& WireEthdev::layer() const {
  return *state_->layer;
}

}  // namespace plnet::cassini::soft
