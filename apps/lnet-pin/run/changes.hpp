// SPDX-License-Identifier: BSD-3-Clause
// Everything that a sweep changes on a machine, written down before it is changed: whatever ends
// the program, the next start or `lnet-pin restore` puts it back.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/admin/descriptor.hpp"

namespace plnet::pin {

inline constexpr const char* kChangesFolder = "/run/plnet/pin";
inline constexpr std::size_t kChangesBytesMax = std::size_t{16} << 20U;

class Changes {
 public:
  // Takes the lock of the folder, which is made if it is not there. kBusy: another sweep has it.
  // `root`: of /proc and /sys; "" but for tests.
  [[nodiscard]] static Outcome<std::unique_ptr<Changes>> open(const std::string& folder,
                                                              std::string root);

  // A file of /proc or /sys gets another text. The error names the right that is missing.
  [[nodiscard]] Outcome<void> set(const std::string& path, std::string_view text);
  // Are about to be made: a network namespace, a folder in the folder for temporary files.
  [[nodiscard]] Outcome<void> note_namespace(const std::string& name);
  [[nodiscard]] Outcome<void> note_folder(const std::string& path);

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  // One line for each change that is in force.
  [[nodiscard]] std::vector<std::string> list() const;
  // Undoes all of them, the last one first. What cannot be undone stays on record; complaints say
  // why.
  [[nodiscard]] std::vector<std::string> restore();
  // The same for files of /proc and /sys only: before the next placement.
  [[nodiscard]] std::vector<std::string> restore_files();

 private:
  enum class Kind : std::uint8_t { kFile, kNamespace, kFolder };
  struct Entry {
    Kind kind;
    std::string name;
    std::string was;  // of a file
  };

  Changes(std::string folder, std::string root)
      : folder_(std::move(folder)), root_(std::move(root)) {}
  [[nodiscard]] static std::string line_of(const Entry& entry);
  [[nodiscard]] Outcome<void> read();
  [[nodiscard]] Outcome<void> add(Entry entry);
  [[nodiscard]] Outcome<void> rewrite() const;
  [[nodiscard]] std::string undo(const Entry& entry) const;
  template <class Wanted>
  [[nodiscard]] std::vector<std::string> undo_all(Wanted wanted);
  [[nodiscard]] std::string record_path() const { return folder_ + "/changes.jsonl"; }

  std::string folder_;
  std::string root_;
  runtime::Descriptor lock_{};
  std::vector<Entry> entries_{};
};

// One write of the whole text, as files of /proc and /sys want it.
[[nodiscard]] Outcome<void> write_setting(const std::string& path, std::string_view text);
[[nodiscard]] Outcome<std::string> read_setting(const std::string& path);

}  // namespace plnet::pin
