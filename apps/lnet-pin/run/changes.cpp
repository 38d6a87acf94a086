// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/run/changes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include "apps/lnet-pin/run/child.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/runtime/files/text_file.hpp"
#include "lib/runtime/host/cpu_claims.hpp"
#include "lib/runtime/host/start_turn.hpp"

namespace plnet::pin {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr mode_t kPrivate = 0600;
constexpr std::size_t kSettingMax = 65536;
constexpr unsigned kRemovalsMax = 100;  // of one folder
constexpr Duration kTurnPatience = std::chrono::seconds(20);
// A record may be damaged or foreign: only files below these are ever written.
constexpr std::array<std::string_view, 4> kMayChange{
    "/proc/irq/", "/sys/devices/system/cpu/", "/sys/devices/system/node/", "/sys/kernel/mm/"};
constexpr std::string_view kNamespacePrefix = "plnet-pin-";
constexpr std::string_view kFolderPrefix = "lnet-pin-";

std::string errno_text(int number) {
  return std::generic_category().message(number);
}

Error errno_error(int number, std::string what) {
  std::string text = fmt::format("{}: {}", what, errno_text(number));
  if (number == EACCES || number == EPERM)
    text += "; it takes root (CAP_SYS_ADMIN): sudo lnet-pin …";
  return {errc_of_errno(number), std::move(text)};
}

bool may_change(std::string_view path) {
  return path.find("..") == std::string_view::npos &&
         std::ranges::any_of(kMayChange, [path](auto prefix) { return path.starts_with(prefix); });
}

bool is_own_name(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && name.find('/') == std::string_view::npos;
}

bool is_own_folder(const std::string& path) {
  const fs::path at(path);
  return is_own_name(at.filename().string(), kFolderPrefix) && at.parent_path() == fs::path("/tmp");
}

std::string without_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  return text;
}

// "always [madvise] never": files with a choice list all values.
std::string chosen(const std::string& text) {
  const auto open = text.find('[');
  const auto close = text.find(']', open);
  if (open == std::string::npos || close == std::string::npos) return text;
  return text.substr(open + 1, close - open - 1);
}

// Nodes of a killed sweep end beside this process and remove their own files.
std::error_code remove_folder(const std::string& path) {
  std::error_code error;
  for (unsigned i = 0; i < kRemovalsMax; ++i) {
    fs::remove_all(path, error);
    if (error != std::errc::no_such_file_or_directory && error != std::errc::directory_not_empty)
      break;
  }
  return error;
}

// The kernel reserves as many huge pages as it can, and does not report a smaller number. A larger
// one is of pages still in use, which the kernel takes back later.
std::string missing_pages(const std::string& path, const std::string& wanted) {
  if (!path.ends_with("nr_hugepages")) return "";
  const auto text = read_setting(path);
  const auto there = whole_number<std::uint64_t>(text.value_or(""));
  if (there && *there >= whole_number<std::uint64_t>(wanted).value_or(0)) return "";
  return fmt::format(
      "{}: {} huge pages instead of {}, since the memory is fragmented; lnet-pin restore tries "
      "again",
      path, there ? std::to_string(*there) : "no", wanted);
}

Outcome<void> append(const std::string& path, const std::string& line) {
  const runtime::Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kPrivate));
  if (file.get() < 0) return std::unexpected(errno_error(errno, "cannot write " + path));
  const auto written = ::write(file.get(), line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size()) || ::fsync(file.get()) != 0)
    return std::unexpected(errno_error(errno, "cannot write " + path));
  return {};
}

bool is_pool_of_machine(const std::string& path) {
  return path.starts_with("/sys/") && path.ends_with("/nr_hugepages");
}

}  // namespace

Outcome<void> write_setting(const std::string& path, std::string_view text) {
  // A node that starts counts the free huge pages and then takes them: no page may go in between.
  std::optional<runtime::StartTurn> turn;
  if (is_pool_of_machine(path)) turn.emplace(runtime::usual_claim_directory(), kTurnPatience);
  const runtime::Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
  if (file.get() < 0) return std::unexpected(errno_error(errno, "cannot write " + path));
  if (::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
  return std::unexpected(errno_error(errno, fmt::format("cannot write '{}' to {}", text, path)));
}

Outcome<std::string> read_setting(const std::string& path) {
  const runtime::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::unexpected(errno_error(errno, "cannot read " + path));
  std::string text(kSettingMax, '\0');
  const auto got = ::read(file.get(), text.data(), text.size());
  if (got < 0) return std::unexpected(errno_error(errno, "cannot read " + path));
  text.resize(static_cast<std::size_t>(got));
  return without_end(std::move(text));
}

Outcome<std::unique_ptr<Changes>> Changes::open(const std::string& folder, std::string root) {
  std::unique_ptr<Changes> changes(new Changes(folder, std::move(root)));
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    Error wrong = errno_error(error.value(), "cannot make the state folder " + folder);
    wrong.what += "; --state names another folder";
    return std::unexpected(std::move(wrong));
  }
  const std::string path = folder + "/lock";
  changes->lock_ =
      runtime::Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kPrivate));
  if (changes->lock_.get() < 0) {
    Error wrong = errno_error(errno, "cannot use the state folder: cannot open " + path);
    wrong.what += "; --state names another folder";
    return std::unexpected(std::move(wrong));
  }
  if (::flock(changes->lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return failure(Errc::kBusy, fmt::format("another sweep runs on this machine ({})", path));
  if (auto done = changes->read(); !done) return std::unexpected(std::move(done.error()));
  return changes;
}

Outcome<void> Changes::read() {
  std::error_code error;
  const std::string path = record_path();
  if (!fs::exists(path, error)) return {};
  if (fs::file_size(path, error) > kChangesBytesMax)
    return failure(Errc::kTooBig, fmt::format("{} is too big to be a record of changes", path));
  const auto text = runtime::read_file(path);
  if (!text) return std::unexpected(text.error());
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    // An incomplete line belongs to a change that was not made.
    if (lines.eof() && !text->ends_with('\n')) break;
    const Json json = Json::parse(line, nullptr, false);
    const auto text_at = [&json](const char* key) {
      const bool there = json.is_object() && json.contains(key) && json[key].is_string();
      return there ? std::optional(json[key].get<std::string>()) : std::nullopt;
    };
    if (const auto file = text_at("file"), was = text_at("was"); file && was && may_change(*file))
      entries_.push_back({Kind::kFile, *file, *was});
    else if (const auto name = text_at("namespace"); name && is_own_name(*name, kNamespacePrefix))
      entries_.push_back({Kind::kNamespace, *name, ""});
    else if (const auto at = text_at("folder"); at && is_own_folder(*at))
      entries_.push_back({Kind::kFolder, *at, ""});
    else
      return failure(Errc::kMalformed,
                     fmt::format("{}: this line is no change of lnet-pin: {:.80}", path, line));
  }
  return {};
}

