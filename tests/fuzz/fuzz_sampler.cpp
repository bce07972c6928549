// Fuzzes the C ABI: full calls with spoiled arguments and contents, workspace sizes of arbitrary
// structs, options, names of presets.
//
// Each call's arrays are blocks of the exact size, so that AddressSanitizer sees an access outside.
// What may not be varied is what the library cannot know: no argument claims more memory than there
// is.
#include <fuzzer/FuzzedDataProvider.h>
#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "check_outputs.h"

namespace fuzz {
namespace {

using capi_test::Args;
using capi_test::Buffer;
using capi_test::Call;
using capi_test::Member;
using capi_test::Op;
using capi_test::Operation;
using capi_test::Sampler;
using capi_test::Spec;

using Data = FuzzedDataProvider;

constexpr std::int64_t kFallbackToken = 0;
constexpr std::int64_t kMostCols = 9000;

// ---- Handles ------------------------------------------------------------------------------------

void run_backwards(void *, std::int64_t num_tasks, sampler_task_fn task, void *task_user) {
  for (std::int64_t i = num_tasks; i-- > 0;) task(task_user, i);
}

struct Handles {
  Sampler plain, tasks, fallback;

  Handles() : plain(make(1, false)), tasks(make(3, false)), fallback(make(1, true)) {}

