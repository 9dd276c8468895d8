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
// limits), where a % b is exact; larger products are taken in limbs. A time to live is printed by '%d' (tostring would
// lose digits, '%.0f' is slow), which is a C long, so the server must be one of 64 bits.
//
// Speed. Of a call's time Redis itself takes two thirds (the three commands), and each string or table made in Lua 0.1
// us or more. So questions, answers (words.hpp) and states are packed doubles, not tables and digits; limits are gone
// through backwards, so that the first one, mostly the only one, is still in local variables at the end; and there is
// no function that each call would have to make.

#include <penstock/redis/sha1.hpp>

#include <array>
#include <string_view>

namespace penstock::inline v0_1::redis {

/// KEYS: one for each limit. ARGV: the verb (t take, p peek, c charge, r refund); for each limit a word of six numbers,
/// its kind and what the script says there; to refund, for each limit the instant of the charge, if it is not now. The
/// reply, in one word: the server's time, negative if refused, and what each limit found, in two numbers or four.
inline constexpr std::string_view script =
    R"lua(-- Penstock: one decision over one or more limits. Times are whole microseconds.
local call, format, pack, numbers, KEYS, ARGV = redis.call, string.format, struct.pack, struct.unpack, KEYS, ARGV
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local verb, limits, admitted, most = ARGV[1], #KEYS, true, 9007199254740992 -- 2^53: below it every whole number is exact
-- What a limit found (two numbers, or four), and what is to become of its key: `value` until `us` from now; nil: nothing;
-- false: the key goes. Of a log: forget the oldest logs[key][1], then append logs[key][2] times the value. `back`: it saw
-- the clock set back.
local x, y, z, w, key, value, us, back, logs
-- Those of the limits after the first: `found` told, `writes` to do, three words each. One limit needs neither.
local found, writes, kept, set_back = '', nil, 0, nil

for i = limits, 1, -1 do
  if i < limits then
    found = (z and pack('<dddd', x, y, z, w) or pack('<dd', x, y)) .. found
    if value ~= nil then
      writes = writes or {nil, nil, nil, nil, nil, nil} -- room for two
      writes[kept + 1], writes[kept + 2], writes[kept + 3] = key, value, us
      kept = kept + 3
    end
    value, z, back = nil, nil, false
  end
  key, x, y = KEYS[i], 0, 0
  local at = verb == 'r' and (ARGV[limits + 1 + i] or now) + 0
  local kind, a, b, c, d, den = numbers('<dddddd', ARGV[i + 1])

  if kind < 3 then
    -- 1: bucket, meter; 2: queue. u, n, promised: all has drained at u + n/den; a queue's last promise was made at promised.
    -- A u of this age alone is kept in its 16 digits, which Redis keeps as an integer: a third less memory. Told: the cost
    -- and the full size, as times, and what these have over whole ones, in den-ths.
    local cu, fu, cn, fn = a, b, c, d
    local state, u, n, promised = call('GET', key), 0, 0, 0
    if state then
      if #state == 24 then
        u, n, promised = numbers('<ddd', state)
        if not (u >= 0 and u < most and n >= 0 and n < most and promised >= 0 and promised < most
          and u % 1 + n % 1 + promised % 1 == 0) then error('BADSTATE ' .. key) end
        if n >= den then u, n = u + 1, 0 end -- another configuration's denominator: to the strict side
      else
        u = #state == 16 and tonumber(state) or 0 -- 16 characters of which Lua makes a time of this age
        if not (u >= 1e15 and u < most and u % 1 == 0) then error('BADSTATE ' .. key) end
      end
    end
    local wu, wn, made -- to be written
    if verb == 'r' then
      if (kind == 1 or promised == at) and (u > at or (u == at and n > 0)) then
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
        if u > bu or (u == bu and n > bn) then u, n, back = now + fu, fn, true end -- the clock was set back: as fully used now
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
          admitted, wu = false, nil
          if back then wu, wn, made = u, n, 0 end
        end
      end
      x, y = u, n
    end
    if wu then
      value = kind == 1 and wn == 0 and wu >= 1e15 and format('%d', wu) or pack('<ddd', wu, wn, made)
      us = wn > 0 and wu - now + 1 or wu - now
    end

  elseif kind == 3 then
    -- Fixed window. End, count. Told: the cost, the limit, the width, aligned (0 or 1).
    local cost, limit, width = a, b, c
    local state, over, count, changed = call('GET', key), 0, 0, false
    if state then
      if #state == 16 then over, count = numbers('<dd', state) else over = -1 end
      if not (over >= 0 and count >= 0 and over + count < most and over % 1 + count % 1 == 0) then error('BADSTATE ' .. key) end
    end
    if verb == 'r' then
      if count > 0 and at < over and at >= over - width then
        count = count - math.min(count, cost)
        if count == 0 then value = false else changed = true end
      end
    else
      if count == 0 or now >= over then
        over, count = d == 1 and now - now % width + width or now + width, 0
      elseif over - now > width + (width > 60000000 and width or 60000000) then
        over, count, back = d == 1 and now - now % width + width or now + width, limit, true
      end
      x, y = over, count
      if cost > 0 then
        if verb == 'c' then
          count, changed = count + math.min(cost, 2 * limit - math.min(2 * limit, count)), true
        elseif count + cost <= limit then
          count, changed = count + cost, true
        else
          admitted, changed = false, back
        end
      end
    end
    if changed then
      -- Aligned windows end together; their keys need not: up to a tenth longer, by the time of writing.
      value, us = pack('<dd', over, count), over - now + (width - width % 10000) / 10000 * (now % 1000)
    end

