// SPDX-License-Identifier: BSD-3-Clause
// All TCP connections of a simulated cluster: handshake, ports, segments, acknowledgements,
// windows, retransmits, resets. Drivers of single shards write into it and read from it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "drivers/net/sim/event_loop.hpp"
#include "drivers/net/sim/network.hpp"
#include "drivers/net/sim/shape.hpp"
#include "drivers/net/sim/stable_array.hpp"
#include "drivers/net/sim/stream_connection.hpp"
#include "lib/base/random.hpp"

namespace plnet::drivers {

class SimStreamFabric final : private EventSink, private ReachabilitySink {
 public:
  SimStreamFabric(SimNetwork& network, const StreamShape& shape, std::uint64_t seed);
  SimStreamFabric(const SimStreamFabric&) = delete;
  SimStreamFabric& operator=(const SimStreamFabric&) = delete;

  [[nodiscard]] SimNetwork& network() { return network_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] const StreamShape& shape() const { return shape_; }
  [[nodiscard]] std::size_t connections() const { return live_; }
  // Bytes that went from one stream to another without the memory of an LND.
  [[nodiscard]] std::uint64_t bytes_handed_on() const { return bytes_handed_on_; }

  // Breaks a connection as a middlebox would: both ends are reset at once.
  void break_connection(const socklnd::StreamAddresses& addresses);
  // Breaks all connections of this host.
  void break_connections_of(HostId host);

  // Reserves, so that nothing is allocated before there are that many connections.
  void reserve(std::size_t connections);

  // For SimStreamDriver.

  [[nodiscard]] Result<StreamEndId> connect(SimStreamDriver& driver, HostId host,
                                            const socklnd::ConnectRequest& request);
  [[nodiscard]] Result<void> listen(SimStreamDriver& driver, HostId host,
                                    const socklnd::SocketAddress& local, unsigned backlog,
                                    const socklnd::StreamOptions& accepted);
  void stop_listening(SimStreamDriver& driver, const socklnd::SocketAddress& local);
  // The driver goes: its streams are abandoned one by one. Reset if the host is present, silent if
  // it has vanished.
  void abandon(StreamEndId id);

  [[nodiscard]] StreamConnection* find(StreamEndId id);
  // Hot. Takes up to `limit` bytes; asks for kWritable if fewer than offered were taken.
  std::size_t write(StreamEndId id, std::span<const std::span<const std::byte>> pieces,
                    std::size_t limit);
  // Hot. Bytes that can be read now.
  [[nodiscard]] static std::size_t readable(const StreamConnection& connection, unsigned end);
  // The number of bytes, of `limit` behind the next `direct` ones, that a read should put into the
  // staging buffer. Described payload goes to its destination, so a read ends in front of it,
  // unless it comes first and has no destination. Then the read ends behind it: an LND that copies
  // the bytes behind it by hand would not be seen to overwrite them.
  [[nodiscard]] std::size_t stageable(const StreamConnection& connection, unsigned end,
                                      std::size_t direct, std::size_t limit);
  // Lent to one driver at a time, for the length of a read.
  [[nodiscard]] std::span<std::byte> staging() { return staging_; }
  void read(StreamEndId id, std::span<std::byte> direct, std::span<std::byte> staged);
  // Moves bytes from one end's input, where so many must have arrived, to another's output. Takes
  // up to `limit` bytes; asks for kWritable if fewer than offered were taken.
  std::size_t hand_on(StreamEndId from, StreamEndId to, std::size_t offered, std::size_t limit);
  // Enlarges the receive buffer to this size.
  void make_room(StreamEndId id, std::size_t bytes);
  // Returns the bytes written and never acknowledged. The end is finished: it has no more events.
  std::uint64_t close(StreamEndId id);
  [[nodiscard]] std::uint64_t unacknowledged(const StreamConnection& connection,
                                             unsigned end) const;
  [[nodiscard]] Result<void> detach(StreamEndId id);
  [[nodiscard]] Result<void> adopt(StreamEndId id, SimStreamDriver& driver, HostId host,
                                   const socklnd::StreamOptions& options);
  // The driver has reported an incoming connection: its place in the backlog is free.
  void accepted(const socklnd::SocketAddress& local, const SimStreamDriver& driver);

