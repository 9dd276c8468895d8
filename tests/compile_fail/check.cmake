# cmake -D CASE=file.cpp -D COMPILER=... -D FLAGS=... -P check.cmake: see CMakeLists.txt.

set(ENV{LC_ALL} C)  # the expected words are English
cmake_path(GET CASE FILENAME name)

file(STRINGS "${CASE}" expectations REGEX "^// expect: ")
if(NOT expectations)
  message(FATAL_ERROR "${name} has no line `// expect: REGEX`")
endif()

function(compile result output)
  execute_process(COMMAND "${COMPILER}" ${FLAGS} -Werror=unused-result -fsyntax-only ${ARGN} "${CASE}"
    RESULT_VARIABLE status OUTPUT_VARIABLE words ERROR_VARIABLE words)
  set(${result} "${status}" PARENT_SCOPE)
  set(${output} "${words}" PARENT_SCOPE)
endfunction()

compile(status output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${name} does not compile even when right:\n${output}")
endif()

compile(status output -DPENSTOCK_WRONG)
if(status EQUAL 0)
  message(FATAL_ERROR "${name} compiles although it is wrong")
endif()
foreach(expectation IN LISTS expectations)
  string(REPLACE "// expect: " "" expectation "${expectation}")
  if(NOT output MATCHES "${expectation}")
    message(FATAL_ERROR "${name} is refused, but not in the words `${expectation}`:\n${output}")
  endif()
endforeach()

# A reader must find his own line, and find it soon.
if(NOT output MATCHES "${name}:[0-9]+:")
  message(FATAL_ERROR "${name} is refused, but no line of it is named:\n${output}")
endif()
string(REGEX MATCHALL "error: " errors "${output}")
list(LENGTH errors count)
if(NOT count LESS 20)
  message(FATAL_ERROR "${name} is refused with ${count} errors; at most 19 are bearable:\n${output}")
endif()
message(STATUS "${name} is refused as it should be, with ${count} error(s):\n${output}")
