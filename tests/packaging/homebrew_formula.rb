# Installs by the formula of packaging/homebrew, and runs its test, without Homebrew: what the formula uses of it is here.
#
#   ruby homebrew_formula.rb FORMULA SOURCE_ARCHIVE WORK_DIR
#
# FORMULA has the archive's hash. WORK_DIR is empty.
require "digest"
require "fileutils"
require "open3"
require "pathname"

formula, archive, work = ARGV.map { |path| Pathname.new(path).expand_path }
$prefix = work/"prefix"

class Pathname
  def install(*files)
    mkpath
    files.each { |file| FileUtils.cp file, self }
  end
end

def ENV.cc = "cc"

def ENV.prepend_path(name, path)
  self[name] = [path.to_s, self[name]].compact.join(":")
end

class Formula
  class << self
    attr_reader :data, :own_test

    def inherited(formula)
      super
      $formula = formula
    end

    %i[desc homepage url sha256 license].each do |name|
      define_method(name) { |value| (@data ||= {})[name] = value }
    end

    def depends_on(*) = nil

    def test(&block)
      @own_test = block
    end
  end

  def include = $prefix/"include"
  def lib = $prefix/"lib"
  def pkgshare = $prefix/"share/libsampler"

  # As Homebrew has them for CMake.
  def std_cmake_args
    ["-DCMAKE_INSTALL_PREFIX=#{$prefix}", "-DCMAKE_INSTALL_LIBDIR=lib", "-DCMAKE_BUILD_TYPE=Release",
     "-DCMAKE_FIND_FRAMEWORK=LAST", "-DCMAKE_VERBOSE_MAKEFILE=ON", "-Wno-dev", "-DBUILD_TESTING=OFF"]
  end

  def system(*command)
    Kernel.system(*command.map(&:to_s)) || abort("failed: #{command.join(" ")}")
  end

  def shell_output(command)
    output, status = Open3.capture2(command)
    status.success? ? output : abort("failed: #{command}")
  end

  def assert_equal(expected, found)
    expected == found || abort("expected:\n#{expected}found:\n#{found}")
  end
end

load formula.to_s
data = $formula.data
abort "the formula is of another archive" unless data[:sha256] == Digest::SHA256.file(archive).hexdigest
abort "the formula's url is #{data[:url]}" unless data[:url].end_with?("/#{archive.basename}")

Kernel.system("tar", "-xzf", archive.to_s, "-C", work.to_s, exception: true)
Dir.chdir(work/archive.basename(".tar.gz")) { $formula.new.install }
(work/"test").mkpath
Dir.chdir(work/"test") { $formula.new.instance_eval(&$formula.own_test) }
