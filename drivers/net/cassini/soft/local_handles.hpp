// SPDX-License-Identifier: BSD-3-Clause
// A descriptor and a mapping that are given back at the end of their scope.
#pragma once

#include <cstddef>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace plnet::cassini::soft {

class LocalDescriptor {
 public:
  LocalDescriptor() = default;
  explicit LocalDescriptor(int number) : number_(number) {}
  ~LocalDescriptor() {
    if (number_ >= 0) (void)::close(number_);
  }
  LocalDescriptor(LocalDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  LocalDescriptor& operator=(LocalDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  [[nodiscard]] int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// F_WRLCK or F_UNLCK for one byte of a file. The lock belongs to the open descriptor, and the
// kernel gives it back when that is closed. False, at once: another descriptor has it.
inline bool set_byte_lock(const LocalDescriptor& file, short type, off_t at) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  return ::fcntl(file.number(), F_OFD_SETLK, &lock) == 0;
}

class LocalMapping {
 public:
  LocalMapping() = default;
  // Empty if the system refuses.
  LocalMapping(int descriptor, std::size_t bytes)
      : memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)),
        bytes_(bytes) {
    if (memory_ == MAP_FAILED) memory_ = nullptr;
  }
  ~LocalMapping() {
    if (memory_ != nullptr) (void)::munmap(memory_, bytes_);
  }
  LocalMapping(LocalMapping&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
  LocalMapping& operator=(LocalMapping&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  [[nodiscard]] std::byte* memory() const { return static_cast<std::byte*>(memory_); }
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace plnet::cassini::soft
