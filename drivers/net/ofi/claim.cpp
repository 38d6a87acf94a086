// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/ofi/claim.hpp"

#include <cerrno>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

namespace plnet::ofi {

namespace {

// libfabric v1.17.0 prov/util/src/util_shm.c: smr_create(), include/ofi_shm.h: smr_no_prefix(): the
// shared memory object has the name behind the scheme.
std::string object_of(const ProviderAddress& name) {
  const std::string_view whole(name.bytes.data());
  const std::size_t scheme = whole.find("://");
  std::string object(1, '/');
  object += scheme == std::string_view::npos ? whole : whole.substr(scheme + 3);
  return object;
}

int open_object(const std::string& object) {
  return shm_open(object.c_str(), O_RDWR | O_CLOEXEC, 0);
}

// Those who ask share the lock, so that none of them looks like an owner to another.
bool is_free(int file) {
  return flock(file, LOCK_SH | LOCK_NB) == 0;
}

}  // namespace

Result<void> Claim::prepare(const ProviderAddress& name) {
  const std::string object = object_of(name);
  const int file = open_object(object);
  if (file < 0) {
    if (errno == ENOENT) return {};
    return std::unexpected(errc_of_errno(errno));
  }
  const bool left_over = is_free(file);
  if (left_over) (void)shm_unlink(object.c_str());
  (void)close(file);
  if (!left_over) return std::unexpected(Errc::kExists);
  return {};
}

Result<void> Claim::take(const ProviderAddress& name) {
  release();
  file_ = open_object(object_of(name));
  if (file_ < 0) return std::unexpected(errc_of_errno(errno));
  // Somebody may be asking; nobody keeps it.
  while (flock(file_, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    const int why = errno;
    release();
    return std::unexpected(errc_of_errno(why));
  }
  return {};
}

void Claim::release() {
  if (file_ >= 0) (void)close(file_);
  file_ = -1;
}

bool is_claimed(const ProviderAddress& name) {
  const int file = open_object(object_of(name));
  if (file < 0) return false;
  const bool claimed = !is_free(file);
  (void)close(file);
  return claimed;
}

}  // namespace plnet::ofi
