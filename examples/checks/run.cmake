# Runs an example and checks its exit status and its words: see penstock_example_run in ../CMakeLists.txt.

set(input)
if(INPUT)
  set(input INPUT_FILE "${INPUT}")
endif()
execute_process(COMMAND "${PROGRAM}" ${ARGS} ${input} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")

if(NOT status EQUAL EXIT)
  message(FATAL_ERROR "exit status ${status}, expected ${EXIT}")
endif()

# From where the last expression matched, the next must match.
set(rest "${output}")
foreach(expression IN LISTS PRINTS)
  if(NOT rest MATCHES "${expression}")
    message(FATAL_ERROR "not printed, or not in its place: ${expression}")
  endif()
  string(FIND "${rest}" "${CMAKE_MATCH_0}" start)
  string(LENGTH "${CMAKE_MATCH_0}" length)
  math(EXPR end "${start} + ${length}")
  string(SUBSTRING "${rest}" ${end} -1 rest)
endforeach()
