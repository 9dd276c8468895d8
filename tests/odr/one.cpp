// One half of a program of two translation units that share a limiter; main is in other.cpp.

#include <penstock/penstock.hpp>

#include <string>
#include <string_view>

bool ask_here(penstock::token_bucket<std::string>& limiter, std::string_view who) { return bool(limiter.allow(who)); }
