// Structs carry their size, so that programs and libraries of different versions work together.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "expect.h"

namespace capi_test {
namespace {

constexpr std::size_t kMaxStructSize = 65536;

// A public struct: `use` gives it to the library, which reads or fills it.
struct PublicStruct {
  std::string name;
  std::string argument;  // what the _init function calls its first argument
  std::size_t size;
  std::function<sampler_status(void *, std::size_t)> init;
  std::function<void(void *)> init_by_macro;
  std::function<sampler_status(const void *)> use;
};

sampler_status create_and_destroy(const void *options) {
  sampler_t sampler = nullptr;
  const sampler_status status =
      sampler_create(static_cast<const sampler_options *>(options), &sampler);
  sampler_destroy(sampler);
  return status;
}

std::vector<PublicStruct> public_structs(sampler_t sampler) {
  std::vector<PublicStruct> structs;
  for (const Operation &operation : operations()) {
    structs.push_back(
        {operation.name, "args", operation.args_size, operation.init, operation.init_by_macro,
         [&operation, sampler](const void *args) { return operation.run(sampler, args); }});
  }
  structs.push_back({"sampler_options", "options", sizeof(sampler_options),
                     [](void *options, std::size_t size) {
                       return sampler_options_init(static_cast<sampler_options *>(options), size);
                     },
                     [](void *options) {
                       const sampler_options initialized = SAMPLER_OPTIONS_INIT;
                       std::memcpy(options, &initialized, sizeof initialized);
                     },
                     create_and_destroy});
  structs.push_back({"sampler_capabilities", "", sizeof(sampler_capabilities), nullptr,
                     [](void *capabilities) {
                       const sampler_capabilities initialized = SAMPLER_CAPABILITIES_INIT;
                       std::memcpy(capabilities, &initialized, sizeof initialized);
                     },
                     [](const void *capabilities) {
                       return sampler_get_capabilities(const_cast<sampler_capabilities *>(
                           static_cast<const sampler_capabilities *>(capabilities)));
                     }});
  return structs;
}

// Zeroed memory, aligned to 8 bytes, that ends where reading faults.
class BeforeGuardPage {
 public:
  explicit BeforeGuardPage(std::size_t bytes)
      : bytes_((bytes + 7) / 8 * 8),
        page_(std::size_t(sysconf(_SC_PAGESIZE))),
        length_((bytes_ + page_ - 1) / page_ * page_ + page_),
        memory_(mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        data_(static_cast<unsigned char *>(memory_) + length_ - page_ - bytes_) {
    mprotect(static_cast<unsigned char *>(memory_) + length_ - page_, page_, PROT_NONE);
  }
  ~BeforeGuardPage() { munmap(memory_, length_); }
  BeforeGuardPage(const BeforeGuardPage &) = delete;
  BeforeGuardPage &operator=(const BeforeGuardPage &) = delete;

  unsigned char *data() { return data_; }

 private:
  std::size_t bytes_, page_, length_;
  void *memory_;
  unsigned char *data_;
};

// An initialised struct that says it is `struct_size` bytes long.
void make_struct(const PublicStruct &type, unsigned char *data, std::size_t struct_size) {
  type.init_by_macro(data);
  std::memcpy(data, &struct_size, sizeof struct_size);
  // Operations need a shape; num_rows stays 0.
  for (const Operation &operation : operations()) {
    if (type.name != operation.name) continue;
    const std::int64_t one = 1;
    std::memcpy(data + operation.members.at("num_cols").offset, &one, sizeof one);
    if (operation.has("num_selected")) {
      std::memcpy(data + operation.members.at("num_selected").offset, &one, sizeof one);
    }
  }
}

std::string wrong_size(const PublicStruct &type, std::size_t struct_size) {
  return "struct_size is " + std::to_string(struct_size) + "; it must be " +
         std::to_string(type.size) + " or the size of a newer version, at most 65536";
}

TEST(StructSize, OfThisVersionIsRead) {
  const Sampler sampler = roomy_sampler();
  for (const PublicStruct &type : public_structs(sampler.get())) {
    SCOPED_TRACE(type.name);
    BeforeGuardPage memory(type.size);
    make_struct(type, memory.data(), type.size);
    EXPECT_EQ(type.use(memory.data()), SAMPLER_OK) << sampler_last_error();
  }
}

TEST(StructSize, BelowTheFirstReleaseIsRefused) {
  const Sampler sampler = roomy_sampler();
  for (const PublicStruct &type : public_structs(sampler.get())) {
    for (const std::size_t size : {std::size_t(0), std::size_t(1), std::size_t(8), type.size - 1}) {
      SCOPED_TRACE(type.name);
      // There is no more memory than the size says, but for the size itself.
      BeforeGuardPage memory(std::max(size, sizeof size));
      std::memcpy(memory.data(), &size, sizeof size);
      EXPECT_EQ(type.use(memory.data()), SAMPLER_ERROR_INVALID_ARGUMENT);
      EXPECT_EQ(sampler_last_error(), wrong_size(type, size));
    }
  }
}

TEST(StructSize, OfANewerVersionIsReadWhenTheTailIsZero) {
  const Sampler sampler = roomy_sampler();
  for (const PublicStruct &type : public_structs(sampler.get())) {
    for (const std::size_t size : {type.size + 1, type.size + 8, kMaxStructSize}) {
      SCOPED_TRACE(type.name);
      BeforeGuardPage memory(size);
      make_struct(type, memory.data(), size);
      EXPECT_EQ(type.use(memory.data()), SAMPLER_OK) << sampler_last_error();
      for (const std::size_t i : {type.size, size - 1}) {
        memory.data()[i] = 0x80;
        EXPECT_EQ(type.use(memory.data()), SAMPLER_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(sampler_last_error(),
                  "struct_size is " + std::to_string(size) + " and members behind byte " +
                      std::to_string(type.size) + " are set; this library does not know them");
        memory.data()[i] = 0;
      }
    }
  }
}

TEST(StructSize, ThatNoStructHasIsRefusedUnread) {
  const Sampler sampler = roomy_sampler();
  for (const PublicStruct &type : public_structs(sampler.get())) {
    for (const std::size_t size :
         {kMaxStructSize + 1, std::size_t(0xA5A5A5A5A5A5A5A5u), SIZE_MAX}) {
      SCOPED_TRACE(type.name);
      BeforeGuardPage memory(type.size);
      make_struct(type, memory.data(), size);
      EXPECT_EQ(type.use(memory.data()), SAMPLER_ERROR_INVALID_ARGUMENT);
      EXPECT_EQ(sampler_last_error(), wrong_size(type, size));
    }
  }
}

TEST(StructSize, CountsInWorkspaceSizeToo) {
  const Sampler sampler = roomy_sampler();
  for (const Operation &operation : operations()) {
    SCOPED_TRACE(operation.name);
    Args args(operation);
    const std::size_t size = operation.args_size - 1;
    args.set("struct_size", size);
    std::size_t bytes = 77;
    EXPECT_EQ(sampler_workspace_size(sampler.get(), operation.number, args.data(), &bytes),
              SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(bytes, 77u);
  }
}

TEST(Init, GivesWhatTheMacroGives) {
  for (const PublicStruct &type : public_structs(nullptr)) {
    if (!type.init) continue;
    SCOPED_TRACE(type.name);
    std::vector<unsigned char> by_macro(type.size), by_function(type.size, 0xA5);
    type.init_by_macro(by_macro.data());
    EXPECT_EQ(type.init(by_function.data(), type.size), SAMPLER_OK);
    EXPECT_EQ(by_function, by_macro);
    std::size_t struct_size;
    std::memcpy(&struct_size, by_macro.data(), sizeof struct_size);
    EXPECT_EQ(struct_size, type.size);
  }
}

TEST(Init, ZeroesTheMembersOfANewerVersion) {
  for (const PublicStruct &type : public_structs(nullptr)) {
    if (!type.init) continue;
    SCOPED_TRACE(type.name);
    const std::size_t size = type.size + 24;
    std::vector<unsigned char> expected(size), filled(size + 8, 0xA5);
    type.init_by_macro(expected.data());
    std::memcpy(expected.data(), &size, sizeof size);
    EXPECT_EQ(type.init(filled.data(), size), SAMPLER_OK);
    EXPECT_EQ(std::vector<unsigned char>(filled.begin(), filled.begin() + std::ptrdiff_t(size)),
              expected);
    EXPECT_EQ(std::vector<unsigned char>(filled.begin() + std::ptrdiff_t(size), filled.end()),
              std::vector<unsigned char>(8, 0xA5));
  }
}

TEST(Init, RefusesSizesThatNoStructHas) {
  for (const PublicStruct &type : public_structs(nullptr)) {
    if (!type.init) continue;
    SCOPED_TRACE(type.name);
    std::vector<unsigned char> memory(type.size, 0xA5);
    for (const std::size_t size : {std::size_t(0), type.size - 1, kMaxStructSize + 1, SIZE_MAX}) {
      EXPECT_EQ(type.init(memory.data(), size), SAMPLER_ERROR_INVALID_ARGUMENT);
      EXPECT_EQ(sampler_last_error(), wrong_size(type, size));
      EXPECT_EQ(memory, std::vector<unsigned char>(type.size, 0xA5));
    }
    EXPECT_EQ(type.init(nullptr, type.size), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(sampler_last_error(), type.argument + " is NULL; it is required");
  }
}

TEST(Defaults, AreWhatTheHeadersSay) {
  for (const Operation &operation : operations()) {
    SCOPED_TRACE(operation.name);
    const Args args(operation);
    const bool renorm =
        operation.number == SAMPLER_OP_TOP_K_RENORM || operation.number == SAMPLER_OP_TOP_P_RENORM;
    for (const auto &[name, member] : operation.members) {
      SCOPED_TRACE(name);
      std::uint64_t bits = 0;
      std::memcpy(&bits, static_cast<const unsigned char *>(args.data()) + member.offset,
                  member.size);
      if (name == "struct_size") {
        EXPECT_EQ(bits, operation.args_size);
      } else if (name == "temperature" || name == "top_p") {
        EXPECT_EQ(args.get<float>(name), 1.0f);
      } else if (name == "input_kind" && renorm) {
        EXPECT_EQ(args.get<sampler_input_kind>(name), SAMPLER_PROBABILITIES);
      } else {
        EXPECT_EQ(bits, 0u);
      }
    }
  }
}

}  // namespace
}  // namespace capi_test
