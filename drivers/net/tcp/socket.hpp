// SPDX-License-Identifier: BSD-3-Clause
// The system's sockets in the terms of byte_stream.hpp: addresses, options, the state of TCP.
#pragma once

#include <cstdint>
#include <string>

#include <sys/socket.h>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::drivers {

// Closes itself unless released.
class TcpSocket {
 public:
  TcpSocket() = default;
  explicit TcpSocket(int descriptor) : descriptor_(descriptor) {}
  ~TcpSocket() { reset(); }
  TcpSocket(TcpSocket&& other) noexcept : descriptor_(other.release()) {}
  TcpSocket& operator=(TcpSocket&& other) noexcept;
  TcpSocket(const TcpSocket&) = delete;
  TcpSocket& operator=(const TcpSocket&) = delete;

  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] bool valid() const { return descriptor_ >= 0; }
  [[nodiscard]] int release();
  void reset();

 private:
  int descriptor_ = -1;
};

// An address for the system: sockaddr_in for v4-mapped ones, else sockaddr_in6. Link-local IPv6
// addresses would need a scope, which SocketAddress does not have: the system refuses them.
struct SystemAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  explicit SystemAddress(const socklnd::SocketAddress& address);
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

[[nodiscard]] socklnd::SocketAddress address_of(const sockaddr_storage& storage);
[[nodiscard]] bool is_ipv4(const socklnd::SocketAddress& address);
// The unspecified address: ::, or 0.0.0.0 mapped.
[[nodiscard]] bool is_any(const socklnd::SocketAddress& address);
// Formats as "192.168.1.10:988" or "[2001:db8::1]:988".
[[nodiscard]] std::string text_of(const socklnd::SocketAddress& address);

// Tries to bind to the address. True also if the system does not tell.
[[nodiscard]] bool is_address_of_host(const socklnd::SocketAddress& address);
// An interface has the address, perhaps one whose link is down: the system does not let an IPv6
// address of such an interface be used until it has checked on the link that no other node has it.
// False also if the system does not tell.
[[nodiscard]] bool is_on_interface(const socklnd::SocketAddress& address);

// A nonblocking TCP socket of the address's family that may share its port with other sockets, as
// long as none of them listens.
[[nodiscard]] Result<TcpSocket> open_socket(const socklnd::SocketAddress& family_of);
// False: the system has refused the option.
[[nodiscard]] bool set_option(int descriptor, int level, int name, int value);
// Returns the number of options that the system has refused; none of them is essential.
[[nodiscard]] unsigned set_options(int descriptor, bool ipv4,
                                   const socklnd::StreamOptions& options);

[[nodiscard]] Result<socklnd::StreamAddresses> addresses_of(int descriptor);
// Takes the pending error off a socket and returns it; 0: none.
[[nodiscard]] int take_error(int descriptor);
// Bytes written, but not acknowledged by the peer's TCP. Still correct after a reset.
[[nodiscard]] std::uint64_t unacknowledged_of(int descriptor);
// The most that the system hands to the interface in one piece: whole segments. A call with a
// multiple of it leaves no short segment behind, which would go out by itself with the next
// acknowledgement.
inline constexpr std::uint32_t kUsualBurst = 45 * 1448;
[[nodiscard]] std::uint32_t burst_of(int descriptor);
// The round trip as TCP has measured it, at first that of the SYN.
[[nodiscard]] Duration round_trip_of(int descriptor);
[[nodiscard]] socklnd::StreamFacts facts_of(int descriptor);
[[nodiscard]] socklnd::StreamProgress progress_of(int descriptor);
[[nodiscard]] socklnd::StreamDetails details_of(int descriptor);

}  // namespace plnet::drivers
