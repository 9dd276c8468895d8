#pragma once
// The one script: every algorithm, any stack of limits, one round trip, all or nothing.
//
// It runs in two phases. The first reads the server's clock once, computes every limit, and touches nothing; a state
// that it cannot read stops it there. Only if every limit admits does the second write, each value together with its
// expiry. So a refusal writes nothing (it is not replicated and renews no TTL); the one exception is law 6: a limit
// whose state lies further ahead than any debt and any lag can take it saw the clock set back, and is re-anchored.
//
// It answers with what it found, not with what follows from it: the client describes that state with the arithmetic
// that it uses in process (encoding.hpp), so remaining and retry_after have one source.
//
// Numbers. Lua has doubles: all times and counts stay below 2^53 (microseconds do until 2255; the client refuses larger
// limits), where a % b is exact; larger products are taken in limbs. tostring would lose digits, and '%.0f' is slow: a
// time is printed in two parts, '%d%09d', each of which fits the 32 bits that %d has at least.

#include <penstock/redis/sha1.hpp>

#include <array>
#include <string_view>

namespace penstock::inline v0_1::redis {

/// KEYS: one for each limit. ARGV: the verb (t take, p peek, c charge, r refund), the instant of the charge to refund
/// (0: now), and for each limit its kind, the cost, and its numbers. The reply: admitted (0 or 1), the server's time, and for each
/// limit the state found.
inline constexpr std::string_view script = R"lua(-- Penstock: one decision over one or more limits. Times are whole microseconds.
local call, match, format = redis.call, string.match, string.format
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local verb, at, limits = ARGV[1], now, #KEYS
if verb == 'r' and ARGV[2] ~= '0' then at = ARGV[2] + 0 end
local reply, r, admitted, a = {1, now, 0, 0}, 2, true, 3 -- every limit tells two numbers at least
local writes -- of all limits but the last, whose write stays in the variables below: most calls need no table
-- `value` until `us` from now; false: the key goes. A log: forget the `drop` oldest, append `add` times the value.
local key, value, us, drop, add, set_back

for i = 1, limits do
  local kind = ARGV[a]
  key, value, us, drop, add, set_back = KEYS[i], nil, nil, nil, nil, false

  if kind == 'b' or kind == 'q' or kind == 'B' or kind == 'Q' then
    -- Bucket, meter, queue. 'u', 'u n', a queue 'u n promised': all has drained at u + n/den; the last promise was made
    -- at promised. ARGV: the cost and the full size, as times; where they are not whole, their numerators and den.
    local cu, fu, cn, fn, den = ARGV[a + 1] + 0, ARGV[a + 2] + 0, 0, 0, 1
    a = a + 3
    if kind == 'B' or kind == 'Q' then
      cn, fn, den = ARGV[a] + 0, ARGV[a + 1] + 0, ARGV[a + 2] + 0
      a = a + 3
    end
    local state, u, n, promised = call('GET', key), 0, 0, nil
    if state then
      u = match(state, '^%d+$')
      if not u then
        u, n, promised = match(state, '^(%d+) (%d+) ?(%d*)$')
        if not u then error('BADSTATE ' .. key) end
        n, promised = n + 0, promised ~= '' and promised + 0
      end
      u = u + 0
      if n >= den then u, n = u + 1, 0 end -- another configuration's denominator: to the strict side
    end
    local wu, wn, made -- to be written
    if verb == 'r' then
      if (kind == 'b' or kind == 'B' or promised == at) and (u > at or (u == at and n > 0)) then
        wu, wn, made = u - cu, n - cn, 0
        if wn < 0 then wu, wn = wu - 1, wn + den end
        if wu < at or (wu == at and wn == 0) then wu, value = nil, false end
      end
    else
      if u < now then
        u, n = now, 0
      elseif u > now + 2 * fu + 60000000 then -- further than any debt, and perhaps than any lag
        local bu, bn = now + 2 * fu + 60000000, 2 * fn
        if fu >= 60000000 then bu, bn = now + 3 * fu, 3 * fn end
        bu, bn = bu + (bn - bn % den) / den, bn % den
        if u > bu or (u == bu and n > bn) then u, n, set_back = now + fu, fn, true end -- the clock was set back: as fully used now
      end
      if cu > 0 or cn > 0 then
        wu, wn, made = u + cu, n + cn, now
        if wn >= den then wu, wn = wu + 1, wn - den end
        if verb == 'c' then -- whether or not it fits; the debt is at most the full size
          local mu, mn = now + 2 * fu, 2 * fn
          if mn >= den then mu, mn = mu + 1, mn - den end
          if u > mu or (u == mu and n > mn) then mu, mn = u, n end
          if wu > mu or (wu == mu and wn > mn) then wu, wn = mu, mn end
          if wu == u and wn == n then wu = nil end
        elseif wu > now + fu or (wu == now + fu and wn > fn) then
          admitted = false
          wu, wn, made = set_back and u or nil, n, 0
        end
      end
      reply[r + 1], reply[r + 2] = u, n
      r = r + 2
    end
    if wu then
      us = wu - now
      if kind == 'q' or kind == 'Q' then
        value = format('%d%09d %d %d%09d', (wu - wu % 1e9) / 1e9, wu % 1e9, wn, (made - made % 1e9) / 1e9, made % 1e9)
      elseif wn == 0 then
        value = format('%d%09d', (wu - wu % 1e9) / 1e9, wu % 1e9)
      else
        value = format('%d%09d %d', (wu - wu % 1e9) / 1e9, wu % 1e9, wn)
      end
      if wn > 0 then us = us + 1 end
    end

