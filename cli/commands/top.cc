// `gpuemu top`: shows what devices, sessions and jobs do, and updates the display regularly.
#include <algorithm>
#include <ostream>
#include <sstream>

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/sessions.h"

namespace gpuemu::cli {
namespace {

constexpr double kIntervalMin = 0.1, kIntervalMax = 3600;
// The interval between checks for Ctrl-C.
constexpr int kLookMs = 100;

struct TopOptions {
  double interval = 1;
  bool once = false;
};

/// Reads single key presses without echo, if standard input is a terminal.
class Keys {
 public:
  Keys() : is_terminal_(::isatty(STDIN_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!is_terminal_) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  ~Keys() {
    if (is_terminal_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  /// Returns whether q was pressed within this time.
  bool quit_within(int milliseconds) const {
    pollfd wait{is_terminal_ ? STDIN_FILENO : -1, POLLIN, 0};
    if (::poll(&wait, 1, milliseconds) <= 0) return false;
    char key = 0;
    // A closed terminal ends the command too.
    return ::read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';
  }

 private:
  termios before_{};
  bool is_terminal_;
};

/// Returns the part of a line that fits, without cutting a character.
std::string cut(const std::string& line, size_t columns) {
  size_t end = 0, seen = 0;
  for (; end < line.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(line[end]) & 0xC0U) != 0x80U;
    if (begins && seen++ == columns) break;
  }
  return line.substr(0, end);
}

void draw(const std::vector<std::string>& lines, std::ostream& out) {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  const size_t rows = known ? size.ws_row : 24, columns = known ? size.ws_col : 80;
  out << "\x1b[H";
  const size_t shown = std::min(lines.size(), rows - 1);
  for (size_t i = 0; i < shown; ++i) out << cut(lines[i], columns) << "\x1b[K\n";
  const bool all = shown == lines.size();
  out << (all ? "q ends this" : "q ends this; more lines than the terminal has") << "\x1b[J"
      << std::flush;
}

bool is_over(const Keys& keys, double seconds, const Session& session) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (session.interrupted || keys.quit_within(kLookMs)) return true;
  }
  return session.interrupted;
}

void run(const TopOptions& options, Session& session) {
  const bool live = session.style && !options.once && !session.json();
  if (!live) {
    const auto reply = session.answer(TopRequest{});
    if (!reply || session.json()) return;
    for (const std::string& line : top_lines(std::get<TopReply>(*reply))) {
      session.out << line << '\n';
    }
    return;
  }
  const Keys keys;
  // Switches to the alternate screen and hides the cursor.
  const char* const screen = "\x1b[?1049h\x1b[?25l";
  const char* const back = "\x1b[?25h\x1b[?1049l";
  bool drawn = false;
  do {
    const auto reply = session.answer(TopRequest{});
    if (!reply) break;
    if (!drawn) session.out << screen;
    drawn = true;
    draw(top_lines(std::get<TopReply>(*reply)), session.out);
  } while (!is_over(keys, options.interval, session));
  if (drawn) session.out << back << std::flush;
  if (session.interrupted) session.exit_code = ExitCode::Interrupted;
}

}  // namespace

void add_top(Command app, Session& session) {
  auto options = std::make_shared<TopOptions>();
  Command command = app.command("top", "Watch devices, sessions and jobs; q ends it");
  command.option("--interval", options->interval, "Time between two looks")
      .type_name("SECONDS")
      .check(number(kIntervalMin, kIntervalMax))
      .show_default();
  command.flag("--once", options->once,
               "Print it once, as with --format json and without a terminal");
  add_format(command, session);
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
