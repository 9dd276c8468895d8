# Reads lcov's tracefile: SF:file, DA:line,count, BRDA:line,block,branch,count or -, end_of_record.
BEGIN { FS = "[:,]" }
$1 == "SF" {
  file = $2
  sub(/^.*\/include\//, "", file)
  files++
}
$1 == "DA" {
  lines++
  if ($3 > 0) reached++
  else missed[file] = missed[file] " " $2
}
$1 == "BRDA" && file ~ arithmetic {
  branches++
  if ($5 != "-" && $5 > 0) taken++
  else if (!((file, $2) in told)) {
    told[file, $2] = 1
    untaken[file] = untaken[file] " " $2
  }
}
END {
  for (file in missed) print "not reached: " file ":" missed[file] | "sort"
  close("sort")
  for (file in untaken) print "branch not taken: " file ":" untaken[file] | "sort"
  close("sort")
  if (lines == 0) {
    print "no line was counted"
    exit 1
  }
  share = 100 * reached / lines
  printf "%d of %d lines of %d headers reached: %.2f %%, at least %s %% wanted\n", reached, lines, files, share, least
  if (branches) printf "%d of %d branches of the arithmetic taken: %.2f %%\n", taken, branches, 100 * taken / branches
  exit share < least
}