std::string Changes::line_of(const Entry& entry) {
  Json json;
  switch (entry.kind) {
    case Kind::kFile: json = {{"file", entry.name}, {"was", entry.was}}; break;
    case Kind::kNamespace: json = {{"namespace", entry.name}}; break;
    case Kind::kFolder: json = {{"folder", entry.name}}; break;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Outcome<void> Changes::add(Entry entry) {
  if (auto done = append(record_path(), line_of(entry)); !done) return done;
  entries_.push_back(std::move(entry));
  return {};
}

Outcome<void> Changes::set(const std::string& path, std::string_view text) {
  if (!may_change(path))
    return failure(Errc::kNotPermitted, fmt::format("lnet-pin may not change {}", path));
  auto was = read_setting(root_ + path);
  if (!was) return std::unexpected(std::move(was.error()));
  std::string before = chosen(*was);
  if (before == text) return {};
  const bool known = std::ranges::any_of(entries_, [&path](const Entry& entry) {
    return entry.kind == Kind::kFile && entry.name == path;
  });
  if (!known) {
    if (auto done = add({Kind::kFile, path, std::move(before)}); !done) return done;
  }
  return write_setting(root_ + path, text);
}

Outcome<void> Changes::note_namespace(const std::string& name) {
  return add({Kind::kNamespace, name, ""});
}
Outcome<void> Changes::note_folder(const std::string& path) {
  return add({Kind::kFolder, path, ""});
}

std::vector<std::string> Changes::list() const {
  std::vector<std::string> lines;
  for (const Entry& entry : entries_) {
    switch (entry.kind) {
      case Kind::kFile: lines.push_back(fmt::format("{} was '{}'", entry.name, entry.was)); break;
      case Kind::kNamespace: lines.push_back("network namespace " + entry.name); break;
      case Kind::kFolder: lines.push_back("folder " + entry.name); break;
    }
  }
  return lines;
}

std::string Changes::undo(const Entry& entry) const {
  std::error_code error;
  switch (entry.kind) {
    case Kind::kFile: {
      // an interrupt that does not exist any more
      if (!fs::exists(root_ + entry.name, error)) return "";
      const auto done = write_setting(root_ + entry.name, entry.was);
      return done ? missing_pages(root_ + entry.name, entry.was) : done.error().what;
    }
    case Kind::kNamespace: {
      if (!fs::exists("/run/netns/" + entry.name, error)) return "";
      const auto done = run_command({"ip", "netns", "delete", entry.name});
      return done ? "" : done.error().what;
    }
    case Kind::kFolder:
      error = remove_folder(entry.name);
      return error ? fmt::format("cannot remove {}: {}", entry.name, error.message()) : "";
  }
  return "";
}

template <class Wanted>
std::vector<std::string> Changes::undo_all(Wanted wanted) {
  std::vector<std::string> complaints;
  std::vector<Entry> left;
  while (!entries_.empty()) {
    Entry entry = std::move(entries_.back());
    entries_.pop_back();
    std::string complaint = wanted(entry) ? undo(entry) : "";
    if (complaint.empty() && wanted(entry)) continue;
    if (!complaint.empty()) complaints.push_back(std::move(complaint));
    left.push_back(std::move(entry));
  }
  entries_.assign(left.rbegin(), left.rend());
  if (auto done = rewrite(); !done) complaints.push_back(done.error().what);
  return complaints;
}

std::vector<std::string> Changes::restore() {
  return undo_all([](const Entry&) { return true; });
}
std::vector<std::string> Changes::restore_files() {
  return undo_all([](const Entry& entry) { return entry.kind == Kind::kFile; });
}

Outcome<void> Changes::rewrite() const {
  std::error_code error;
  if (entries_.empty()) {
    fs::remove(record_path(), error);
    return {};
  }
  std::string text;
  for (const Entry& entry : entries_)
    text += line_of(entry);
  return runtime::write_file(record_path(), text);
}

}  // namespace plnet::pin
