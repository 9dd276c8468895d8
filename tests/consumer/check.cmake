# One step of the package's tests: cmake -D STEP=... -P check.cmake, with the variables that CMakeLists.txt passes.

set(project "${CMAKE_CURRENT_LIST_DIR}/project")
set(work "${WORK}/${STEP}")
set(prefix "${WORK}/prefix")
file(REMOVE_RECURSE "${work}")

# What a developer's environment says must not leak into what we try.
foreach(name CMAKE_PREFIX_PATH CMAKE_INSTALL_PREFIX PKG_CONFIG_PATH DESTDIR CXXFLAGS penstock_DIR penstock_ROOT)
  unset(ENV{${name}})
endforeach()

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(configure "${CMAKE_COMMAND}" -S "${project}" -B "${work}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}")

if(STEP STREQUAL "add_subdirectory")
  run(${configure} "-DPENSTOCK_SOURCE=${SOURCE}")
  run("${CMAKE_COMMAND}" --build "${work}")
  run("${work}/consumer")

  # A guest brings neither tests nor install rules into the house.
  execute_process(COMMAND "${CMAKE_CTEST_COMMAND}" --show-only --test-dir "${work}" OUTPUT_VARIABLE tests)
  if(NOT tests MATCHES "Total Tests: 0")
    message(FATAL_ERROR "as a subproject, Penstock registers tests:\n${tests}")
  endif()
  run("${CMAKE_COMMAND}" --install "${work}" --prefix "${work}/prefix")
  file(GLOB_RECURSE installed "${work}/prefix/*")
  if(installed)
    message(FATAL_ERROR "as a subproject, Penstock installs ${installed}")
  endif()

elseif(STEP STREQUAL "install")
  # Installed here, then moved there: no file may know the prefix.
  file(REMOVE_RECURSE "${prefix}")
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${work}")
  file(RENAME "${work}" "${prefix}")

  file(GLOB_RECURSE shipped RELATIVE "${SOURCE}/include" "${SOURCE}/include/*")
  file(GLOB_RECURSE installed RELATIVE "${prefix}/include" "${prefix}/include/*")
  if(NOT shipped STREQUAL installed)
    message(FATAL_ERROR "include/ holds\n${shipped}\nbut installed are\n${installed}")
  endif()

elseif(STEP STREQUAL "find_package")
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" wanted "${VERSION}")
  run(${configure} "-DCMAKE_PREFIX_PATH=${prefix}" "-DWANTED_VERSION=${wanted}")
  run("${CMAKE_COMMAND}" --build "${work}")
  run("${work}/consumer")

elseif(STEP STREQUAL "wrong_version")
  string(REPLACE "." ";" parts "${VERSION}")
  list(GET parts 0 major)
  list(GET parts 1 minor)
  list(GET parts 2 patch)
  math(EXPR next_major "${major} + 1")
  math(EXPR next_minor "${minor} + 1")
  math(EXPR next_patch "${patch} + 1")
  foreach(wanted "${next_major}.0" "${major}.${next_minor}" "${major}.${minor}.${next_patch}")
    file(REMOVE_RECURSE "${work}")
    execute_process(COMMAND ${configure} "-DCMAKE_PREFIX_PATH=${prefix}" "-DWANTED_VERSION=${wanted}"
      RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(result EQUAL 0)
      message(FATAL_ERROR "find_package(penstock ${wanted}) took version ${VERSION}")
    elseif(NOT output MATCHES "version: ${VERSION}")
      message(FATAL_ERROR "find_package(penstock ${wanted}) failed for another reason than the version:\n${output}")
    endif()
  endforeach()

elseif(STEP STREQUAL "pkg_config")
  set(ENV{PKG_CONFIG_PATH} "${prefix}/share/pkgconfig")
  function(ask option answer)
    execute_process(COMMAND "${PKG_CONFIG}" ${option} penstock
      OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(${answer} "${output}" PARENT_SCOPE)
  endfunction()
  ask(--modversion version)
  ask(--cflags flags)
  ask("--libs;--print-requires;--print-requires-private" dependencies)
  if(NOT version STREQUAL VERSION)
    message(FATAL_ERROR "pkg-config says version ${version}, the header ${VERSION}")
  elseif(dependencies)
    message(FATAL_ERROR "pkg-config drags in ${dependencies}")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  file(MAKE_DIRECTORY "${work}")
  run("${COMPILER}" -std=c++20 ${flags} "${project}/main.cpp" -o "${work}/consumer")
  run("${work}/consumer")

else()
  message(FATAL_ERROR "no such step: ${STEP}")
endif()