  elseif kind == 'w' then
    -- Fixed window. 'end count'. ARGV: the cost, the limit, the width, aligned (0 or 1).
    local c, limit, width, aligned = ARGV[a + 1] + 0, ARGV[a + 2] + 0, ARGV[a + 3] + 0, ARGV[a + 4] == '1'
    a = a + 5
    local state, over, count, changed = call('GET', key), 0, 0, false
    if state then
      over, count = match(state, '^(%d+) (%d+)$')
      if not over then error('BADSTATE ' .. key) end
      over, count = over + 0, count + 0
    end
    if verb == 'r' then
      if count > 0 and at < over and at >= over - width then
        count = count - math.min(count, c)
        if count == 0 then value = false else changed = true end
      end
    else
      if count == 0 or now >= over then
        over, count = aligned and now - now % width + width or now + width, 0
      elseif over - now > width + math.max(width, 60000000) then
        over, count, set_back = aligned and now - now % width + width or now + width, limit, true
      end
      reply[r + 1], reply[r + 2] = over, count
      r = r + 2
      if c > 0 then
        if verb == 'c' then
          count, changed = count + math.min(c, 2 * limit - math.min(2 * limit, count)), true
        elseif c <= limit and count <= limit - c then
          count, changed = count + c, true
        else
          admitted, changed = false, set_back
        end
      end
    end
    -- Aligned windows end together; their keys need not: up to a tenth longer, by the time of writing.
    if changed then value, us = format('%d%09d %d', (over - over % 1e9) / 1e9, over % 1e9, count), over - now + (width - width % 10000) / 10000 * (now % 1000) end

  elseif kind == 'c' then
    -- Sliding counter. 'end previous current'. ARGV: the cost, the limit, the width.
    local c, limit, width = ARGV[a + 1] + 0, ARGV[a + 2] + 0, ARGV[a + 3] + 0
    a = a + 4
    local state, over, previous, current, changed = call('GET', key), 0, 0, 0, false
    if state then
      over, previous, current = match(state, '^(%d+) (%d+) (%d+)$')
      if not over then error('BADSTATE ' .. key) end
      over, previous, current = over + 0, previous + 0, current + 0
    end
    if verb == 'r' then
      if at < over and at >= over - 2 * width then
        if at >= over - width then current = current - math.min(current, c) else previous = previous - math.min(previous, c) end
        if previous + current == 0 then value = false else changed = true end
      end
    else
      if now >= over or over - now > width + math.max(width, 60000000) or previous + current == 0 then
        local moved = now - now % width + width
        set_back = now < over and previous + current > 0
        previous, current = not set_back and moved - over <= width and current or 0, set_back and limit or 0
        over = moved
      end
      reply[r + 1], reply[r + 2], reply[r + 3] = over, previous, current
      r = r + 3
      if c > 0 then
        local fits = c <= limit and current + c <= limit
        if verb == 'c' then
          c, fits = math.min(c, 2 * limit - math.min(2 * limit, current)), true
        elseif fits and previous > 0 then
          -- previous * left < room * width, exactly: both first factors below 2^31, the others in limbs of 20 bits.
          local left, room = math.min(over - now, width), limit - (current + c - 1)
          local l0, w0 = left % 1048576, width % 1048576
          local l1, w1 = (left - l0) / 1048576, (width - w0) / 1048576
          local low, high = previous * l0, room * w0
          local low_0, high_0 = low % 1048576, high % 1048576
          local lm, wm = l1 % 1048576, w1 % 1048576
          low, high = previous * lm + (low - low_0) / 1048576, room * wm + (high - high_0) / 1048576
          local low_1, high_1 = low % 1048576, high % 1048576
          low, high = previous * ((l1 - lm) / 1048576) + (low - low_1) / 1048576, room * ((w1 - wm) / 1048576) + (high - high_1) / 1048576
          fits = low < high or (low == high and (low_1 < high_1 or (low_1 == high_1 and low_0 < high_0)))
        end
        if fits then current, changed = current + c, true else admitted, changed = false, set_back end
      end
    end
    if changed then value = format('%d%09d %d %d', (over - over % 1e9) / 1e9, over % 1e9, previous, current) end
    us = over - now + (current > 0 and width or 0)

