// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/local_pids.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "drivers/net/cassini/soft/codes.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kVniBits = 16;
constexpr off_t kBytes = off_t{1} << (kVniBits + kPidBits);  // of which only used pages exist

std::string file_name(const std::string& path) {
  return path + ".pids";
}

off_t place_of(unsigned vni, unsigned pid) {
  return static_cast<off_t>(vni) << kPidBits | static_cast<off_t>(pid);
}

std::uint64_t key_of(NicAddress nic, unsigned vni, unsigned pid) {
  return std::uint64_t{nic} << (kVniBits + kPidBits) |
         static_cast<std::uint64_t>(place_of(vni, pid));
}

}  // namespace

plnet::Outcome<void> LocalPids::open(const std::string& path, unsigned share) {
  constexpr mode_t kOwner = 0600;
  file_ = LocalDescriptor(::open(file_name(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwner));
  if (!file_ || ::ftruncate(file_.number(), kBytes) != 0) {
    const int number = errno;
    return failure(errc_of_errno(number),
                   "cassini: " + file_name(path) + ": " + std::generic_category().message(number));
  }
  mark_ = static_cast<std::uint8_t>(share + 1);
  return {};
}

bool LocalPids::claim(unsigned vni, unsigned pid) {
  const off_t at = place_of(vni, pid);
  return set_byte_lock(file_, F_WRLCK, at) && ::pwrite(file_.number(), &mark_, 1, at) == 1;
}

void LocalPids::release(unsigned vni, unsigned pid) {
  const off_t at = place_of(vni, pid);
  constexpr std::uint8_t kNobody = 0;
  (void)!::pwrite(file_.number(), &kNobody, 1, at);
  (void)set_byte_lock(file_, F_UNLCK, at);
}

int LocalPidReader::file_of(const std::string& path, NicAddress nic) {
  if (const auto known = files_.find(nic); known != files_.end()) return known->second.number();
  // Any process may have made it: a pipe would keep us waiting.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
  LocalDescriptor file(::open(file_name(path).c_str(), kFlags));
  if (!file) return -1;  // there is no such NIC yet
  if (files_.size() >= kFilesMax) files_.erase(files_.begin());
  return files_.emplace(nic, std::move(file)).first->second.number();
}

std::size_t LocalPidReader::home_of(std::uint64_t key) {
  return (key ^ key >> kPidBits ^ key >> (kVniBits + kPidBits)) % kAnswers;
}

std::optional<unsigned> LocalPidReader::known_share(NicAddress nic, unsigned vni, unsigned pid,
                                                    std::uint64_t now_ns) const {
  const std::uint64_t key = key_of(nic, vni, pid);
  const Answer& answer = answers_[home_of(key)];
  if (answer.key != key || now_ns >= answer.until_ns) return std::nullopt;
  return answer.share;
}

unsigned LocalPidReader::look_up_share(const std::string& path, NicAddress nic, unsigned vni,
                                       unsigned pid, std::uint64_t now_ns) {
  std::uint8_t mark = 0;
  const int file = file_of(path, nic);
  const bool is_read = file >= 0 && ::pread(file, &mark, 1, place_of(vni, pid)) == 1;
  const unsigned share = is_read && mark != 0 && mark <= kSharesMax ? mark - 1U : 0U;
  const std::uint64_t key = key_of(nic, vni, pid);
  answers_[home_of(key)] = {.key = key, .until_ns = now_ns + kValidNs, .share = share};
  return share;
}

}  // namespace plnet::cassini::soft
