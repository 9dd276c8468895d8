#pragma once
// Catch2 of whichever major version is installed: 3.x, or the 2.13 of Debian 12.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
