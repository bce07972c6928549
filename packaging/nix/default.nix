# nix-build packaging/nix: the library for CPUs, in one output, and its headers in another, whose
# folders CMake gets as absolute paths.
{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation rec {
  pname = "libsampler";
  version = "0.1.0-rc1";
  src = pkgs.lib.cleanSourceWith {
    src = pkgs.lib.cleanSource ../..;
    filter = path: type: !(type == "directory" && baseNameOf path == "build");
  };

  outputs = [ "out" "dev" ];
  nativeBuildInputs = [ pkgs.cmake pkgs.ninja ];

  # stdenv sets CMAKE_INSTALL_LIBDIR to $out/lib, CMAKE_INSTALL_INCLUDEDIR to $dev/include.
  cmakeFlags = [
    "-DSAMPLER_BUILD_EXAMPLES=OFF"
    "-DSAMPLER_BUILD_TESTS=OFF"
    "-DSAMPLER_CUDA=OFF"
  ];

  doInstallCheck = true;
  nativeInstallCheckInputs = [ pkgs.pkg-config ];
  installCheckPhase = ''
    runHook preInstallCheck
    export PKG_CONFIG_PATH=$dev/lib/pkgconfig:$out/lib/pkgconfig
    $CC ../examples/minimal.c -o minimal $(pkg-config --cflags --libs sampler)
    LD_LIBRARY_PATH=$out/lib ./minimal
    runHook postInstallCheck
  '';

  meta = {
    description = "Turns logits into tokens, bit for bit by one contract";
    homepage = "https://github.com/libsampler/libsampler";
    license = pkgs.lib.licenses.asl20;
    platforms = [ "x86_64-linux" "aarch64-linux" ];
  };
}
