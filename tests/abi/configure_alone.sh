#!/bin/sh
# The library is configured, and so all that its build reads is found, without the other folders, and linked, of
# empty objects: in a folder whose name has what shells and compilers take apart.
#
#   configure_alone.sh CMAKE SOURCE FOLDER
set -eu
cmake=$1 source=$2 folder="$3/a name, with a comma"
rm -rf "$3"
mkdir -p "$folder"
cp -R "$source/CMakeLists.txt" "$source/LICENSE" "$source/cmake" "$source/include" "$source/kernels" \
  "$source/pkgconfig" "$source/src" "$folder"
"$cmake" -G Ninja -S "$folder" -B "$folder/build" -DSAMPLER_CUDA=OFF \
  -DSAMPLER_BUILD_TESTS=OFF -DSAMPLER_BUILD_EXAMPLES=OFF
if grep -rn '#include ".*tests/' "$folder/src" "$folder/kernels" "$folder/include"; then
  exit 1
fi

cd "$folder/build"
"$cmake" --build . --target sampler_old_libraries
library=$(ninja -t targets all | sed -n 's/: CXX_SHARED_LIBRARY_LINKER__sampler_.*//p')
link=$(ninja -t commands -s "$library")
echo "$link" | grep -o '[^ ]*\.o\>' >objects
[ -s objects ]
: >empty.c
cc -c empty.c
while read -r object; do
  mkdir -p "$(dirname "$object")"
  cp empty.o "$object"
done <objects
sh -c "$link"
[ -s "$library" ]
