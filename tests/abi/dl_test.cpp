// sampler_dl.h: libsampler opened at run time, twice, and libraries that are not it. Nothing here
// is linked with the library, and there is no driver that it could need.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sampler_dl.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

namespace {

// A place for copies of libraries, which goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "sampler-dl-XXXXXX";
    if (!mkdtemp(name.data())) ADD_FAILURE() << "no temporary folder";
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string copy(const char *library, const char *name) const {
    std::filesystem::copy_file(library, path_ / name);
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

class Opened {
 public:
  explicit Opened(const char *path) : is_open_(sampler_dl_open(&lib_, path, error_.data()) != 0) {}
  ~Opened() {
    if (is_open_) sampler_dl_close(&lib_);
  }
  bool is_open() const { return is_open_; }
  const sampler_dl &operator*() const { return lib_; }
  const sampler_dl *operator->() const { return &lib_; }
  std::string error() const { return error_.data(); }

 private:
  // What was there before must not be taken for functions.
  sampler_dl lib_ = filled();
  std::array<char, SAMPLER_DL_ERROR_SIZE> error_ = {};
  bool is_open_;

  static sampler_dl filled() {
    sampler_dl lib;
    std::memset(&lib, 0x55, sizeof lib);
    return lib;
  }
};

bool is_all_null(const sampler_dl &lib) {
  const sampler_dl none = {};
  return std::memcmp(&lib, &none, sizeof lib) == 0;
}

int32_t draw(const sampler_dl &lib, uint64_t offset) {
  const std::array<float, 4> values = {0.0f, 2.0f, 1.0f, -1.0f};
  sampler_rows rows = {};
  rows.values = values.data();
  rows.num_rows = 1;
  rows.num_cols = 4;
  sampler_options options = sampler_options_default();
  options.max_rows = 1;
  options.max_cols = 4;
  sampler_t sampler = nullptr;
  EXPECT_EQ(lib.create(&options, &sampler), SAMPLER_OK) << lib.last_error();
  int32_t token_id = -7;
  EXPECT_EQ(lib.top_p(sampler, &rows, 0.9f, 1.0f, 7, offset, &token_id, nullptr), SAMPLER_OK);
  lib.destroy(sampler);
  return token_id;
}

}  // namespace

TEST(Dl, HasEveryFunction) {
  const Opened lib(SAMPLER_LIBRARY);
  ASSERT_TRUE(lib.is_open()) << lib.error();
  std::array<void *, sizeof(sampler_dl) / sizeof(void *)> members = {};
  std::memcpy(members.data(), &*lib, sizeof(sampler_dl));
  for (size_t i = 0; i < members.size(); ++i) EXPECT_NE(members.at(i), nullptr) << i;
  EXPECT_EQ(lib->abi_version(), uint32_t(SAMPLER_ABI_VERSION));
  EXPECT_EQ(lib->version(), uint32_t(SAMPLER_VERSION));
  EXPECT_EQ(members.at(1), dlsym(lib->library, "sampler_abi_version"));
}

TEST(Dl, KeepsNamesToItself) {
  const Opened lib(SAMPLER_LIBRARY);
  ASSERT_TRUE(lib.is_open()) << lib.error();
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "sampler_create"), nullptr);
}

// Each has its own errors and handles, and both draw the same.
TEST(Dl, OpensTwoCopies) {
  const Folder folder;
  const Opened first(folder.copy(SAMPLER_LIBRARY, "one.so").c_str()),
      second(folder.copy(SAMPLER_LIBRARY, "two.so").c_str());
  ASSERT_TRUE(first.is_open() && second.is_open()) << first.error() << second.error();
  EXPECT_NE(first->create, second->create);
  for (uint64_t offset = 0; offset < 16; ++offset) {
    EXPECT_EQ(draw(*first, offset), draw(*second, offset));
  }
  EXPECT_NE(first->create(nullptr, nullptr), SAMPLER_OK);
  EXPECT_STRNE(first->last_error(), "");
  EXPECT_STREQ(second->last_error(), "");
}

TEST(Dl, OpensAgain) {
  for (int i = 0; i < 3; ++i) {
    sampler_dl lib;
    std::array<char, SAMPLER_DL_ERROR_SIZE> error;
    ASSERT_EQ(sampler_dl_open(&lib, SAMPLER_LIBRARY, error.data()), 1) << error.data();
    EXPECT_GE(draw(lib, 1), 0);
    sampler_dl_close(&lib);
    EXPECT_TRUE(is_all_null(lib));
    sampler_dl_close(&lib);  // which does nothing
  }
}

TEST(Dl, SaysWhatIsWrong) {
  const Opened missing("/nowhere/libsampler.so.1");
  EXPECT_FALSE(missing.is_open());
  EXPECT_TRUE(is_all_null(*missing));
  EXPECT_NE(missing.error().find("/nowhere/libsampler.so.1"), std::string::npos) << missing.error();

  const Opened other("libm.so.6");
  EXPECT_FALSE(other.is_open());
  EXPECT_TRUE(is_all_null(*other));
  EXPECT_EQ(other.error(), "libm.so.6 is no libsampler: it has no sampler_abi_version");

  const Opened newer(OTHER_ABI);
  EXPECT_FALSE(newer.is_open());
  EXPECT_TRUE(is_all_null(*newer));
  EXPECT_EQ(newer.error(), std::string(OTHER_ABI) + " has ABI 1000; it must be " +
                               std::to_string(SAMPLER_ABI_VERSION) +
                               ", that of the headers this was compiled with");
}

// Where it was installed to is the loader's affair.
TEST(Dl, HasAName) {
  const Opened lib(nullptr);
  if (lib.is_open()) return;
  const std::string soname = "libsampler.so." + std::to_string(SAMPLER_ABI_VERSION);
  EXPECT_NE(lib.error().find(soname), std::string::npos) << lib.error();
}

// Functions that came later are NULL.
TEST(Dl, TakesOlderLibraries) {
  const Opened lib(OLDER_LIBRARY);
  ASSERT_TRUE(lib.is_open()) << lib.error();
  EXPECT_EQ(lib->sample, nullptr);
  EXPECT_NE(lib->create, nullptr);
}
