# Removes the files that the last `cmake --install BINARY_DIR` wrote, of all components. Its lists name them without
# DESTDIR, which must be what it was then.
file(GLOB manifests "${BINARY_DIR}/install_manifest*.txt")
if(NOT manifests)
  message(FATAL_ERROR "nothing has been installed from ${BINARY_DIR}")
endif()
foreach(manifest IN LISTS manifests)
  file(STRINGS "${manifest}" files)
  foreach(file IN LISTS files)
    message(STATUS "Removing $ENV{DESTDIR}${file}")
    file(REMOVE "$ENV{DESTDIR}${file}")
  endforeach()
  file(REMOVE "${manifest}")
endforeach()
