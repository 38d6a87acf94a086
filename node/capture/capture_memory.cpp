// SPDX-License-Identifier: BSD-3-Clause
#include "node/capture/capture_memory.hpp"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>

#include "lib/runtime/verbs/capture_rows.hpp"

namespace plnet::node {

namespace {

using runtime::Descriptor;

std::unexpected<Error> system_failure(const char* what, int number) {
  return failure(errc_of_errno(number), "memory of the capture: " + std::string(what) + ": " +
                                            std::generic_category().message(number));
}

}  // namespace

// All of it is taken now: none can be missing when a shard writes.
Outcome<SharedFile> SharedFile::create(const char* name, std::size_t bytes, Others others) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid()) return system_failure("memfd_create", errno);
  if (const int error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)); error != 0) {
    return system_failure("posix_fallocate", error);
  }
  void* const at =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0);
  if (at == MAP_FAILED) return system_failure("mmap", errno);
  SharedFile made(std::move(file), {static_cast<std::byte*>(at), bytes});
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (others == Others::kRead) seals |= F_SEAL_FUTURE_WRITE;
  if (::fcntl(made.file_.get(), F_ADD_SEALS, seals) != 0) return system_failure("seals", errno);
  return made;
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, std::span<std::byte>())) {}

SharedFile::~SharedFile() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

Outcome<Descriptor> SharedFile::descriptor() const {
  Descriptor copy(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return system_failure("a file descriptor", errno);
  return copy;
}

Outcome<CaptureMemory> CaptureMemory::create(unsigned shards, std::size_t ring_bytes) {
  const std::size_t ring_memory = trace::ring_memory_bytes(ring_bytes);
  auto rings =
      SharedFile::create("plnet capture rings", shards * ring_memory, SharedFile::Others::kRead);
  if (!rings) return std::unexpected(std::move(rings.error()));
  auto cursors = SharedFile::create("plnet capture cursors", shards * runtime::kCaptureCursorBytes,
                                    SharedFile::Others::kWrite);
  if (!cursors) return std::unexpected(std::move(cursors.error()));
  return CaptureMemory(std::move(*rings), std::move(*cursors), ring_memory);
}

std::span<std::byte> CaptureMemory::ring(unsigned shard) const {
  return rings_.bytes().subspan(shard * ring_memory_, ring_memory_);
}

const trace::RingWord* CaptureMemory::cursor(unsigned shard) const {
  const auto bytes = cursors_.bytes().subspan(shard * runtime::kCaptureCursorBytes);
  return reinterpret_cast<const trace::RingWord*>(bytes.data());
}

}  // namespace plnet::node
