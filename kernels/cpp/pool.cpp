#include "pool.h"

#include <chrono>

namespace {

constexpr uint64_t kCount = 0xffffffff;
// How long a helper without work stays awake: longer than the pauses inside a pass, shorter than those between
// requests.
constexpr auto kAwake = std::chrono::microseconds(200);

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Pool& Pool::instance() {
  // Never destroyed: helpers may still sleep in it when the process ends.
  static Pool* pool = new Pool;
  return *pool;
}

bool Pool::take_one() {
  uint64_t seen = open_.load(std::memory_order_acquire);
  do {
    if ((seen & kCount) == 0) return false;
  } while (!open_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel));
  loop_.call(loop_.context, static_cast<int64_t>(seen & kCount) - 1);
  unfinished_.fetch_sub(1, std::memory_order_release);
  return true;
}

void Pool::help(int64_t number) {
  auto last_work = std::chrono::steady_clock::now();
  for (int idle = 0;; ++idle) {
    if (number < wanted_.load(std::memory_order_relaxed) && take_one()) {
      last_work = std::chrono::steady_clock::now();
      idle = 0;
    } else if (idle % 64 == 63 && std::chrono::steady_clock::now() - last_work > kAwake) {
      std::unique_lock<std::mutex> lock(sleep_);
      asleep_.fetch_add(1);
      wake_.wait(lock, [&] { return (open_.load() & kCount) != 0 && number < wanted_.load(); });
      asleep_.fetch_sub(1);
      last_work = std::chrono::steady_clock::now();
    } else {
      pause();
    }
  }
}

void Pool::run(int64_t threads, int64_t chunks, Loop loop) {
  std::lock_guard<std::mutex> one_caller(callers_);
  while (static_cast<int64_t>(helpers_.size()) < threads - 1) {
    helpers_.emplace_back(&Pool::help, this, static_cast<int64_t>(helpers_.size()));
    helpers_.back().detach();
  }
  loop_ = loop;
  wanted_.store(threads - 1);
  unfinished_.store(chunks);
  open_.store(((open_.load() & ~kCount) + kCount + 1) | static_cast<uint64_t>(chunks));
  if (asleep_.load() > 0) {
    { std::lock_guard<std::mutex> lock(sleep_); }
    wake_.notify_all();
  }
  while (take_one()) {
  }
  while (unfinished_.load(std::memory_order_acquire) > 0) pause();
}
