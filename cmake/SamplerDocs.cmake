# The target `docs`: the reference as HTML and as man pages, of the headers' comments and, where the programs
# are built, of what they say to --help. They are of the install component `documentation`.

find_package(Doxygen 1.9 REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(SAMPLER_DOCS_DIR ${PROJECT_BINARY_DIR}/docs)
set(_man_pages ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/man_pages.py)
string(TIMESTAMP _date %Y-%m-%d UTC) # SOURCE_DATE_EPOCH, where that is set
file(GLOB _headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/sampler/*.h)
configure_file(${PROJECT_SOURCE_DIR}/docs/Doxyfile.in ${SAMPLER_DOCS_DIR}/Doxyfile @ONLY)

add_custom_command(
  OUTPUT ${SAMPLER_DOCS_DIR}/headers.stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${SAMPLER_DOCS_DIR}/html ${SAMPLER_DOCS_DIR}/man
  COMMAND Doxygen::doxygen ${SAMPLER_DOCS_DIR}/Doxyfile
  COMMAND ${_man_pages} headers ${SAMPLER_DOCS_DIR}/man/man3 ${SAMPLER_DOCS_DIR}/man3 ${_date}
  COMMAND ${CMAKE_COMMAND} -E touch ${SAMPLER_DOCS_DIR}/headers.stamp
  DEPENDS ${_headers} ${SAMPLER_DOCS_DIR}/Doxyfile ${PROJECT_SOURCE_DIR}/tools/doc_comments.py
          ${PROJECT_SOURCE_DIR}/tools/man_pages.py
  VERBATIM)
set(_pages ${SAMPLER_DOCS_DIR}/headers.stamp)

# _sampler_program_page(<target> <program> <summary>)
function(_sampler_program_page target program summary)
  if(NOT TARGET ${target} OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  find_program(SAMPLER_HELP2MAN help2man REQUIRED) # which tools/man_pages.py runs
  set(folder ${SAMPLER_DOCS_DIR}/man1)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${folder}/${program}.1
    COMMAND ${_man_pages} program $<TARGET_FILE:${target}> ${program} ${summary}
            ${SAMPLER_FULL_VERSION}            ${folder}/${program}.1 ${_date}
    DEPENDS ${target} ${PROJECT_SOURCE_DIR}/tools/man_pages.py
    VERBATIM)
  set(_pages ${_pages} ${folder}/${program}.1 PARENT_SCOPE)
  install(FILES ${folder}/${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
          COMPONENT documentation)
endfunction()
_sampler_program_page(generate sampler-generate "continue texts with a GPT-2 by libsampler")
_sampler_program_page(sampler-explain sampler-explain "show what each stage does to a row of logits")
_sampler_program_page(sampler-server sampler-server "serve completions over HTTP by libsampler")

add_custom_target(docs ALL DEPENDS ${_pages})
install(DIRECTORY ${SAMPLER_DOCS_DIR}/html DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT documentation)
install(DIRECTORY ${SAMPLER_DOCS_DIR}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR}
        COMPONENT documentation)