 private:
  enum class Kind : std::uint8_t {
    kConnectTry,
    kRequest,  // SYN at the listener
    kAnswer,   // SYN-ACK at the connecting end
    kConfirm,  // ACK at the accepting end
    kRefusal,
    kUnreachable,
    kArrival,
    kWritable,
    kWindow,
    kRetransmit,
    kReset,
    kKeepalive,
  };
  struct Listener {
    SimStreamDriver* driver = nullptr;
    HostId host = kNoHost;
    unsigned backlog = 0;
    unsigned waiting = 0;  // connections that the driver has not reported yet
    socklnd::StreamOptions options;
  };
  struct AddressHash {
    std::size_t operator()(const socklnd::SocketAddress& address) const;
  };
  using Listeners = std::unordered_map<socklnd::SocketAddress, std::vector<Listener>, AddressHash>;

  void on_event(std::uint64_t word) override;
  void on_event_soon(std::uint64_t word, unsigned step) const override;
  void on_reachability(HostId host, HostId other) override;
  void schedule(Instant when, Kind kind, std::uint32_t connection, unsigned end);
  void handle_setup(Kind kind, std::uint32_t index, StreamConnection& connection);

  // stream_setup.cpp
  [[nodiscard]] std::uint32_t take_connection();
  void set_options(StreamEnd& end, const socklnd::StreamOptions& options) const;
  void finish_end(std::uint32_t index, unsigned end);
  void take_port(std::uint64_t tuple);
  void give_port(std::uint64_t tuple);
  [[nodiscard]] Result<std::uint16_t> choose_port(HostId host,
                                                  const socklnd::ConnectRequest& request,
                                                  const socklnd::SocketAddress& local);
  [[nodiscard]] static std::uint64_t tuple_of(const socklnd::SocketAddress& local,
                                              const socklnd::SocketAddress& remote);
  [[nodiscard]] std::vector<Listener>* listeners_at(const socklnd::SocketAddress& address);
  [[nodiscard]] Listener* choose_listener(const socklnd::SocketAddress& address);
  void try_connect(std::uint32_t index);
  void request_arrives(std::uint32_t index);
  void answer_arrives(std::uint32_t index);
  void confirm_arrives(std::uint32_t index);
  void drop_unconfirmed(std::uint32_t index);

  // stream_transfer.cpp
  void pump(std::uint32_t index, unsigned end);
  void arrival(std::uint32_t index, unsigned end);
  void acknowledge(std::uint32_t index, unsigned end);
  void push(ByteQueue& queue, std::span<const std::byte> bytes);
  void take_acks(StreamPipe& pipe) const;
  [[nodiscard]] std::size_t send_room(StreamConnection& connection, unsigned end) const;
  void arm_writable(std::uint32_t index, unsigned end);
  void writable(std::uint32_t index, unsigned end);
  void stall(std::uint32_t index, unsigned end);
  void probe(std::uint32_t index, unsigned end);
  void retransmit(std::uint32_t index, unsigned end);
  void reset_from(std::uint32_t index, unsigned end);
  void reset_end(std::uint32_t index, unsigned end, Errc cause);
  void keepalive(std::uint32_t index, unsigned end);
  void watch_peer(std::uint32_t index, unsigned end);
  void open_window(std::uint32_t index, unsigned end);
  void fly(std::uint32_t index, unsigned end, std::uint64_t to, Instant arrival, bool alone);

  SimNetwork& network_;
  EventLoop& loop_;
  const StreamShape shape_;
  Random random_;
  std::vector<std::byte> staging_;
  StableArray<StreamConnection> connections_;
  std::uint32_t first_free_ = ~0U;
  std::size_t live_ = 0;
  std::uint64_t bytes_handed_on_ = 0;
  Listeners listeners_;
  std::unordered_set<std::uint64_t> ports_in_use_;  // by hash of both addresses
  // A connection in the place of an earlier one allocates nothing.
  std::vector<std::unordered_set<std::uint64_t>::node_type> spare_ports_;
  std::uint16_t next_ephemeral_ = 0;
};

}  // namespace plnet::drivers
