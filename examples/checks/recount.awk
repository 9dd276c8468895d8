# Counts what each algorithm admits from a log, by its definition and in whole seconds: the six numbers that
# 02_access_log must print. -v units=10 -v period=60; the period must be a multiple of the units. The log must be
# well-formed, in UTC and in the order of its times.

BEGIN {
  split("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", name, " ")
  for (i in name) month[name[i]] = i
  interval = period / units
}

# Days since 1970-01-01 of a date, with the year taken to begin in March.
function days(y, m, d) {
  if (m <= 2) { y -= 1; m += 12 }
  return 365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * (m - 3) + 2) / 5) + d - 719469
}

{
  split(substr($4, 2), part, /[\/:]/)
  t = days(part[3], month[part[2]], part[1]) * 86400 + part[4] * 3600 + part[5] * 60 + part[6]
  client = $1
  next_end = (int(t / period) + 1) * period

  # Fixed window: a count until the window ends.
  if (!(client in window_end) || t >= window_end[client]) { window_end[client] = next_end; in_window[client] = 0 }
  if (in_window[client] < units) { ++in_window[client]; ++admitted["fixed_window"] }

  # Sliding log: the admitted instants less than a period old.
  used = 0
  for (i = logged[client]; i > 0 && instant[client, i] > t - period; --i) ++used
  if (used < units) { instant[client, ++logged[client]] = t; ++admitted["sliding_log"] }

  # Sliding counter: the previous count, weighted by how much of it is still less than a period old.
  if (!(client in current_end)) current_end[client] = next_end
  if (t >= current_end[client]) {
    previous[client] = next_end - current_end[client] == period ? current[client] : 0
    current[client] = 0
    current_end[client] = next_end
  }
  left = current_end[client] - t
  if (previous[client] * left + current[client] * period < units * period && current[client] < units) {
    ++current[client]
    ++admitted["sliding_counter"]
  }

  # Bucket, meter and queue: the instant at which all that was admitted has drained, at most a period ahead.
  drained = t > arrival[client] ? t : arrival[client]
  if (drained + interval - t <= period) { arrival[client] = drained + interval; ++admitted["token_bucket"] }
}

END {
  admitted["leaky_meter"] = admitted["leaky_queue"] = admitted["token_bucket"]
  split("fixed_window sliding_log sliding_counter token_bucket leaky_meter leaky_queue", order, " ")
  for (i = 1; i <= 6; ++i) print order[i], admitted[order[i]] + 0, NR - admitted[order[i]]
}
