// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/input.hpp"

#include <cerrno>
#include <span>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/runtime/admin/descriptor.hpp"
#include "lib/trace/file/capture_reader.hpp"

namespace plnet::lnetdump {

namespace {

using Step = trace::CaptureReader::Step;
using OnPacket = std::function<bool(const trace::Packet&)>;

constexpr std::size_t kPieceBytes = 256U << 10U;

std::unexpected<Error> system_error(const std::string& path) {
  return failure(errc_of_errno(errno),
                 fmt::format("{}: {}", path, std::generic_category().message(errno)));
}

class Mapping {
 public:
  Mapping(int descriptor, std::size_t size)
      : size_(size), at_(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0)) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (is_there()) ::munmap(at_, size_);
  }
  [[nodiscard]] bool is_there() const { return at_ != MAP_FAILED; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(at_), size_};
  }
  // Memory stays bounded by kReleaseBytes for a file of any size: the page cache may keep what was
  // read, this process does not.
  void release_before(std::size_t position) {
    if (position < released_ + kReleaseBytes) return;
    const std::size_t end = position / kReleaseBytes * kReleaseBytes;
    ::madvise(static_cast<std::byte*>(at_) + released_, end - released_, MADV_DONTNEED);
    released_ = end;
  }

 private:
  static constexpr std::size_t kReleaseBytes = 16U << 20U;  // a multiple of any page

  std::size_t size_;
  void* at_;
  std::size_t released_ = 0;
};

// kMore: all bytes have been read.
Outcome<Step> feed(trace::CaptureReader& reader, std::span<const std::byte>& bytes,
                   const std::string& path, const OnPacket& packet, std::uint64_t* position) {
  for (;;) {
    const Step step = reader.next(bytes);
    if (position != nullptr) *position = reader.position();
    if (step == Step::kFailed) {
      return failure(Errc::kMalformed, fmt::format("{}: {}", path, reader.error()));
    }
    if (step == Step::kMore || !packet(reader.packet())) return step;
  }
}

Outcome<InputEnd> read_pipe(int descriptor, const std::string& path, const OnPacket& packet,
                            std::uint64_t* position) {
  trace::CaptureReader reader;
  std::vector<std::byte> waiting;
  for (;;) {
    const std::size_t had = waiting.size();
    waiting.resize(had + kPieceBytes);
    const ssize_t got = ::read(descriptor, &waiting[had], kPieceBytes);
    if (got < 0 && errno == EINTR) {
      waiting.resize(had);
      continue;
    }
    if (got < 0) return system_error(path);
    waiting.resize(had + static_cast<std::size_t>(got));
    if (got == 0) return InputEnd{waiting.size()};
    std::span<const std::byte> bytes = waiting;
    const auto step = feed(reader, bytes, path, packet, position);
    if (!step) return std::unexpected(step.error());
    if (*step == Step::kPacket) return InputEnd{};
    waiting.erase(waiting.begin(), waiting.end() - static_cast<std::ptrdiff_t>(bytes.size()));
  }
}

}  // namespace

Outcome<InputEnd> read_packets(const std::string& path, const OnPacket& packet,
                               std::uint64_t* position) {
  if (path == "-") return read_pipe(STDIN_FILENO, "standard input", packet, position);
  const runtime::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) return system_error(path);
  if (!S_ISREG(facts.st_mode) || facts.st_size == 0) {
    return read_pipe(file.get(), path, packet, position);
  }
  Mapping mapping(file.get(), static_cast<std::size_t>(facts.st_size));
  if (!mapping.is_there()) return system_error(path);
  trace::CaptureReader reader;
  std::span<const std::byte> bytes = mapping.bytes();
  const auto step = feed(
      reader, bytes, path,
      [&](const trace::Packet& each) {
        // The packet before this one is not used any more.
        mapping.release_before(
            static_cast<std::size_t>(each.bytes.data() - mapping.bytes().data()));
        return packet(each);
      },
      position);
  if (!step) return std::unexpected(step.error());
  return InputEnd{*step == Step::kPacket ? 0 : bytes.size()};
}

}  // namespace plnet::lnetdump
