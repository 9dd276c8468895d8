#pragma once
// Limits shared by many instances, with the state in Redis. The transport over hiredis is penstock/redis/hiredis.hpp;
// any other client library can be one (redis/transport.hpp).

#include <penstock/redis/cluster.hpp>
#include <penstock/redis/limiter.hpp>
#include <penstock/redis/limiters.hpp>
#include <penstock/redis/sequential.hpp>
#include <penstock/redis/stack.hpp>
