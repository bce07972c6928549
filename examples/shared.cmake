# Libraries that several examples share. Each example's CMakeLists.txt includes this, so that it can
# be built by itself.
include_guard(GLOBAL)
find_package(nlohmann_json REQUIRED)

# sampler_example_library(<name> SOURCES <file>... LINK <target>...)
function(sampler_example_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  list(TRANSFORM arg_SOURCES PREPEND ${folder}/ OUTPUT_VARIABLE sources)
  list(GET sources 0 first)
  cmake_path(GET first PARENT_PATH include_dir)
  add_library(${name} STATIC ${sources})
  target_compile_features(${name} PUBLIC cxx_std_17)
  target_include_directories(${name} PUBLIC ${include_dir})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  if(TARGET sampler_warnings)
    target_link_libraries(${name} PRIVATE sampler_warnings)
  endif()
endfunction()

# Files that may be damaged, and JSON.
sampler_example_library(json_file SOURCES generate/json_file.cpp LINK nlohmann_json::nlohmann_json)

# Sampling parameters in an engine's own words.
sampler_example_library(engine_parameters
  SOURCES engine_hugging_face.cpp engine_koboldcpp.cpp engine_llama_cpp.cpp engine_own.cpp
          engine_parameters.cpp engine_pipeline.cpp engine_servers.cpp engine_vllm.cpp
  LINK sampler::sampler nlohmann_json::nlohmann_json)

# What each stage did to a row.
sampler_example_library(explain_core
  SOURCES explain/explanation.cpp explain/plot.cpp explain/reason.cpp explain/row_file.cpp
          explain/stages.cpp explain/table.cpp
  LINK sampler::sampler json_file)
