#pragma once
// Penstock: exact, bounded, fast rate limiting. The whole library but its edges (penstock/http.hpp and others).

#include <penstock/clock/coarse_clock.hpp>
#include <penstock/clock/manual_clock.hpp>
#include <penstock/clock/tsc_clock.hpp>
#include <penstock/lease.hpp>
#include <penstock/limiters.hpp>
#include <penstock/observe.hpp>
#include <penstock/stack.hpp>
#include <penstock/store/leased_cell.hpp>
#include <penstock/store/unsynchronized.hpp>
#include <penstock/tiered.hpp>
#include <penstock/version.hpp>
#include <penstock/wait.hpp>
