/* What the tables of generated.c are made of: structs of the C API and their members. */
#ifndef LIBSAMPLER_PYTHON_MEMBERS_H
#define LIBSAMPLER_PYTHON_MEMBERS_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <sampler/sampler.h>
#include <stddef.h>
#include <stdint.h>

/* What a member is. Those from KIND_STREAM on are written into the struct as they are set. */
typedef enum {
  KIND_OBJECT, /* an array, a view, a struct, a handle: looked at when the call is made */
  KIND_STREAM,
  KIND_ADDRESS,
  KIND_I32,
  KIND_U32,
  KIND_I64,
  KIND_U64,
  KIND_SIZE,
  KIND_F32,
  KIND_F64,
  KIND_I32S, /* an array in the struct */
  KIND_F32S
} Kind;

/* What the elements of an array are, or, the last ones, may be. */
typedef enum {
  ELEMENT_NONE,
  ELEMENT_F32,
  ELEMENT_F16,
  ELEMENT_BF16,
  ELEMENT_F64,
  ELEMENT_I8,
  ELEMENT_I32,
  ELEMENT_I64,
  ELEMENT_U8,
  ELEMENT_U16,
  ELEMENT_U32,
  ELEMENT_U64,
  ELEMENT_OTHER,
  ELEMENT_FLOATS, /* f32, f16, bf16 */
  ELEMENT_IDS,    /* i32, i64 */
  ELEMENT_BYTES   /* any */
} Element;

typedef struct Member {
  const char *name;
  const char *label; /* as errors name it: "random.seeds" */
  size_t offset;
  Kind kind;
  Element element;
  int is_output;
  int object; /* its number among the struct's objects; -1: it is none */
  int result; /* its number among the call's results; -1: it is none */
  int length; /* of an array in the struct */
  const char *doc;
} Member;

typedef struct Default {
  int member;
  float value;
} Default;

typedef struct Struct {
  const char *name;
  const Member *members;
  int num_members;
  int num_objects;
  size_t size;
  int has_struct_size; /* the first member */
  const Default *defaults;
  int num_defaults;
  const char *const *results; /* names of a call's results, then NULL */
  PyObject **names;           /* interned, [num_members] */
  PyTypeObject **result_type;
  const char *doc;
} Struct;

enum { MAX_MEMBERS = 64, MAX_OBJECTS = 40 };

/* The members of one struct as a caller gives them. */
typedef struct Fields {
  const Struct *of;
  char *data;         /* the struct */
  PyObject **objects; /* [of->num_objects] borrowed; NULL: not given */
  uint64_t given;     /* bit i: member i was given */
} Fields;

/* Sets all to the defaults. */
void fields_init(Fields *fields, const Struct *of, void *data, PyObject **objects);

/* Sets a member; None: to its default. -1 with an exception. */
int fields_set(Fields *fields, int index, PyObject *value);

/* Arguments of a call: `positional` members [num_positional] may come without a name. */
int fields_parse(Fields *fields, const char *function, const int *positional, int num_positional,
                 PyObject *const *arguments, Py_ssize_t num_arguments, PyObject *names);

static inline int fields_given(const Fields *fields, int index) {
  return (int)(fields->given >> index & 1);
}

/* The member of that name, or -1. */
int struct_find(const Struct *of, PyObject *name);

#endif
