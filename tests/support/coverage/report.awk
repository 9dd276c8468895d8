# Reads lcov's tracefile: SF:file, DA:line,count. A header has a record for each program file that includes it; a line is
# reached when it is reached in any of them.
BEGIN { FS = "[:,]" }
$1 == "SF" {
  file = $2
  sub(/^.*\/include\//, "", file)
  headers += !seen[file]++
}
$1 == "DA" {
  lines += !(($2, file) in count)
  count[$2, file] += $3
}

END {
  for (at in count) {
    split(at, part, SUBSEP)
    if (count[at] > 0) reached++
    else printf "not reached: %s:%d\n", part[2], part[1] | "sort -t: -k2,2 -k3,3n"
  }
  close("sort -t: -k2,2 -k3,3n")
  if (!lines) {
    print "no line was counted"
    exit 1
  }
  share = 100 * reached / lines
  printf "%d of %d lines of %d headers reached: %.2f %%, at least %s %% wanted\n", reached, lines, headers, share, least
  exit share < least
}