  elseif kind == 4 then
    -- Sliding counter. End, previous, current. Told: the cost, the limit, the width.
    local cost, limit, width = a, b, c
    local state, over, previous, current, changed = call('GET', key), 0, 0, 0, false
    if state then
      if #state == 24 then over, previous, current = numbers('<ddd', state) else over = -1 end
      if not (over >= 0 and previous >= 0 and current >= 0 and over + previous + current < most
        and over % 1 + previous % 1 + current % 1 == 0) then error('BADSTATE ' .. key) end
    end
    if verb == 'r' then
      if at < over and at >= over - 2 * width then
        if at >= over - width then current = current - math.min(current, cost) else previous = previous - math.min(previous, cost) end
        if previous + current == 0 then value = false else changed = true end
      end
    else
      if now >= over or previous + current == 0 or over - now > width + (width > 60000000 and width or 60000000) then
        local moved = now - now % width + width
        back = now < over and previous + current > 0
        previous, current = not back and moved - over <= width and current or 0, back and limit or 0
        over = moved
      end
      x, y, z, w = over, previous, current, 0
      if cost > 0 then
        local fits = current + cost <= limit
        if verb == 'c' then
          cost, fits = math.min(cost, 2 * limit - math.min(2 * limit, current)), true
        elseif fits and previous > 0 then
          -- previous * left < room * width, exactly: both first factors below 2^31, the others in limbs of 20 bits.
          local left, room = math.min(over - now, width), limit - (current + cost - 1)
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
        if fits then current, changed = current + cost, true else admitted, changed = false, back end
      end
    end
    if changed then
      value, us = pack('<ddd', over, previous, current), over - now + (current > 0 and width or 0)
    end

  else
    -- Sliding log. A list of instants, one for each unit, oldest first. Told: the cost, the limit, the width.
    local cost, limit, width = a, b, c
    if verb == 'r' then
      value, logs = pack('<d', at), logs or {}
      logs[key] = {-1, cost}
    else
      local function entry(k) -- from 0
        local held = call('LINDEX', key, k)
        local t = #held == 8 and numbers('<d', held) or -1
        return t >= 0 and t < most and t % 1 == 0 and t or error('BADSTATE ' .. key)
      end
      local length, expired, t, oldest, newest, add = call('LLEN', key), 0, now, now, now, 0
      local used = length
      if length > 0 then
        oldest, newest = entry(0), entry(-1)
        if newest - now > math.max(width, 60000000) then
          back, used, oldest, newest = true, limit, now, now
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
      local next_rank, rank = math.max(used + 1 - limit, 1), math.max(used + math.max(math.min(cost, limit), 1) - limit, 1)
      x, w = used, newest
      y = (next_rank == 1 or back) and oldest or entry(expired + next_rank - 1)
      z = (rank == next_rank or back) and y or entry(expired + rank - 1)
      if cost > 0 then
        if verb == 'c' then
          add = math.min(cost, 2 * limit - math.min(2 * limit, used))
        elseif used + cost <= limit then
          add = cost
        else
          admitted = false
        end
        if back then expired, add = length, limit + add end
        if add > 0 then
          value, us, logs = pack('<d', t), t + width - now, logs or {}
          logs[key] = {expired, add}
        end
      end
    end
  end

  if back then
    set_back = set_back or {}
    set_back[key] = true
  end
end

-- All admit: all is written. One refuses: only what saw the clock set back, anchored anew.
while verb ~= 'p' do
  if value ~= nil and (admitted or (set_back and set_back[key])) then
    local log = logs and logs[key]
    if log and log[1] < 0 then
      call('LREM', key, -log[2], value)
    elseif value then
      -- In ms, rounded up; one more, because the server cuts its clock to ms when it dates an expiry.
      local ms = (us + 1999 - (us + 999) % 1000) / 1000
      ms = format('%d', ms < 1 and 1 or ms)
      if not log then
        call('PSETEX', key, ms, value)
      else
        local drop, add = log[1], log[2]
        if drop > 0 then call('LTRIM', key, drop, -1) end
        local some = {}
        for k = 1, math.min(add, 1000) do some[k] = value end
        while add > 0 do
          call('RPUSH', key, unpack(some, 1, math.min(add, 1000)))
          add = add - 1000
        end
        call('PEXPIRE', key, ms)
      end
    else
      call('DEL', key)
    end
  end
  if kept == 0 then break end
  key, value, us = writes[kept - 2], writes[kept - 1], writes[kept]
  kept = kept - 3
end
if not admitted then now = -now end
return (z and pack('<ddddd', now, x, y, z, w) or pack('<ddd', now, x, y)) .. found
)lua";

inline constexpr std::array<char, 40> script_digest = sha1_hex(script);
/// What EVALSHA calls it by.
inline constexpr std::string_view script_sha1{script_digest.data(), script_digest.size()};

}  // namespace penstock::inline v0_1::redis
