// The terminal with libedit: the only file that uses it.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <histedit.h>
#include <sys/stat.h>

#include "cli/debug/complete.h"
#include "cli/debug/input.h"
#include "common/base/private_path.h"

namespace gpuemu::cli {
namespace {

constexpr int kHistoryLines = 1000;

class Terminal final : public LineSource {
 public:
  Terminal(std::string prompt, std::string history_file, Completer completer)
      : prompt_(std::move(prompt)),
        history_file_(std::move(history_file)),
        completer_(std::move(completer)),
        history_(history_init()),
        edit_(el_init("gpuemu", stdin, stdout, stderr)) {
    HistEvent event;
    history(history_, &event, H_SETSIZE, kHistoryLines);
    history(history_, &event, H_SETUNIQUE, 1);
    if (!history_file_.empty()) history(history_, &event, H_LOAD, history_file_.c_str());
    if (edit_ == nullptr) return;
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_PROMPT, &Terminal::prompt_of);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_HIST, history, history_);
    el_set(edit_, EL_ADDFN, "gpuemu-complete", "complete the word", &Terminal::complete_in);
    el_set(edit_, EL_BIND, "^I", "gpuemu-complete", nullptr);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(edit_, nullptr);  // Reads the user's ~/.editrc.
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() override {
    save_history();
    if (edit_ != nullptr) el_end(edit_);
    history_end(history_);
  }

  bool interactive() const override { return true; }

  std::optional<std::string> next() override {
    if (edit_ == nullptr) return std::nullopt;
    int count = 0;
    const char* typed = el_gets(edit_, &count);
    if (typed == nullptr || count < 0) {
      if (errno != EINTR) {
        std::fputs("\n", stdout);
        return std::nullopt;
      }
      // Ctrl-C discards the line.
      errno = 0;
      std::fputs("^C\n", stdout);
      el_reset(edit_);
      return std::string();
    }
    if (count == 0) {
      std::fputs("\n", stdout);
      return std::nullopt;
    }
    std::string line(typed, static_cast<size_t>(count));
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    HistEvent event;
    if (line.find_first_not_of(" \t") != std::string::npos) {
      history(history_, &event, H_ENTER, line.c_str());
    }
    return line;
  }

 private:
  static Terminal& of(EditLine* edit) {
    void* self = nullptr;
    el_get(edit, EL_CLIENTDATA, &self);
    return *static_cast<Terminal*>(self);
  }
  static char* prompt_of(EditLine* edit) { return of(edit).prompt_.data(); }
  static unsigned char complete_in(EditLine* edit, int) { return of(edit).complete(); }

  unsigned char complete() {
    const LineInfo* info = el_line(edit_);
    const std::string line(info->buffer, info->cursor);
    const std::vector<std::string> words = completer_(line);
    if (words.empty()) return CC_REFRESH_BEEP;
    const std::string typed = last_word(line);
    std::string more =
        common_begin(words).substr(std::min(typed.size(), common_begin(words).size()));
    if (words.size() == 1) more += ' ';
    if (!more.empty()) {
      el_insertstr(edit_, more.c_str());
      return CC_REFRESH;
    }
    std::fputs("\n", stdout);
    for (const std::string& word : words) std::fprintf(stdout, "%s  ", word.c_str());
    std::fputs("\n", stdout);
    return CC_REDISPLAY;
  }

  /// Writes the history; a failure only means that the next session starts without it.
  void save_history() {
    if (history_file_.empty()) return;
    const std::filesystem::path folder = std::filesystem::path(history_file_).parent_path();
    if (!make_private_folder(folder)) return;
    HistEvent event;
    const mode_t before = ::umask(0077);
    history(history_, &event, H_SAVE, history_file_.c_str());
    ::umask(before);
  }

  std::string prompt_, history_file_;
  Completer completer_;
  History* history_;
  EditLine* edit_;
};

}  // namespace

std::unique_ptr<LineSource> terminal_lines(const std::string& prompt,
                                           const std::string& history_file, Completer completer) {
  return std::make_unique<Terminal>(prompt, history_file, std::move(completer));
}

}  // namespace gpuemu::cli
