/* Sums of squares of features and their products with a few columns, in one go through memory.

   Every value is converted to double, and goes into all sums of its feature from a register; NumPy
   would write it back and read it again for each. The order of the additions depends neither on
   where a feature lies nor on which of the instruction sets is used, and all of them multiply and
   add with one rounding: so the bytes are the same.

   There are sets for x86-64 with AVX2 or AVX-512. Elsewhere SETS is empty, and NumPy is used. */

#define _GNU_SOURCE
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define MOST_COLUMNS 16
#define WIDE 5
#define MOST_SAMPLES (PY_SSIZE_T_MAX / 16) /* the bytes of a padded feature can be counted */

enum type { FLOAT, DOUBLE };

struct problem {
    enum type type;
    size_t samples, width;
    Py_ssize_t reference;  /* the sample whose value is subtracted; below 0 for none */
    const double *scale;   /* a factor for each sample, up to a multiple of 8, or NULL */
    const double *columns; /* [group of 8 samples][column][sample of the group] */
};

ALWAYS_INLINE double value(const char *row, size_t at, enum type type)
{
    return type == FLOAT ? (double)((const float *)row)[at] : ((const double *)row)[at];
}

ALWAYS_INLINE double lanes_added(const double *lane)
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

#if defined(__x86_64__)
#define SET _avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 4
#define ROWS 1
#include "_moments_rows.h"
#undef SET
#undef TARGET
#undef LANES
#undef ROWS

#define SET _avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define LANES 8
#define ROWS 4
#include "_moments_rows.h"
#undef SET
#undef TARGET
#undef LANES
#undef ROWS
#endif

/* Values of so many features; their squares, and products of each column `apart` from the next. */
typedef void (*sums)(const struct problem *, const char *, size_t, size_t, double *, double *);

static const struct {
    const char *name;
    sums run;
} SETS[] = {
#if defined(__x86_64__)
    {"avx512", sums_avx512},
    {"avx2", sums_avx2},
#endif
    {NULL, NULL},
};

static int runs_here(const char *name)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (!strcmp(name, "avx512"))
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    return avx2;
#else
    return 0;
#endif
}

/* The arguments that both functions share, and what was made of them. */
struct call {
    Py_buffer columns, scale, squares, products;
    struct problem problem;
    sums run;
    size_t count;
};

static int refuse(const char *what)
{
    PyErr_SetString(PyExc_ValueError, what);
    return 0;
}

static int check(struct call *call, const char *set, Py_ssize_t samples, Py_ssize_t itemsize)
{
    struct problem *problem = &call->problem;
    if (samples < 1 || (itemsize != sizeof(float) && itemsize != sizeof(double)))
        return refuse("features have samples, in 4 or 8 bytes each");
    if (samples > MOST_SAMPLES)
        return refuse("features have too many samples");
    size_t padded = ((size_t)samples + 7) / 8 * 8;
    problem->type = itemsize == sizeof(float) ? FLOAT : DOUBLE;
    problem->samples = (size_t)samples;
    problem->columns = call->columns.buf;
    problem->scale = call->scale.len ? call->scale.buf : NULL;
    problem->width = (size_t)call->columns.len / (padded * sizeof(double));
    call->count = (size_t)call->squares.len / sizeof(double);
    if ((size_t)call->columns.len != problem->width * padded * sizeof(double) ||
        problem->width > MOST_COLUMNS)
        return refuse("columns are of another size, or too many");
    if (problem->scale && (size_t)call->scale.len != padded * sizeof(double))
        return refuse("factors are not one for each sample");
    if ((size_t)call->products.len != call->count * problem->width * sizeof(double))
        return refuse("products are not one for each feature and column");
    if (problem->reference >= samples)
        return refuse("there is no such sample to subtract");
    for (int i = 0; SETS[i].name; i++)
        if (!strcmp(set, SETS[i].name) && runs_here(set)) {
            call->run = SETS[i].run;
            return 1;
        }
    return refuse("this processor does not have those instructions");
}

static void release(struct call *call)
{
    PyBuffer_Release(&call->columns);
    PyBuffer_Release(&call->scale);
    PyBuffer_Release(&call->squares);
    PyBuffer_Release(&call->products);
}

PyDoc_STRVAR(of_values_doc,
"of_values(values, samples, itemsize, set, reference, scale, columns, squares, products)\n\n"
"Sums of features in memory. See the stub for the parameters.");

