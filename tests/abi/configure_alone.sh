#!/bin/sh
# The library is configured, and so all that its build reads is found, without the other folders.
#
#   configure_alone.sh CMAKE SOURCE FOLDER
set -eu
cmake=$1 source=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder"
cp -R "$source/CMakeLists.txt" "$source/LICENSE" "$source/cmake" "$source/include" "$source/kernels" \
  "$source/pkgconfig" "$source/src" "$folder"
"$cmake" -G Ninja -S "$folder" -B "$folder/build" -DSAMPLER_CUDA=OFF \
  -DSAMPLER_BUILD_TESTS=OFF -DSAMPLER_BUILD_EXAMPLES=OFF
if grep -rn '#include ".*tests/' "$folder/src" "$folder/kernels" "$folder/include"; then
  exit 1
fi
