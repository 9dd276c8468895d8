#pragma once
// The version, in the one place where it stands: the build, the package files and the tests read it from here.
//
// For `#if` there are the macros. Without macros there is the inline namespace: `penstock::v0_1::limiter` is
// `penstock::limiter` while the interface is that of 0.1, and does not compile any more afterwards. It also keeps
// apart, at link time, two parts of one program that were built against different interfaces.

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error "Penstock needs C++20: compile with -std=c++20 or later"
#endif

#define PENSTOCK_VERSION_MAJOR 0
#define PENSTOCK_VERSION_MINOR 1
#define PENSTOCK_VERSION_PATCH 0

namespace penstock::inline v0_1 {}
