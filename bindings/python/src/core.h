/* What the files of the extension share. */
#ifndef LIBSAMPLER_PYTHON_CORE_H
#define LIBSAMPLER_PYTHON_CORE_H

#include "members.h"

/* ---- Errors --------------------------------------------------------------------------------- */

/* The exception of a status. */
PyObject *error_of(sampler_status status);

/* Raises the exception of a status with the library's last error; returns NULL. */
PyObject *raise_status(sampler_status status);

/* An object that was closed; returns NULL. */
PyObject *raise_closed(const char *what);

int add_errors(PyObject *module);

/* ---- Numbers -------------------------------------------------------------------------------- */

/* -1 with a TypeError, or where the value is no such number. Labels are as errors name them. */
int to_i64(const char *label, PyObject *value, int64_t *out);
int to_u64(const char *label, PyObject *value, uint64_t *out);
int to_i32(const char *label, PyObject *value, int32_t *out);
int to_f32(const char *label, PyObject *value, float *out);
int to_stream(const char *label, PyObject *value, sampler_stream *out);

/* An optional argument; NULL where it is None. */
static inline PyObject *unless_none(PyObject *argument) {
  return argument == Py_None ? NULL : argument;
}

/* Numbers of elements: 0 where a factor is not positive, since C then reads nothing or refuses the
 * call, and the largest where they would be larger. */
int64_t product(int64_t a, int64_t b);
int64_t sum(int64_t a, int64_t b);
/* The extent of rows of num_cols columns; stride 0 is num_cols. */
int64_t extent(int64_t num_rows, int64_t num_cols, int64_t stride);
static inline int64_t first_nonzero(int64_t a, int64_t b) {
  return a ? a : b;
}

/* ---- Handles -------------------------------------------------------------------------------- */

/* A state or a session: the sampler destroys those that are open as it closes. */
typedef struct Child {
  PyObject_HEAD struct SamplerObject *sampler; /* a reference */
  struct Child *previous, *next;               /* of the sampler's */
  void (*destroy)(struct Child *child);
  void *handle; /* NULL: closed */
} Child;

typedef struct SamplerObject {
  PyObject_HEAD sampler_t handle; /* NULL: closed */
  int32_t device_type;
  int32_t device_id;
  int host_parameters;
  int has_workspace; /* of its own: max_rows and max_cols were given */
  unsigned busy;     /* the process's number while a call runs; 0: none does */
  Child *children;
  void *workspace; /* kept from call to call, of a CPU sampler; it grows only */
  size_t workspace_bytes;
  PyObject *log;
} SamplerObject;

/* 1, and another one in each child process that was forked. */
extern unsigned process_number;

/* Marks the sampler as serving a call. -1 where it is closed, or serves another one. */
int sampler_enter(SamplerObject *sampler);
void sampler_leave(SamplerObject *sampler);

void child_adopt(Child *child, SamplerObject *sampler);
void child_close(Child *child);

extern PyTypeObject *sampler_type, *state_type, *session_type, *storage_type, *lookup_type;
int add_sampler_type(PyObject *module);
int add_state_type(PyObject *module);
int add_session_type(PyObject *module);
int add_ngram_types(PyObject *module);

typedef struct StateObject {
  Child child;
  int64_t num_slots;
} StateObject;

/* N-grams, of which sessions keep a reference. */
typedef struct NgramObject {
  PyObject_HEAD void *handle; /* NULL: closed */
  sampler_ngram ngram;
  int is_lookup;
  unsigned busy;
  int64_t holds; /* of sessions; while there are any it cannot be closed */
} NgramObject;

/* ---- Struct objects ------------------------------------------------------------------------- */

/* Params, Rows, Pipeline ...: a struct of C and the objects that its pointers stand for. */
typedef struct StructObject {
  PyObject_HEAD const Struct *of;
  uint64_t given;
  /* Then the struct, and the objects. */
} StructObject;

int add_struct_types(PyObject *module);
PyTypeObject *struct_type(const Struct *of);

/* What it holds; objects are borrowed from it. */
Fields struct_fields(PyObject *object);

/* Interns the names of a table, and makes the type of its results where it has any. */
int prepare_struct(PyObject *module, const Struct *of, const char *result_name);

/* ---- Arrays --------------------------------------------------------------------------------- */

enum { MAX_DIMS = 8 };

typedef struct Array {
  char *data;
  int64_t count; /* elements */
  int ndim;
  int64_t shape[MAX_DIMS];
  int64_t strides[MAX_DIMS]; /* in elements */
  Element element;
  int64_t item_bytes;
  int32_t device_type, device_id; /* of DLPack */
  int is_readonly;
  int is_contiguous;
} Array;

