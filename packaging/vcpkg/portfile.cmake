vcpkg_download_distfile(
    ARCHIVE
    URLS "https://github.com/libsampler/libsampler/releases/download/v${VERSION}/libsampler-${VERSION}.tar.gz"
    FILENAME "libsampler-${VERSION}.tar.gz"
    SHA512 @SHA512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

# The library is built from BUILD_SHARED_LIBS, which the triplet sets: either libsampler.so or libsampler.a.
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DSAMPLER_BUILD_EXAMPLES=OFF
        -DSAMPLER_BUILD_TESTS=OFF
        -DSAMPLER_CUDA=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME sampler CONFIG_PATH lib/cmake/sampler)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/debug/include"
    "${CURRENT_PACKAGES_DIR}/debug/share"
    "${CURRENT_PACKAGES_DIR}/share/doc"
)
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
