// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace plnet::runtime {
namespace {

// Connections that wait for accept(); the server takes them at once and refuses too many itself.
constexpr int kBacklog = 16;
constexpr mode_t kFolderMode = 0755;
constexpr mode_t kLockMode = 0600;

std::unexpected<Error> system_failure(const std::string& path, std::string_view doing,
                                      int number = errno) {
  return failure(errc_of_errno(number),
                 fmt::format("control socket '{}': cannot {}: {}", path, doing,
                             std::generic_category().message(number)));
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy_n(path.begin(), std::min(path.size(), socket_path_max()),
              static_cast<char*>(address.sun_path));
  return address;
}

// The process that listens there, if any.
std::optional<pid_t> listener_of(const std::string& path) {
  const auto connected = connect_to_socket(path);
  if (!connected) {
    // A full queue of connections belongs to a live process.
    if (connected.error() == EAGAIN) return 0;
    return std::nullopt;
  }
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(connected->get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return 0;
  return credentials.pid;
}

std::unexpected<Error> in_use(const std::string& path, pid_t pid) {
  const std::string who = pid > 0 ? fmt::format("process {}", pid) : "another process";
  return failure(Errc::kBusy,
                 fmt::format("control socket '{}' is in use by {}: a node runs already; stop it, "
                             "or give this one a name by --instance NAME",
                             path, who));
}

Outcome<void> make_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return {};
  const std::string folder = path.substr(0, slash);
  if (::mkdir(folder.c_str(), kFolderMode) == 0) {
    // mkdir() obeys the umask, but people without rights must be able to see the socket.
    ::chmod(folder.c_str(), kFolderMode);
    return {};
  }
  if (errno == EEXIST) return {};
  return system_failure(path, fmt::format("make the folder '{}'", folder));
}

// Only a socket without a listener may be replaced. The result: there is one.
Outcome<bool> find_stale_socket(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    return system_failure(path, "look at it");
  }
  if (!S_ISSOCK(status.st_mode)) {
    return failure(Errc::kExists,
                   fmt::format("control socket '{}': something that is not a socket is there; "
                               "remove it or name another path",
                               path));
  }
  if (const auto pid = listener_of(path)) return in_use(path, *pid);
  return true;
}

// Removes the remains of a killed node. The caller holds the lock.
Outcome<void> clear_place(const std::string& path) {
  const auto stale = find_stale_socket(path);
  if (!stale) return std::unexpected(stale.error());
  if (*stale && ::unlink(path.c_str()) != 0) return system_failure(path, "remove the stale socket");
  return {};
}

}  // namespace

std::size_t socket_path_max() {
  return sizeof(sockaddr_un::sun_path) - 1;
}

std::expected<Descriptor, int> connect_to_socket(const std::string& path) {
  if (path.size() > socket_path_max()) return std::unexpected(ENAMETOOLONG);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return std::unexpected(errno);
  const sockaddr_un address = address_of(path);
  // Unix sockets connect at once or not at all.
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return std::unexpected(errno);
  }
  return socket;
}

Outcome<void> ListeningSocket::check_free(const std::string& path) {
  const auto stale = find_stale_socket(path);
  if (!stale) return std::unexpected(stale.error());
  return {};
}

Outcome<ListeningSocket> ListeningSocket::open(const SocketOptions& options) {
  const std::string& path = options.path;
  if (path.empty() || path.size() > socket_path_max()) {
    return failure(Errc::kInvalid, fmt::format("control socket '{}': the path has {} characters, "
                                               "expected 1 to {}",
                                               path, path.size(), socket_path_max()));
  }
  if (auto made = make_folder(path); !made) return std::unexpected(std::move(made.error()));
  const std::string lock_path = path + ".lock";
  Descriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kLockMode));
  if (!lock.valid()) {
    const bool denied = errno == EACCES || errno == EPERM;
    auto refused = system_failure(path, fmt::format("open '{}'", lock_path));
    if (denied) {
      refused.error().what +=
          "; run as a user that may write there, or name another path by --socket";
    }
    return refused;
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return in_use(path, listener_of(path).value_or(0));
  }
  if (auto cleared = clear_place(path); !cleared) {
    return std::unexpected(std::move(cleared.error()));
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return system_failure(path, "make it");
  // bind() gives the file the mode of the socket, less the umask: inaccessible until it has its
  // owner.
  ::fchmod(socket.get(), S_IRUSR | S_IWUSR);
  const sockaddr_un address = address_of(path);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return system_failure(path, "bind it");
  }
  ListeningSocket listening(path, std::move(lock), std::move(socket));
  const uid_t owner = options.owner.value_or(static_cast<uid_t>(-1));
  const gid_t group = options.group.value_or(static_cast<gid_t>(-1));
  if ((options.owner || options.group) && ::lchown(path.c_str(), owner, group) != 0) {
    return system_failure(path, "give it to the owner and group that are configured");
  }
  if (::chmod(path.c_str(), options.mode) != 0) return system_failure(path, "set its mode");
  if (::listen(listening.descriptor(), kBacklog) != 0) return system_failure(path, "listen");
  return listening;
}

ListeningSocket::~ListeningSocket() {
  if (socket_.valid()) ::unlink(path_.c_str());
}

}  // namespace plnet::runtime
