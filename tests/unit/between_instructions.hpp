#pragma once
// Another thread's whole call between any two instructions of a call, by the processor's single step: every place where
// a thread can be overtaken, one after the other and without chance. On x86-64 under Linux; elsewhere, and where a
// sanitizer or an emulator stands between, there are no steps.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(PENSTOCK_LAUNCHED)
#define PENSTOCK_TEST_STEPS 0
#elif defined(__has_feature)
#define PENSTOCK_TEST_STEPS !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define PENSTOCK_TEST_STEPS 1
#endif

#if PENSTOCK_TEST_STEPS && defined(__x86_64__) && defined(__linux__)
#include <ucontext.h>
#include <csignal>

namespace between_instructions {

inline constexpr bool possible = true;

inline long steps_left = 0;  ///< until `other` runs; below 1 once it has
inline void (*other_call)(void*) = nullptr;
inline void* other = nullptr;

inline void on_step(int, siginfo_t*, void* context) {  // the processor does not step in here
  if (--steps_left != 0) return;
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
  other_call(other);
}

/// Runs call(), and other() in its midst, before its instruction number `at` (from 1). False when it has fewer.
template <class Call, class Other>
[[gnu::noinline]] bool run(long at, Call call, Other in_between) {
  struct sigaction action{}, before{};
  action.sa_sigaction = on_step;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, &before);
  other = &in_between;
  other_call = [](void* it) { (*static_cast<Other*>(it))(); };
  steps_left = at;
  asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
  call();
  asm volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
  sigaction(SIGTRAP, &before, nullptr);
  return steps_left <= 0;
}

}  // namespace between_instructions

#else

namespace between_instructions {

inline constexpr bool possible = false;
template <class Call, class Other>
bool run(long, Call, Other) {
  return false;
}

}  // namespace between_instructions

#endif
#undef PENSTOCK_TEST_STEPS
