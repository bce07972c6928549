# For Homebrew on Linux. The library is for ELF: its version script, the symbol versions of old C libraries, and
# functions of Linux (madvise's MADV_WIPEONFORK, getauxval, sched_getaffinity) have nothing in their place on macOS.
class Libsampler < Formula
  desc "Turns logits into tokens, bit for bit by one contract"
  homepage "https://github.com/libsampler/libsampler"
  url "https://github.com/libsampler/libsampler/releases/download/v0.1.0-rc1/libsampler-0.1.0-rc1.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :test
  depends_on :linux

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja",
                    "-DSAMPLER_BUILD_EXAMPLES=OFF",
                    "-DSAMPLER_BUILD_STATIC=ON",
                    "-DSAMPLER_BUILD_TESTS=OFF",
                    "-DSAMPLER_CUDA=OFF",
                    *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
    pkgshare.install "examples/minimal.c"
  end

  test do
    tokens = (0..4).zip([2, 2, 1, 0, 1]).map { |step, token| "step #{step}: token #{token}\n" }.join
    ENV.prepend_path "PKG_CONFIG_PATH", lib/"pkgconfig"
    { "sampler" => "shared", "sampler-static" => "static" }.each do |package, program|
      flags = shell_output("pkgconf --cflags --libs #{package}").split
      system ENV.cc, pkgshare/"minimal.c", "-o", program, *flags, "-Wl,-rpath,#{lib}"
      assert_equal tokens, shell_output("./#{program}")
    end
  end
end
