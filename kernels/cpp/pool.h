// Sharing a loop among threads that may not be there.
//
// A decode step is some forty short parallel loops. OpenMP's end each with a barrier, and when another program holds
// one of the cores (a browser, the page that draws this) every barrier waits for the system to bring the missing
// thread back, some milliseconds. Here the calling thread takes chunks like all others and goes on as soon as none is
// left, so a helper that is late only helps less.
//
// Which thread computes a chunk never changes what it computes: results do not depend on the number of threads.

#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
 public:
  // A loop's body: call(context, chunk).
  struct Loop {
    void (*call)(const void* context, int64_t chunk);
    const void* context;
  };

  static Pool& instance();

  // Run chunks 0 ... chunks - 1 of the loop, each once, by this thread and up to threads - 1 helpers. One caller at a
  // time.
  void run(int64_t threads, int64_t chunks, Loop loop);

 private:
  void help(int64_t number);
  bool take_one();

  Loop loop_{};
  // Loop number in the upper half, chunks not yet taken in the lower: whoever lowers it has a chunk of that very
  // loop, and loop_ cannot change before that chunk is done.
  std::atomic<uint64_t> open_{0};
  std::atomic<int64_t> unfinished_{0};
  std::atomic<int64_t> wanted_{0};
  std::atomic<int64_t> asleep_{0};
  std::mutex callers_, sleep_;
  std::condition_variable wake_;
  std::vector<std::thread> helpers_;
};

// A loop over items [0, n) in pieces of at least `grain` items: body(first, end). Too short a loop stays on this
// thread.
template <class Body>
void parallel(int64_t threads, int64_t n, int64_t grain, const Body& body) {
  if (threads <= 1 || n <= grain) {
    if (n > 0) body(int64_t(0), n);
    return;
  }
  // A few pieces a thread, so that a slow one can be relieved.
  const int64_t piece = std::max(grain, (n + 4 * threads - 1) / (4 * threads));
  const auto chunk = [&](int64_t i) { body(i * piece, std::min(n, (i + 1) * piece)); };
  using Chunk = decltype(chunk);
  Pool::instance().run(threads, (n + piece - 1) / piece,
                       {[](const void* context, int64_t i) { (*static_cast<const Chunk*>(context))(i); }, &chunk});
}