  else
    -- Sliding log. A list of instants, one for each unit, oldest first. ARGV: the cost, the limit, the width.
    local c, limit, width = ARGV[a + 1] + 0, ARGV[a + 2] + 0, ARGV[a + 3] + 0
    a = a + 4
    if verb == 'r' then
      value, drop, add = format('%d%09d', (at - at % 1e9) / 1e9, at % 1e9), -1, c
    else
      local function entry(k) return (match(call('LINDEX', key, k), '^%d+$') or error('BADSTATE ' .. key)) + 0 end -- from 0
      local length, expired, t, oldest, newest = call('LLEN', key), 0, now, now, now
      local used = length
      if length > 0 then
        oldest, newest = entry(0), entry(-1)
        if newest - now > math.max(width, 60000000) then
          set_back, used, oldest, newest = true, limit, now, now
        else
          t = math.max(now, newest)
          if oldest <= t - width then -- gallop, then halve: the first `expired` entries have expired
            local low, step = 0, 1
            while low + step < length and entry(low + step) <= t - width do low, step = low + step, step * 2 end
            expired = math.min(low + step, length)
            while expired - low > 1 do
              local middle = low + (expired - low - (expired - low) % 2) / 2
              if entry(middle) <= t - width then low = middle else expired = middle end
            end
            used, oldest = length - expired, expired < length and entry(expired) or now
          end
        end
      end
      -- Enough to say when: the instants of the unit that goes next, of the one with whose going the cost fits, of the last.
      local next_rank, rank = math.max(used + 1 - limit, 1), math.max(used + math.max(math.min(c, limit), 1) - limit, 1)
      local next_goes = (next_rank == 1 or set_back) and oldest or entry(expired + next_rank - 1)
      reply[r + 1], reply[r + 2], reply[r + 4] = used, next_goes, newest
      reply[r + 3] = (rank == next_rank or set_back) and next_goes or entry(expired + rank - 1)
      r = r + 4
      if c > 0 then
        if verb == 'c' then
          add = math.min(c, 2 * limit - math.min(2 * limit, used))
        elseif c <= limit and used <= limit - c then
          add = c
        else
          admitted = false
        end
        if set_back then expired, add = length, limit + (add or 0) end
        if add and add > 0 then value, us, drop = format('%d%09d', (t - t % 1e9) / 1e9, t % 1e9), t + width - now, expired end
      end
    end
  end

  if i < limits and value ~= nil then
    writes = writes or {}
    writes[#writes + 1] = {key, value, us, drop, add, set_back}
  end
end

-- All admit: all is written, the last first. One refuses: only what saw the clock set back, anchored anew.
if not admitted then reply[1] = 0 end
if verb == 'p' then return reply end
for i = writes and #writes or 0, 0, -1 do
  if value ~= nil and (admitted or set_back) then
    -- In ms, rounded up; one more, because the server cuts its clock to ms when it dates an expiry.
    local ms = us and (us + 999 - (us + 999) % 1000) / 1000 + 1
    ms = ms and format(ms < 2e9 and '%d' or '%.0f', ms < 1 and 1 or ms)
    if not drop then
      if value then call('SET', key, value, 'PX', ms) else call('DEL', key) end
    elseif drop < 0 then
      call('LREM', key, -add, value)
    else
      if drop > 0 then call('LTRIM', key, drop, -1) end
      local some = {}
      for k = 1, math.min(add, 1000) do some[k] = value end
      while add > 0 do
        call('RPUSH', key, unpack(some, 1, math.min(add, 1000)))
        add = add - 1000
      end
      call('PEXPIRE', key, ms)
    end
  end
  if i > 0 then key, value, us, drop, add, set_back = unpack(writes[i], 1, 6) end
end
return reply
)lua";

inline constexpr std::array<char, 40> script_digest = sha1_hex(script);
/// What EVALSHA calls it by.
inline constexpr std::string_view script_sha1{script_digest.data(), script_digest.size()};

}  // namespace penstock::inline v0_1::redis
