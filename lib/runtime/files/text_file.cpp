// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/files/text_file.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/runtime/control/protocol.hpp"

namespace plnet::runtime {
namespace {

// Escapes make a text longer in transit; the client refuses text that still does not fit.
constexpr std::size_t kFileBytesMax = runtime::kRequestBytesMax - 4096;

std::string message_of(int number) {
  return std::generic_category().message(number);
}

}  // namespace

Outcome<std::string> read_all(std::FILE* file, std::string_view name) {
  std::string text;
  std::array<char, 65536> piece{};
  errno = 0;
  while (std::feof(file) == 0 && std::ferror(file) == 0) {
    const std::size_t got = std::fread(piece.data(), 1, piece.size(), file);
    text.append(piece.data(), got);
    if (text.size() > kFileBytesMax) {
      return failure(Errc::kTooBig,
                     fmt::format("'{}' is longer than {} MiB", name, (kFileBytesMax >> 20) + 1));
    }
  }
  if (std::ferror(file) == 0) return text;
  const int number = errno;
  return failure(errc_of_errno(number),
                 fmt::format("cannot read '{}': {}", name, message_of(number)));
}

Outcome<std::string> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  if (!file) {
    const int number = errno;
    return failure(errc_of_errno(number),
                   fmt::format("cannot open '{}': {}", path, message_of(number)));
  }
  return read_all(file.get(), path);
}

namespace {

// Devices, pipes and terminals are written in place: only ordinary files are replaced.
bool is_special(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// The target of a link is replaced, not the link.
std::string behind_links(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

Outcome<void> write_special(const std::string& path, std::string_view text) {
  std::FILE* const file = std::fopen(path.c_str(), "we");
  bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                 std::fflush(file) == 0;
  const int number = errno;
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  if (written) return {};
  return failure(errc_of_errno(number),
                 fmt::format("cannot write '{}': {}", path, message_of(number)));
}

}  // namespace

Outcome<void> write_file(const std::string& path, std::string_view text) {
  if (is_special(path)) return write_special(path, text);
  const std::string target = behind_links(path);
  std::string beside = target + ".XXXXXX";
  const auto refuse = [&](std::string_view doing) {
    const int number = errno;
    return failure(errc_of_errno(number),
                   fmt::format("cannot {} '{}': {}", doing, path, message_of(number)));
  };
  const int descriptor = ::mkostemp(beside.data(), O_CLOEXEC);
  if (descriptor < 0) return refuse("write");
  std::FILE* const file = ::fdopen(descriptor, "w");
  if (file == nullptr) {
    auto refused = refuse("write");
    ::close(descriptor);
    ::unlink(beside.c_str());
    return refused;
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                       std::fflush(file) == 0 && ::fchmod(descriptor, 0644) == 0;
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(beside.c_str(), target.c_str()) != 0) {
    auto refused = refuse("write");
    ::unlink(beside.c_str());
    return refused;
  }
  return {};
}

}  // namespace plnet::runtime
