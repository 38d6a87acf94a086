// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/process_memory.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace plnet::cassini::soft {
namespace {

// Lines of a file of /proc, without allocation. A line that is longer than the buffer shows in
// pieces; no field that is read here lies so far to the right.
class Lines {
 public:
  explicit Lines(const char* path) : fd_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~Lines() {
    if (fd_ >= 0) (void)close(fd_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  [[nodiscard]] std::optional<std::string_view> next() {
    for (;;) {
      const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
      const std::size_t newline = rest.find('\n');
      if (newline != std::string_view::npos) {
        begin_ += newline + 1;
        return rest.substr(0, newline);
      }
      if (begin_ == 0 && end_ == buffer_.size()) {
        begin_ = end_;
        return rest;
      }
      if (!fill()) return std::nullopt;
    }
  }

 private:
  bool fill() {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
    if (fd_ < 0) return false;
    const ssize_t got = read(fd_, buffer_.data() + end_, buffer_.size() - end_);
    if (got <= 0) return false;
    end_ += static_cast<std::size_t>(got);
    return true;
  }

  int fd_;
  std::array<char, 8192> buffer_{};
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

struct Area {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool readable = false;
  bool writable = false;
};

// "7f12…-7f13… rw-p …"
std::optional<Area> area_of(std::string_view line) {
  constexpr int kHexadecimal = 16;
  Area area;
  const char* const begin = std::to_address(line.begin());
  const char* const last = std::to_address(line.end());
  const auto first = std::from_chars(begin, last, area.begin, kHexadecimal);
  if (first.ec != std::errc() || first.ptr == last || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, last, area.end, kHexadecimal);
  if (second.ec != std::errc() || last - second.ptr < 3 || *second.ptr != ' ') return std::nullopt;
  area.readable = second.ptr[1] == 'r';
  area.writable = second.ptr[2] == 'w';
  return area;
}

}  // namespace

MemorySeen look_at_memory(const void* begin, std::size_t length) {
  auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t end = at + length;
  MemorySeen seen{.whole = true, .readable = true, .writable = true};
  Lines lines("/proc/self/maps");  // in the order of their addresses
  while (at < end) {
    const auto line = lines.next();
    if (!line) return {};
    const auto area = area_of(*line);
    if (!area || area->end <= at) continue;
    if (area->begin > at) return {};
    seen.readable &= area->readable;
    seen.writable &= area->writable;
    at = area->end;
  }
  return seen;
}

void for_each_present(std::byte* begin, std::size_t length,
                      const std::function<void(std::size_t, std::size_t)>& part) {
  constexpr std::size_t kPagesAtOnce = 4096;
  std::array<unsigned char, kPagesAtOnce> present{};
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  length = std::min(length, kPresentLookedAt);
  for (std::size_t done = 0; done < length; done += kPagesAtOnce * page) {
    const std::size_t bytes = std::min(length - done, kPagesAtOnce * page);
    if (mincore(begin + done, bytes, present.data()) != 0) continue;  // a hole
    const std::size_t pages = (bytes + page - 1) / page;
    for (std::size_t first = 0; first < pages;) {
      std::size_t last = first;
      while (last < pages && (present[last] & 1U) != 0)
        ++last;
      if (last > first) part(done + first * page, (last - first) * page);
      first = last + 1;
    }
  }
}

std::size_t page_size_at(const void* address) {
  constexpr std::string_view kKey = "KernelPageSize:";
  constexpr std::size_t kBytesPerUnit = 1024;
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  const auto usual = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  Lines lines("/proc/self/smaps");
  bool found = false;
  while (const auto line = lines.next()) {
    if (const auto area = area_of(*line)) {
      if (found) break;
      found = area->begin <= wanted && wanted < area->end;
    } else if (found && line->starts_with(kKey)) {
      const std::string_view number = line->substr(line->find_first_not_of(' ', kKey.size()));
      std::size_t units = 0;
      const auto read = std::from_chars(number.data(), number.data() + number.size(), units);
      return read.ec == std::errc() ? units * kBytesPerUnit : usual;
    }
  }
  return usual;
}

}  // namespace plnet::cassini::soft
