// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/ofi/claim.hpp"

#include <cerrno>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace plnet::ofi {

namespace {

// Bytes of the file that are locked; it holds nothing but the life.
enum class Lock : std::uint8_t { kOwned, kPublished };

// libfabric v1.17.0 prov/util/src/util_shm.c: smr_create(), include/ofi_shm.h: smr_no_prefix(): the
// shared memory object has the name behind the scheme.
std::string object_of(const Process& process, Life life) {
  const auto name = address_of({.family = Family::kName}, process, life);
  if (!name) return {};
  const std::string_view whole(name->bytes.data());
  return std::string(1, '/').append(whole.substr(whole.find("://") + 3));
}

struct flock range(Lock lock, short type) {
  struct flock wanted{};
  wanted.l_type = type;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = static_cast<off_t>(lock);
  wanted.l_len = 1;
  return wanted;
}

// A lock of the open file, not of the process: two endpoints of one process exclude each other,
// too.
bool set(int file, Lock lock, short type) {
  struct flock wanted = range(lock, type);
  return fcntl(file, F_OFD_SETLK, &wanted) == 0;
}

bool is_held(int file, Lock lock) {
  struct flock asked = range(lock, F_WRLCK);
  return fcntl(file, F_OFD_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
}

Life written_in(int file) {
  Life life = kNoLife;
  return pread(file, &life, sizeof life, 0) == sizeof life ? life : kNoLife;
}

// Whether the file is the one that the place's name stands for: its last owner may have just
// removed it.
bool is_linked(int file) {
  struct stat found{};
  return fstat(file, &found) == 0 && found.st_nlink > 0;
}

Result<int> open_as_owner(const std::string& place) {
  constexpr unsigned kTriesMax = 100;  // each try fails only if an owner has gone in that moment
  for (unsigned tries = 0; tries < kTriesMax; ++tries) {
    const int file = shm_open(place.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) return std::unexpected(errc_of_errno(errno));
    const bool locked = set(file, Lock::kOwned, F_WRLCK);
    const int why = errno;
    if (locked && is_linked(file)) return file;
    (void)close(file);
    if (!locked)
      return std::unexpected(why == EAGAIN || why == EACCES ? Errc::kExists : errc_of_errno(why));
  }
  return std::unexpected(Errc::kExists);
}

}  // namespace

Result<void> Claim::take(const Process& process, Life life) {
  release();
  std::string place = object_of(process, kNoLife);
  if (place.empty() || life == kNoLife) return std::unexpected(Errc::kOutOfRange);
  const Result<int> file = open_as_owner(place);
  if (!file) return std::unexpected(file.error());
  file_ = *file;
  place_ = std::move(place);
  if (const Life left = written_in(file_); left != kNoLife)
    (void)shm_unlink(object_of(process, left).c_str());
  if (pwrite(file_, &life, sizeof life, 0) == sizeof life) return {};
  const int why = errno;
  release();
  return std::unexpected(errc_of_errno(why));
}

Result<void> Claim::publish() {
  if (file_ >= 0 && !set(file_, Lock::kPublished, F_WRLCK))
    return std::unexpected(errc_of_errno(errno));
  return {};
}

void Claim::hide() {
  if (file_ >= 0) (void)set(file_, Lock::kPublished, F_UNLCK);
}

void Claim::release() {
  if (file_ < 0) return;
  hide();
  (void)shm_unlink(place_.c_str());
  (void)close(file_);
  file_ = -1;
}

Life life_at(const Process& process) {
  const int file = shm_open(object_of(process, kNoLife).c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return kNoLife;
  const Life life = written_in(file);
  // Read again: the lock may be that of the next owner.
  const bool reachable = is_held(file, Lock::kPublished) && written_in(file) == life;
  (void)close(file);
  return reachable ? life : kNoLife;
}

}  // namespace plnet::ofi