  static Sampler make(std::int32_t num_threads, bool use_fallback) {
    sampler_options options = sampler_options_default();
    options.num_threads = num_threads;
    options.parallel_for = &run_backwards;
    options.max_rows = 64;
    options.max_cols = kMostCols;
    options.use_fallback_token = use_fallback;
    options.fallback_token_id = kFallbackToken;
    return capi_test::make_sampler(options);
  }
};

const Handles &handles() {
  static const Handles all;
  return all;
}

// ---- A call -------------------------------------------------------------------------------------

Spec read_spec(Data *data) {
  Spec spec;
  spec.operation = Op(data->ConsumeIntegralInRange(0, int(Op::kScore)));
  spec.num_rows = data->ConsumeIntegralInRange(0, 6);
  const int size = data->ConsumeIntegralInRange(0, 31);
  if (size < 2) {
    // Enough to be sampled, which begins at 2,048 columns.
    spec.num_rows = std::min<std::int64_t>(spec.num_rows, 2);
    spec.num_cols = data->ConsumeIntegralInRange<std::int64_t>(2000, kMostCols);
  } else {
    spec.num_cols = data->ConsumeIntegralInRange(1, size < 28 ? 24 : 300);
  }
  spec.num_drafts = data->ConsumeIntegralInRange(0, 4);
  spec.num_selected = data->ConsumeIntegralInRange<std::int64_t>(1, spec.num_cols);
  spec.padding = data->ConsumeIntegralInRange(0, 5);
  spec.sequence_padding = spec.is_verify() ? data->ConsumeIntegralInRange(0, 3) : 0;
  spec.misalignment = data->ConsumeIntegralInRange(0, 3);
  spec.dtype = data->ConsumeIntegralInRange(0, 2);
  spec.kind = data->ConsumeIntegralInRange(0, 1);
  spec.output_dtype = data->ConsumeBool() ? spec.dtype : SAMPLER_F32;
  if (spec.kind == SAMPLER_LOGITS && spec.op().has("output_kind")) {
    spec.output_kind = data->ConsumeIntegralInRange(0, 1);
  }
  spec.draft_dtype = data->ConsumeIntegralInRange(0, 2);
  spec.draft_kind = data->ConsumeIntegralInRange(0, 1);
  spec.token_id_type = data->ConsumeIntegralInRange(0, 1);
  spec.candidate_id_type = data->ConsumeIntegralInRange(0, 1);
  spec.draw_method = data->ConsumeIntegralInRange(0, 2);
  spec.candidates = data->ConsumeBool();
  spec.ragged = data->ConsumeBool();
  spec.row_indices = data->ConsumeBool() && spec.op().has("row_indices");
  if (spec.row_indices) spec.num_input_rows = data->ConsumeIntegralInRange(1, 6);
  spec.per_slot = data->ConsumeBool();
  spec.slots = data->ConsumeBool();
  spec.streams = data->ConsumeBool();
  spec.draft = data->ConsumeBool();
  spec.contents = data->ConsumeIntegral<std::uint8_t>();
  spec.reports = spec.may_report() && data->ConsumeBool();
  spec.kept = spec.operation == Op::kScore && data->ConsumeBool();
  spec.packs_lists = spec.reports && data->ConsumeBool();
  spec.pipeline = spec.kind == SAMPLER_LOGITS && spec.op().has("pipeline") && data->ConsumeBool();
  return spec;
}

// Bits of an element that are likely to matter to whoever reads it, as a value, a parameter, an id,
// an index or a count.
std::uint64_t read_bits(Data *data, std::size_t size) {
  static const std::uint16_t k16[] = {0x0000, 0x8000, 0x0001, 0x03FF, 0x7BFF, 0x7C00, 0xFC00,
                                      0x7E00, 0x7C01, 0x7F80, 0xFF80, 0x7FC0, 0x7F7F, 0x3C00};
  static const std::uint32_t k32[] = {0x00000000, 0x80000000, 0x00000001, 0x007FFFFF, 0x7F7FFFFF,
                                      0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001,
                                      0x3F800000, 0x3F7FFFFF, 0x3727C5AC, 0x3727C5AD, 0x5F800000,
                                      0x7FFFFFFF, 0xFFFFFFFF, 0x000FFFFF, 0x00100000, 0x00000007};
  static const std::uint64_t k64[] = {0,           1,          7,
                                      0x000FFFFF,  0x00100000, 0x7FFFFFFF,
                                      0x100000001, INT64_MAX,  std::uint64_t(INT64_MIN),
                                      UINT64_MAX};
  if (data->ConsumeBool()) return data->ConsumeIntegral<std::uint64_t>();
  if (size == 2) return data->PickValueInArray(k16);
  if (size == 4) return data->PickValueInArray(k32);
  return data->PickValueInArray(k64);
}

// The last part of a member's path.
std::string last_name(const std::string &member) {
  return member.substr(member.rfind('.') + 1);
}

// Whether a pointer is to a struct.
bool is_struct(const std::string &member) {
  return member == "params" || member == "row_params" || member == "pipeline" ||
         member == "reports" || member == "layout";
}

// Members that are input arrays of this call.
std::vector<std::string> input_arrays(const Call &call) {
  std::vector<std::string> names;
  for (const auto &[member, layout] : call.spec().op().members) {
    const bool is_output = member == "output" || last_name(member).rfind("out_", 0) == 0;
    if (!is_output && call.has_array(member) && call.array(member).rows > 0 &&
        call.array(member).cols > 0) {
      names.push_back(member);
    }
  }
  return names;
}

void spoil_contents(Data *data, Call *call) {
  const std::vector<std::string> names = input_arrays(*call);
  if (names.empty()) return;
  for (int i = data->ConsumeIntegralInRange(0, 12); i > 0; --i) {
    const Call::Array &array =
        call->array(names[data->ConsumeIntegralInRange<std::size_t>(0, names.size() - 1)]);
    const std::int64_t row = data->ConsumeIntegralInRange<std::int64_t>(0, array.rows - 1);
    const std::int64_t first = data->ConsumeIntegralInRange<std::int64_t>(0, array.cols - 1);
    const bool whole_row = data->ConsumeIntegralInRange(0, 7) == 0;
    const std::uint64_t bits = read_bits(data, array.element_size);
    for (std::int64_t col = first; col < (whole_row ? array.cols : first + 1); ++col) {
      std::memcpy(array.buffer.data() + std::size_t(row * array.stride + col) * array.element_size,
                  &bits, array.element_size);
    }
  }
}

// ---- Spoiled arguments --------------------------------------------------------------------------

bool is_shape(const std::string &member) {
  const std::string name = last_name(member);
  return (name.rfind("num_", 0) == 0 && name != "num_seeds" && name != "num_offsets") ||
         name == "kept_capacity";
}

bool is_stride(const std::string &member) {
  return member.size() > 7 && member.compare(member.size() - 7, 7, "_stride") == 0;
}

// Types may get narrower, never wider than the arrays are.
bool is_type(const std::string &member) {
  return member.find("dtype") != std::string::npos || member.find("id_type") != std::string::npos;
}

// No more than there is. With other drafts there would be other sequences, for which there is no
// room.
std::int64_t read_shape(Data *data, const std::string &member, std::int64_t value) {
  static const std::int64_t kRefused[] = {-1, INT64_MIN, INT64_MAX, std::int64_t(1) << 31};
  if (member == "num_drafts" || data->ConsumeBool()) return data->PickValueInArray(kRefused);
  return data->ConsumeIntegralInRange<std::int64_t>(0, value);
}

// Too small, or so large that no second row fits the address space.
std::int64_t read_stride(Data *data) {
  static const std::int64_t kStrides[] = {-1, 1, INT64_MIN, INT64_MAX, INT64_MAX / 2};
  return data->PickValueInArray(kStrides);
}

// An order of stages, most of which are none.
void spoil_stages(Data *data, const std::string &member, Args *args) {
  std::array<sampler_stage, SAMPLER_MAX_STAGES> stages = {};
  for (sampler_stage &stage : stages) {
    stage = data->ConsumeIntegralInRange(-1, 17);
    if (data->ConsumeBool()) break;
  }
  args->set(member, stages);
}

void spoil_pointer(Data *data, const std::string &member, Call *call) {
  if (!call->has_array(member) || data->ConsumeBool()) {
    call->args().set<void *>(member, nullptr);
  } else {
    call->args().set(member, call->buffer(member).data() + 1);
  }
}

void spoil_number(Data *data, const std::string &member, const Member &layout, Call *call) {
  static const std::int32_t kRefused[] = {-1, 3, 99, INT32_MIN, INT32_MAX};
  Args &args = call->args();
  if (layout.is_pointer) return spoil_pointer(data, member, call);
  if (last_name(member) == "stages") return spoil_stages(data, member, &args);
  if (layout.size == 8) return args.set(member, read_bits(data, 8));
  if (is_type(member)) return args.set(member, data->PickValueInArray(kRefused));
  if (data->ConsumeBool()) return args.set(member, data->ConsumeIntegralInRange(-2, 4));
  args.set(member, std::uint32_t(read_bits(data, 4)));
}

// The struct_size of the arguments, or of a struct that they point to. Those structs follow the
// arguments in memory.
void spoil_struct_size(Data *data, const std::string &member, Call *call) {
  const std::size_t size = call->args().get<std::size_t>(member);
  const std::size_t larger = member == "struct_size" ? size + 8 : size;
  const std::size_t sizes[] = {0, 8, size - 1, size, larger, 65537, SIZE_MAX};
  call->args().set(member, data->PickValueInArray(sizes));
}

// Whether the shapes of the call are still those of its spec.
bool spoil_arguments(Data *data, Call *call) {
  bool keeps_shapes = true;
  std::set<std::string> spoiled;
  const Operation &op = call->spec().op();
  for (int i = data->ConsumeIntegralInRange(0, 3); i > 0; --i) {
    const std::size_t index = data->ConsumeIntegralInRange<std::size_t>(0, op.members.size() - 1);
    const auto &[member, layout] = *std::next(op.members.begin(), std::ptrdiff_t(index));
    if (!spoiled.insert(member).second || member.rfind("exec.", 0) == 0) continue;
    // Without row_indices there would be an output for each row of input.
    if (member == "num_row_indices") continue;
    if (last_name(member) == "struct_size") {
      spoil_struct_size(data, member, call);
    } else if (is_shape(member)) {
      call->args().set(member, read_shape(data, member, call->args().get<std::int64_t>(member)));
      keeps_shapes = false;
    } else if (is_stride(member)) {
      call->args().set(member, read_stride(data));
      keeps_shapes = false;
    } else {
      spoil_number(data, member, layout, call);
    }
  }
  return keeps_shapes;
}

// Lets an output lie on another array that is large enough for it. The call must be refused.
bool make_overlap(Data *data, Call *call) {
  const std::vector<std::string> inputs = input_arrays(*call), outputs = call->outputs();
  if (inputs.empty() || outputs.empty() || data->ConsumeIntegralInRange(0, 15) != 0) return false;
  const std::string &output =
      outputs[data->ConsumeIntegralInRange<std::size_t>(0, outputs.size() - 1)];
  const std::string &input =
      inputs[data->ConsumeIntegralInRange<std::size_t>(0, inputs.size() - 1)];
  if (call->array(input).buffer.size() < call->array(output).buffer.size()) return false;
  call->args().set(output, call->args().get<void *>(input));
  return call->args().get<void *>(input) != nullptr;
}

// ---- Running ------------------------------------------------------------------------------------

void check_error_text(const Call &call) {
  const std::string text = sampler_last_error();
  require(!text.empty() && text.size() < 511, call, "error text is empty or cut");
  require(text.find('\n') == std::string::npos, call, "error text has several lines");
}

// Runs the call twice: what it returns and writes is the same.
sampler_status run_twice(Call *call, sampler_t sampler) {
  call->reset_outputs();
  const sampler_status status = call->run(sampler);
  const std::string output = call->output();
  call->reset_outputs();
  require(call->run(sampler) == status, *call, "another status at the second run");
  require(call->output() == output, *call, "another output at the second run");
  return status;
}

void check_refused(const Call &call, sampler_status status) {
  require(status == SAMPLER_ERROR_INVALID_ARGUMENT || status == SAMPLER_ERROR_WORKSPACE_TOO_SMALL,
          call, "a status that no call of a CPU handle has");
  require(call.outputs_are_untouched(), call, "a refused call wrote an output");
  check_error_text(call);
}

// With exactly the workspace that the call asks for, and with one byte fewer.
void check_workspace(Data *data, Call *call, sampler_t sampler) {
  const std::string expected = call->output();
  std::size_t bytes = 0;
  require(call->spec().op().workspace_size(sampler, call->args().data(), &bytes) == SAMPLER_OK,
          *call, "the size of a valid call's workspace");
  const std::size_t misalignment = data->ConsumeIntegralInRange<std::size_t>(0, 63);
  const Buffer memory(bytes + (bytes == 0), misalignment, data->ConsumeIntegral<std::uint8_t>());
  call->args().set<void *>("exec.workspace", memory.data());
  call->args().set("exec.workspace_bytes", bytes);
  call->reset_outputs();
  require(call->run(sampler) == SAMPLER_OK, *call, "a call with all the workspace it needs");
  require(call->output() == expected, *call, "another output with a workspace of its own");
  if (bytes > 0) {
    call->args().set("exec.workspace_bytes", bytes - 1);
    call->reset_outputs();
    require(call->run(sampler) == SAMPLER_ERROR_WORKSPACE_TOO_SMALL, *call,
            "a call with a byte too few");
    require(call->outputs_are_untouched(), *call, "a call with a byte too few wrote");
  }
  call->args().set<void *>("exec.workspace", nullptr);
  call->args().set("exec.workspace_bytes", std::size_t(0));
}

// What follows the count of each row, of values and ids. While it lives AddressSanitizer reports
// any access to it.
class Unread {
 public:
  explicit Unread(Call *call) {
    for (const std::string view : {"input", "target", "draft"}) {
      const std::string counts = view + ".candidate_counts";
      if (!call->has_array(counts) || !call->args().get<void *>(counts)) continue;
      for (const std::string &member : {view + ".values", view + ".candidate_ids"}) {
        if (call->has_array(member)) add(call, view, member);
      }
    }
  }
  ~Unread() {
    for (const auto &[begin, size] : regions_) ASAN_UNPOISON_MEMORY_REGION(begin, size);
  }
  Unread(const Unread &) = delete;
  Unread &operator=(const Unread &) = delete;

