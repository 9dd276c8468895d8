#pragma once
// Where the tests run many times slower than they were made for, they try less.

namespace support {

/// Whether a sanitizer watches, with an allocator of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

/// Whether every step is dear: sanitized, emulated or not optimised.
#if defined(PENSTOCK_SLOW)
inline constexpr bool slow = true;
#else
inline constexpr bool slow = sanitized;
#endif

}  // namespace support