const char *element_name(Element element);
/* Whether all dimensions but one are 1. */
int is_vector(const Array *array);
/* The last of several dimensions; 0 of a flat array. */
int64_t columns_of(const Array *array);

/* ---- Calls ---------------------------------------------------------------------------------- */

enum { MAX_HELD = 200, MAX_WANTED = 32, MAX_RESULTS = 24 };

typedef struct Held {
  PyObject *owner; /* NULL: `view` holds it */
  Py_buffer view;
} Held;

/* An output that the call allocates. */
typedef struct Wanted {
  const Fields *fields;
  const Member *member;
  PyObject **result;
  Element element;
  int ndim;
  int64_t shape[3];
} Wanted;

/* One call: its arrays, which are held until it has returned, and the first rule that its arguments
 * break on Python's side. All other rules are the library's. */
typedef struct Call {
  SamplerObject *sampler;
  const char *function;
  int is_sizing;  /* a workspace's size: neither lengths nor places matter */
  int is_on_host; /* a session's: arrays are in host memory on every sampler */
  int is_entered;
  int has_stream; /* it was given */
  sampler_stream stream;
  PyObject *like; /* what allocated outputs are to be like, borrowed */
  int num_held, num_wanted;
  char broken[400];
  PyObject *results[MAX_RESULTS], *report_results[MAX_RESULTS];

  /* What the arguments point to. */
  sampler_params params, draft_params;
  sampler_row_params row_params, draft_row_params;
  sampler_pipeline pipeline;
  sampler_report_args reports;
  sampler_draft_layout layout;
  sampler_acceptance_params acceptance;
  sampler_unmask_params unmask;
  Fields report_fields;

  /* The ids that came before, for which C has one type. */
  char id_label[64];
  Element id_element;

  Wanted wanted[MAX_WANTED];
  Held held[MAX_HELD];
} Call;

/* -1 where the sampler is closed or serves another call. */
int call_begin(Call *call, SamplerObject *sampler, const char *function);
/* Releases arrays, results and the sampler. */
void call_end(Call *call);

/* Remembers the first rule that is broken. */
void call_break(Call *call, const char *format, ...);
/* -1 with an exception where a rule is broken. */
int call_check(const Call *call);

/* Looks at an array, and holds it. -1 with an exception where it is none. */
int call_hold(Call *call, const char *of, const char *label, PyObject *object, Array *out);

/* Keeps an object until the call has returned. */
int call_keep(Call *call, PyObject *object);

typedef enum {
  PLACE_DEVICE,    /* the sampler's memory */
  PLACE_PARAMETER, /* host memory with host_parameters */
  PLACE_HOST
} Place;

/* The columns of what has one element for each row, slot or sequence. */
enum { ONE_DIMENSION = -1 };

/* Members of `fields`. `of` is what errors say before the label. Each returns -1 with an exception,
 * and does nothing where the member was not given. */

/* An array of at least `needed` elements. */
int take_array(Call *call, Fields *fields, const char *of, int index, int64_t needed, Place place);
/* The same of rows, of so many columns where it has dimensions. */
int take_matrix(Call *call, Fields *fields, const char *of, int index, int64_t needed, int64_t cols,
                Place place);
/* A table: rows whose number and stride follow from an array's dimensions; the stride of a flat one
 * is `cols` by default. */
int take_table(Call *call, Fields *fields, const char *of, int index, int number_index,
               int stride_index, int64_t cols);
/* Rows laid out like the call's, and of their type. */
int take_guidance_rows(Call *call, Fields *fields, const char *of, int index, int number_index,
                       const sampler_rows *rows);
/* The same, and how many elements there are: those given by the member `count`, else all. */
int take_counted(Call *call, Fields *fields, const char *of, int index, int count, Place place);
/* The same, of which the call also writes. */
int take_inout(Call *call, Fields *fields, const char *of, int index, int64_t needed);
int take_inout_ids(Call *call, Fields *fields, const char *of, int index, int64_t needed);
/* Ids of the type of those before; columns as those of take_matrix, or ONE_DIMENSION. */
int take_ids(Call *call, Fields *fields, const char *of, int index, int64_t needed, int64_t cols);

/* An output: an array, True for one that the call allocates, False for none; by default it is
 * allocated where `is_main`. */
int take_output(Call *call, Fields *fields, const char *of, int index, int is_main, int ndim,
                int64_t rows, int64_t cols);
/* The same of rows, [rows, cols], of f32 or the type that the member `type_index` gives. With a
 * stride of its own, that of an array's dimensions, where `stride_index` is not negative. */
int take_floats(Call *call, Fields *fields, int index, int is_main, int64_t rows, int64_t cols,
                int type_index, int stride_index);
int allocate_outputs(Call *call);

/* Sets the number of columns of two arrays of `rows` rows, where it is not given. */
void find_number(Call *call, Fields *fields, const char *of, int number_index, int first_index,
                 int second_index, int64_t rows);

