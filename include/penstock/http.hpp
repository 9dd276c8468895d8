#pragma once
// The HTTP edge: decisions as header fields and answers, and the address of the client. It renders and parses; it opens
// no connection, and belongs to no framework.

#include <penstock/http/address.hpp>
#include <penstock/http/address_key.hpp>
#include <penstock/http/blanks.hpp>
#include <penstock/http/caller.hpp>
#include <penstock/http/cors.hpp>
#include <penstock/http/date.hpp>
#include <penstock/http/field.hpp>
#include <penstock/http/layers.hpp>
#include <penstock/http/node.hpp>
#include <penstock/http/policy.hpp>
#include <penstock/http/problem.hpp>
#include <penstock/http/rate_limit.hpp>
#include <penstock/http/refusal.hpp>
#include <penstock/http/retry_after.hpp>
#include <penstock/http/structured.hpp>
#include <penstock/http/text_writer.hpp>
