#!/usr/bin/env bash
# Makes the generated code of the Go and Java bindings, and some of Rust's, from the public headers and this folder.
#
#   regenerate.sh            over the checked-in files
#   regenerate.sh BINDINGS   into another folder, laid out like the folder bindings
#
# Needs python3, SWIG and gofmt; files made by another version than the checked-in ones differ a little.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
include_dir=$source_dir/../../include
bindings=$(realpath -m "${1:-$source_dir/..}")

java=java/src/main/generated/io/github/libsampler/internal
mkdir -p "$bindings"/{swig,go/internal/raw,java/native,"$java"}
python3 "$source_dir/generate.py" "$include_dir" "$bindings"
python3 "$source_dir/generate_java.py" "$include_dir" "$bindings"
python3 "$source_dir/generate_parameters.py" "$include_dir" "$bindings"

# SWIG writes the names of its input, and a hash, into its output: the same ones everywhere.
cd "$bindings/swig"
[ . -ef "$source_dir" ] || cp "$source_dir"/{sampler,common,go,java}.i "$source_dir/shim.h" .
swig -Wall -go -cgo -intgosize 64 -module raw -outdir ../go/internal/raw \
  -o ../go/internal/raw/raw_wrap.c sampler.i
swig -Wall -java -package io.github.libsampler.internal -outdir "../$java" \
  -o ../java/native/sampler_wrap.c sampler.i
# A string of C is a pointer, which vet wants to see as one.
sed -i '/^type swig_gostring/s/p uintptr/p unsafe.Pointer/;s/unsafe.Pointer(p.p)/p.p/;s/Swig_free(p.p)/Swig_free(uintptr(p.p))/' \
  ../go/internal/raw/raw.go
gofmt -w ../go/internal/raw/*.go ../go/parameters.go