 private:
  void add(Call *call, const std::string &view, const std::string &member) {
    const Call::Array &array = call->array(member);
    for (std::int64_t row = 0; row < array.rows; ++row) {
      const std::int64_t count = call->count(view, row);
      if (count < 0 || count >= array.cols) continue;
      unsigned char *const begin = &call->at<unsigned char>(member, row, count);
      const std::size_t size = std::size_t(array.cols - count) * array.element_size;
      ASAN_POISON_MEMORY_REGION(begin, size);
      regions_.emplace_back(begin, size);
    }
  }

  std::vector<std::pair<unsigned char *, std::size_t>> regions_;
};

void check_unread(Call *call, sampler_t sampler) {
  const std::string output = call->output();
  call->reset_outputs();
  {
    const Unread unread(call);
    require(call->run(sampler) == SAMPLER_OK, *call, "a call that had succeeded");
  }
  require(call->output() == output, *call, "another output of the same rows");
}

// Spoils one row of input: no output of another row changes.
void check_neighbours(Data *data, Call *call, sampler_t sampler) {
  const Spec &spec = call->spec();
  if (spec.num_rows < 2 || spec.row_indices) return;
  call->reset_outputs();
  require(call->run(sampler) == SAMPLER_OK, *call, "a call that had succeeded");
  std::vector<std::string> before;
  for (std::int64_t row = 0; row < spec.num_rows; ++row) before.push_back(call->output_row(row));

  const std::int64_t bad = data->ConsumeIntegralInRange<std::int64_t>(0, spec.num_rows - 1);
  const std::int64_t positions = spec.num_positions();
  for (std::int64_t i = 0; i < positions; ++i) {
    call->set_row(spec.values(), bad * positions + i, std::nanf(""));
  }
  call->reset_outputs();
  require(call->run(sampler) == SAMPLER_OK, *call, "a call with a bad row");
  for (std::int64_t row = 0; row < spec.num_rows; ++row) {
    if (row != bad)
      require(call->output_row(row) == before[std::size_t(row)], *call,
              "a bad row changed another one", row);
  }
  if (call->args().get<void *>("out_row_status")) {
    require(call->status(bad) != SAMPLER_ROW_OK, *call, "a row of NaN is bad", bad);
  }
}

void fuzz_call(Data *data) {
  Call call(read_spec(data));
  const bool use_fallback = data->ConsumeBool();
  const sampler_t sampler = use_fallback ? handles().fallback.get() : handles().plain.get();
  spoil_contents(data, &call);
  const bool keeps_shapes = spoil_arguments(data, &call);
  const bool overlaps = make_overlap(data, &call);

  const std::string inputs = call.inputs();
  const sampler_status status = run_twice(&call, sampler);
  if (status != SAMPLER_OK) {
    check_refused(call, status);
    require(call.inputs() == inputs, call, "a refused call wrote an input");
    return;
  }
  if (overlaps) return;  // of arrays that the call does not use, such as those of no rows
  require(call.inputs() == inputs, call, "an input was written");
  if (keeps_shapes) check_outputs(&call, use_fallback ? kFallbackToken : -1);
  if (keeps_shapes) check_unread(&call, sampler);
  const std::string output = call.output();
  check_workspace(data, &call, sampler);
  if (!use_fallback) {
    call.reset_outputs();
    require(call.run(handles().tasks.get()) == SAMPLER_OK, call, "a call in tasks");
    require(call.output() == output, call, "another output in tasks");
  }
  if (keeps_shapes) check_neighbours(data, &call, sampler);
}

// ---- Structs of any contents --------------------------------------------------------------------

// No array is read when only the size is asked, so the structs may hold anything, except where they
// point to other structs.
void fuzz_workspace_size(Data *data) {
  const Operation &op = capi_test::operation(Op(data->ConsumeIntegralInRange(0, int(Op::kScore))));
  Args args(op);
  for (const auto &[member, layout] : op.members) {
    if (data->ConsumeBool()) continue;
    const std::uint64_t bits = read_bits(data, layout.size);
    if (layout.is_pointer && is_struct(member)) {
      if (bits & 1) args.set<void *>(member, nullptr);
    } else if (last_name(member) == "struct_size") {
      if (bits < args.get<std::size_t>(member) || bits > 65536) args.set(member, bits);
    } else if (last_name(member) == "stages") {
      spoil_stages(data, member, &args);
    } else if (layout.size == 8) {
      args.set(member, bits);
    } else {
      args.set(member, std::uint32_t(bits));
    }
  }
  std::size_t bytes = 77;
  const sampler_status status =
      op.workspace_size(data->ConsumeBool() ? handles().plain.get() : handles().tasks.get(),
                        args.data(), data->ConsumeIntegralInRange(0, 15) ? &bytes : nullptr);
  if (status != SAMPLER_OK && (status != SAMPLER_ERROR_INVALID_ARGUMENT || bytes != 77)) {
    std::fprintf(stderr, "%s_workspace_size: status %d, %zu bytes\n", op.name, status, bytes);
    std::abort();
  }
}

// ---- Options ------------------------------------------------------------------------------------

// Blocks that are not released yet. Gives NULL for what no test machine has.
struct Allocator {
  std::map<void *, std::size_t> blocks;
  int num_left;