/* 1: how an array lies, without holding it; 0: it is none. */
int shape_of(Call *call, PyObject *object, Array *out);
/* How many elements an array has; 0 where it is none. */
int64_t length_of(Call *call, PyObject *object);

/* Rows: an array of two or more dimensions, or an object of Rows. */
int take_rows(Call *call, Fields *fields, int index, sampler_rows *out);
/* Its elements, which are checked once it is known which of them the call reads. */
typedef struct RowsArray {
  Array values, ids;
  int has_values, has_ids;
  int is_flat;   /* numbers of Rows say how it lies, not its dimensions */
  int64_t reach; /* elements from the first value to the last one */
} RowsArray;
int take_rows_array(Call *call, Fields *fields, int index, sampler_rows *out, RowsArray *arrays);
void check_rows(Call *call, const char *of, const RowsArray *arrays, int64_t elements);
/* Rows of sequences have num_positions each. */
void check_positions(Call *call, const char *label, const RowsArray *rows, int64_t num_positions);

/* How many parameters, seeds and offsets there are: those of slots, or of rows. Where num_slots,
 * which follows slots, is not given, the members `by_slot`, then -1, tell it. */
int64_t count_slots(Call *call, Fields *fields, int slots_index, const int *by_slot,
                    int64_t num_rows);

int take_exec(Call *call, Fields *fields, int stream_index, sampler_exec *exec);
int take_random(Call *call, Fields *fields, int seed_index, int64_t num_slots);
int take_lists(Call *call, const char *of, PyObject *object, sampler_token_lists *out);

/* The members of a struct's object, copied to `memory`. -1 with an exception where it is none. */
int given_object(const char *label, PyObject *object, const Struct *of, void *memory, Fields *out);

/* Structs that the arguments point to; NULL where they were not given. */
int take_params(Call *call, Fields *fields, int index, sampler_params *memory,
                const sampler_params **out);
int take_row_params(Call *call, Fields *fields, int index, int64_t num_slots,
                    sampler_row_params *memory, const sampler_row_params **out);
/* `rows`: the call's logits, with all that is known of them. */
int take_pipeline(Call *call, Fields *fields, int index, const sampler_rows *rows,
                  int64_t num_slots, int64_t num_rows, const sampler_pipeline **out);
int take_reports(Call *call, Fields *fields, int index, int64_t num_rows, int64_t num_cols,
                 const sampler_report_args **out);
int take_acceptance(Call *call, Fields *fields, int index, int64_t num_drafts,
                    const sampler_acceptance_params **out);
int take_unmask_params(Call *call, Fields *fields, int index, const sampler_unmask_params **out);

int take_layout(Call *call, Fields *fields, int index, Fields *memory);

typedef enum {
  OPERATION_SAMPLE,
  OPERATION_SCORE,
  OPERATION_FILTER,
  OPERATION_SELECT,
  OPERATION_VERIFY,
  OPERATION_RESIDUAL,
  OPERATION_UNMASK
} Operation;

sampler_status operation_run(Operation operation, sampler_t handle, const void *args);
/* The bytes of its workspace. */
sampler_status operation_size(Operation operation, sampler_t handle, const void *args,
                              size_t *out_bytes);

/* Allocates outputs and makes the call, with the sampler's workspace where it brings none. -1 with
 * an exception. */
int call_run(Call *call, Operation operation, void *args, sampler_exec *exec);

/* The results of a call as an object of its type. */
PyObject *call_results(Call *call, const Struct *of);

/* The address of a member that is not a pointer. */
#define FIELD(fields, type, index) ((type *)((fields)->data + (fields)->of->members[index].offset))

/* The object of a member; NULL where it was not given. */
#define OBJECT(fields, index) ((fields)->objects[(fields)->of->members[index].object])

/* ---- Watermarks ----------------------------------------------------------------------------- */

PyObject *watermark_random(PyObject *module, PyObject *arguments, PyObject *keywords);
PyObject *watermark_detect(PyObject *module, PyObject *arguments, PyObject *keywords);
PyObject *watermark_table(PyObject *module, PyObject *arguments, PyObject *keywords);
PyObject *watermark_bias(PyObject *module, PyObject *arguments, PyObject *keywords);
PyObject *watermark_tournament(PyObject *module, PyObject *arguments, PyObject *keywords);
PyObject *watermark_score(PyObject *module, PyObject *arguments, PyObject *keywords);

/* ---- Custom calls of XLA -------------------------------------------------------------------- */

PyObject *xla_handlers(PyObject *module, PyObject *ignored);
PyObject *xla_numbers(PyObject *module, PyObject *object);
PyObject *xla_check(PyObject *module, PyObject *arguments);

#endif
