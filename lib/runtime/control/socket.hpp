// SPDX-License-Identifier: BSD-3-Clause
// The Unix socket of a node as a file: created, protected, taken over from a killed node, refused
// while another node is alive.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "lib/base/result.hpp"
#include "lib/runtime/admin/descriptor.hpp"

namespace plnet::runtime {

struct SocketOptions {
  std::string path;
  mode_t mode = 0660;
  std::optional<uid_t> owner{};  // none = the user of the node
  std::optional<gid_t> group{};
};

// A listening, non-blocking socket. It holds a lock on PATH.lock, which the kernel drops when the
// process dies, so that of two nodes that start at once only one succeeds.
class ListeningSocket {
 public:
  // Makes the folder (0755) if it is missing. Fails with the pid if another process listens there.
  // Never removes a file that is not a socket.
  [[nodiscard]] static Outcome<ListeningSocket> open(const SocketOptions& options);
  // Whether open() would be refused now for a file or a process that is there. Changes nothing.
  [[nodiscard]] static Outcome<void> check_free(const std::string& path);
  // Removes the socket, keeps the lock file.
  ~ListeningSocket();
  ListeningSocket(ListeningSocket&& other) noexcept = default;
  ListeningSocket& operator=(ListeningSocket&&) = delete;

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  ListeningSocket(std::string path, Descriptor lock, Descriptor socket)
      : path_(std::move(path)), lock_(std::move(lock)), socket_(std::move(socket)) {}

  std::string path_;
  Descriptor lock_;
  Descriptor socket_;
};

// A non-blocking socket connected to PATH, or errno.
[[nodiscard]] std::expected<Descriptor, int> connect_to_socket(const std::string& path);

// The longest path that the kernel accepts.
[[nodiscard]] std::size_t socket_path_max();

}  // namespace plnet::runtime