  static void *allocate(void *user, std::size_t bytes, std::size_t alignment) {
    auto *self = static_cast<Allocator *>(user);
    if (bytes > (std::size_t(64) << 20) || self->num_left-- == 0) return nullptr;
    void *const memory =
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    self->blocks[memory] = bytes;
    return memory;
  }

  static void deallocate(void *user, void *memory, std::size_t bytes, std::size_t) {
    auto *self = static_cast<Allocator *>(user);
    const auto block = self->blocks.find(memory);
    if (block == self->blocks.end() || block->second != bytes) std::abort();
    self->blocks.erase(block);
    std::free(memory);
  }
};

void fuzz_options(Data *data) {
  static const std::int32_t kNumThreads[] = {0, 1, 2, 3, -1, 257, INT32_MIN, INT32_MAX};
  Allocator allocator = {{}, data->ConsumeIntegralInRange(0, 5)};
  sampler_options options = sampler_options_default();
  if (data->ConsumeIntegralInRange(0, 7) == 0)
    options.abi_version = data->ConsumeIntegral<std::uint32_t>();
  if (data->ConsumeIntegralInRange(0, 7) == 0)
    options.device_type = data->ConsumeIntegral<std::int32_t>();
  if (data->ConsumeIntegralInRange(0, 7) == 0)
    options.device_id = data->ConsumeIntegral<std::int32_t>();
  if (data->ConsumeIntegralInRange(0, 7) == 0)
    options.reserved = data->ConsumeIntegral<std::int32_t>();
  options.num_threads = data->PickValueInArray(kNumThreads);
  options.max_rows = std::int64_t(read_bits(data, 8));
  options.max_cols = std::int64_t(read_bits(data, 8));
  options.fallback_token_id = std::int64_t(read_bits(data, 8));
  options.use_fallback_token = data->ConsumeIntegralInRange(-1, 2);
  options.host_parameters = data->ConsumeIntegralInRange(-1, 2);
  options.check_pointers = data->ConsumeIntegralInRange(-1, 2);
  if (data->ConsumeBool()) options.parallel_for = &run_backwards;
  options.allocator.allocate = &Allocator::allocate;
  options.allocator.deallocate =
      data->ConsumeIntegralInRange(0, 7) ? &Allocator::deallocate : nullptr;
  options.allocator.user = &allocator;

  sampler_t sampler = reinterpret_cast<sampler_t>(&allocator);
  const sampler_status status = sampler_create(&options, &sampler);
  if ((status == SAMPLER_OK) != (sampler != nullptr)) std::abort();
  if (status != SAMPLER_OK && !allocator.blocks.empty()) std::abort();
  if (status == SAMPLER_ERROR_CALLBACK || status == SAMPLER_ERROR_INTERNAL) std::abort();
  sampler_destroy(sampler);
  if (!allocator.blocks.empty()) std::abort();
}

// ---- Presets ------------------------------------------------------------------------------------

void fuzz_preset(Data *data) {
  const bool any_size = data->ConsumeIntegralInRange(0, 3) == 0;
  const std::size_t size =
      any_size ? data->ConsumeIntegralInRange<std::size_t>(0, 70000) : sizeof(sampler_params);
  const char *const known = sampler_preset_name(data->ConsumeIntegral<std::int8_t>());
  std::string name = known && data->ConsumeBool() ? known : "";
  name += data->ConsumeRandomLengthString(40);
  std::vector<unsigned char> params(std::max(size, sizeof(sampler_params)), 0xA5);
  auto *const out = reinterpret_cast<sampler_params *>(params.data());
  const sampler_status status = sampler_params_preset(out, size, name.c_str());
  if (status != SAMPLER_OK) {
    if (status != SAMPLER_ERROR_INVALID_ARGUMENT) std::abort();
    if (std::count(params.begin(), params.end(), 0xA5) != std::ptrdiff_t(params.size())) {
      std::abort();
    }
  } else if (out->struct_size != size || !(out->temperature > 0)) {
    std::abort();
  }
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  switch (data.ConsumeIntegralInRange(0, 15)) {
    case 0:
      fuzz::fuzz_options(&data);
      break;
    case 1:
      fuzz::fuzz_workspace_size(&data);
      break;
    case 2:
      fuzz::fuzz_preset(&data);
      break;
    default:
      fuzz::fuzz_call(&data);
  }
  return 0;
}
