#include "bindings/libcuda/host_pages.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/base/processors.h"
#include "runtime/emulator/memory/fence.h"

namespace gpuemu::libcuda {
namespace {

HostPages* the_pages = nullptr;
struct sigaction before{};
thread_local int calls = 0;
thread_local bool is_program = false;

bool protect(const UsedPages& pages, int how) {
  return ::mprotect(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin, how) == 0;
}

/// Ends the process: the access would fail again and again. Allocates nothing and takes no lock,
/// because the access may have happened anywhere.
[[noreturn]] void end_without(const char* memory) {
  char text[400];
  const int bytes = std::snprintf(
      text, sizeof text,
      "gpuemu: the system does not give %s back (mprotect: %s): the process has as much data as it "
      "may have (RLIMIT_DATA) or as many mappings (vm.max_map_count); raise `ulimit -d` or that "
      "setting, or let the program hold less memory\n",
      memory, std::strerror(errno));
  if (bytes > 0 && ::write(STDERR_FILENO, text, static_cast<size_t>(bytes)) < 0) std::abort();
  std::abort();
}

bool is_device_thread() {
  char name[16] = "";  // The longest name of a thread.
  return ::prctl(PR_GET_NAME, name) == 0 && std::strcmp(name, kDeviceThread) == 0;
}

/// Returns true if this thread executes code of the program.
bool is_of_program() { return calls == 0 && (is_program || !is_device_thread()); }

/// Calls the previous handler of the signal.
void pass_on(int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    return before.sa_handler(signal);
  }
  ::sigaction(signal, &before, nullptr);  // The access is repeated, and ends the process.
}

bool is_write(const void* context) {
#ifdef __x86_64__
  constexpr greg_t kWrite = 2;  // A bit of the error code of a page fault.
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrite) != 0;
#else
  return context == nullptr;
#endif
}

}  // namespace

void HostPages::start(Accessed accessed, std::function<bool(uint64_t)> is_usable,
                      Accessed refused) {
  accessed_ = std::move(accessed);
  is_usable_ = std::move(is_usable);
  refused_ = std::move(refused);
  the_pages = this;
  emulator::Fence& fence = emulator::Fence::instance();
  fence.on_close([] { install(); });
  fence.start();
}

void HostPages::on_fault(int signal, void* info, void* context) {
  const int error = errno;
  auto* const what = static_cast<siginfo_t*>(info);
  // SEGV_ACCERR: the page exists and is protected.
  const bool may_be_ours = what->si_code == SEGV_ACCERR && the_pages != nullptr;
  const auto address = reinterpret_cast<uint64_t>(what->si_addr);
  const bool is_done = may_be_ours && (emulator::Fence::instance().holds(address)
                                           ? the_pages->open_for(address, is_write(context))
                                           : the_pages->give_back_for(address, is_write(context)));
  errno = error;
  if (!is_done) pass_on(signal, what, context);
}

/// Installs the handler again if the program has set its own since the last time.
void HostPages::install() {
  struct sigaction now{};
  ::sigaction(SIGSEGV, nullptr, &now);
  const auto ours = [](int signal, siginfo_t* info, void* context) {
    on_fault(signal, info, context);
  };
  void (*const handler)(int, siginfo_t*, void*) = ours;
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handler) return;
  before = now;
  struct sigaction made{};
  made.sa_sigaction = handler;
  made.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&made.sa_mask);
  ::sigaction(SIGSEGV, &made, nullptr);
}

void HostPages::take(const std::vector<UsedPages>& pages) {
  if (pages.empty()) return;
  const std::lock_guard lock(mutex_);
  install();
  for (const UsedPages& one : pages) {
    taken_.push_back(one);
    protect(one, one.were_written ? PROT_NONE : PROT_READ);
  }
  has_any_ = true;
}

void HostPages::give_back() {
  const std::lock_guard lock(mutex_);
  for (const UsedPages& one : taken_) protect(one, PROT_READ | PROT_WRITE);
  taken_.clear();
  has_any_ = false;
}

bool HostPages::give_back_for(uint64_t address, bool writes) {
  {
    const std::lock_guard lock(mutex_);
    const auto holds = [&](const UsedPages& one) {
      return address >= one.begin && address < one.end;
    };
    const bool is_taken = std::ranges::any_of(taken_, holds);
    // Another thread may have restored the page since the access failed.
    if (!is_taken && !is_usable_(address)) return false;
    const uint64_t size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const uint64_t page = address / size * size;
    std::vector<UsedPages> parts;
    for (const UsedPages& one : taken_) {
      if (!holds(one)) continue;
      if (one.begin < page) parts.push_back({one.begin, page, one.were_written});
      if (page + size < one.end) parts.push_back({page + size, one.end, one.were_written});
    }
    std::erase_if(taken_, holds);
    taken_.insert(taken_.end(), parts.begin(), parts.end());
    const bool is_back = protect({page, page + size}, PROT_READ | PROT_WRITE);
    if (!is_back) end_without("a page of the program");
    if (!is_taken) return true;
  }
  if (is_of_program()) accessed_(address, writes);
  return true;
}

/// Allows an access of the driver itself to memory of a device outside the device's work.
bool HostPages::open_for(uint64_t address, bool writes) {
  if (is_of_program()) return refused_(address, writes), false;
  if (!emulator::Fence::instance().open()) end_without("the device's memory");
  return true;
}

InDriver::InDriver(HostPages& pages) {
  if (calls++ == 0 && pages.has_any()) pages.give_back();
}
InDriver::~InDriver() { --calls; }
bool InDriver::is_outermost() { return calls == 1; }

AsProgram::AsProgram() { is_program = true; }
AsProgram::~AsProgram() { is_program = false; }

}  // namespace gpuemu::libcuda