static PyObject *of_values(PyObject *module, PyObject *args)
{
    struct call call = {0};
    Py_buffer values;
    Py_ssize_t samples, itemsize;
    const char *set;
    if (!PyArg_ParseTuple(args, "y*nnsny*y*w*w*", &values, &samples, &itemsize, &set,
                          &call.problem.reference, &call.scale, &call.columns, &call.squares,
                          &call.products))
        return NULL;
    int fine = check(&call, set, samples, itemsize);
    size_t row = (size_t)samples * (size_t)itemsize;
    if (fine && ((size_t)values.len % row || (size_t)values.len / row != call.count))
        fine = refuse("values are not one for each feature and sample");
    if (fine) {
        Py_BEGIN_ALLOW_THREADS
        call.run(&call.problem, values.buf, call.count, call.count, call.squares.buf,
                 call.products.buf);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&values);
    release(&call);
    if (!fine)
        return NULL;
    Py_RETURN_NONE;
}

/* Fill a buffer from a file; return 0, or the error number, or -1 where the file ends. */
static int filled(int descriptor, char *buffer, size_t length, off_t offset)
{
    while (length) {
        ssize_t got = pread(descriptor, buffer, length, offset);
        if (got == 0)
            return -1;
        if (got < 0 && errno != EINTR)
            return errno;
        if (got > 0) {
            buffer += got;
            offset += got;
            length -= (size_t)got;
        }
    }
    return 0;
}

PyDoc_STRVAR(of_file_doc,
"of_file(descriptor, offset, buffer, samples, itemsize, set, reference, scale, columns, squares,\n"
"products)\n\nSums of features in a file. See the stub for the parameters.");

static PyObject *of_file(PyObject *module, PyObject *args)
{
    struct call call = {0};
    Py_buffer buffer;
    int descriptor, failed = 0;
    long long offset;
    Py_ssize_t samples, itemsize;
    const char *set;
    if (!PyArg_ParseTuple(args, "iLw*nnsny*y*w*w*", &descriptor, &offset, &buffer, &samples,
                          &itemsize, &set, &call.problem.reference, &call.scale, &call.columns,
                          &call.squares, &call.products))
        return NULL;
    int fine = check(&call, set, samples, itemsize);
    size_t row = (size_t)samples * (size_t)itemsize;
    size_t most = fine ? (size_t)buffer.len / row : 0;
    if (fine && !most)
        fine = refuse("the buffer does not take a feature");
    if (fine) {
        Py_BEGIN_ALLOW_THREADS
        for (size_t i = 0; i < call.count && !failed; i += most) {
            size_t count = call.count - i < most ? call.count - i : most;
            failed = filled(descriptor, buffer.buf, count * row, (off_t)offset + (off_t)(i * row));
            if (!failed)
                call.run(&call.problem, buffer.buf, count, call.count,
                         (double *)call.squares.buf + i, (double *)call.products.buf + i);
        }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&buffer);
    release(&call);
    if (!fine)
        return NULL;
    if (failed < 0) {
        PyErr_SetString(PyExc_EOFError, "the file ends before its last value");
        return NULL;
    }
    if (failed) {
        errno = failed;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"of_values", of_values, METH_VARARGS, of_values_doc},
    {"of_file", of_file, METH_VARARGS, of_file_doc},
    {NULL, NULL, 0, NULL},
};

/* SETS: the names of the instruction sets that this processor has, the widest first. */
static int add_constants(PyObject *module)
{
    PyObject *names = PyList_New(0);
    if (!names)
        return -1;
    for (int i = 0; SETS[i].name; i++) {
        if (!runs_here(SETS[i].name))
            continue;
        PyObject *name = PyUnicode_FromString(SETS[i].name);
        int bad = !name || PyList_Append(names, name);
        Py_XDECREF(name);
        if (bad) {
            Py_DECREF(names);
            return -1;
        }
    }
    PyObject *tuple = PyList_AsTuple(names);
    Py_DECREF(names);
    int bad = !tuple || PyModule_AddObjectRef(module, "SETS", tuple);
    Py_XDECREF(tuple);
    return bad || PyModule_AddIntConstant(module, "MOST_COLUMNS", MOST_COLUMNS) ||
                   PyModule_AddIntConstant(module, "GROUP", 8) ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, add_constants}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_moments",
    .m_doc = "Sums of squares and of products of features, in one go through memory.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__moments(void) { return PyModuleDef_Init(&definition); }
