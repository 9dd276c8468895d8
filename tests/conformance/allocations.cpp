// This program counts what it takes from operator new, too.

#include "unit/allocations.cpp"
