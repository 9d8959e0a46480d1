/* Calls of programs from Python: arguments become addresses, results are allocated, and large
programs release the GIL.

A program does not use Python: `int run(char** in, char** out, char* work, void** loops)` returns 0,
or 1 if a guard fails. This file is compiled once for each Python and NumPy; programs are compiled
without their headers. */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

typedef int (*run_t)(char**, char**, char*, void**);
enum { ARRAY, SCALAR, FLOAT, BOOL };
enum { MOST = 64, KEPT = 1 << 26 };

typedef struct {
    int kind, nd;
    PyArray_Descr* dtype;
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    npy_intp low, span;              /* of an input: offset and length of its memory */
} Spec;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    run_t run;
    Py_ssize_t n_in, n_out, work;
    int guarded, large;
    Spec *in, *out;
    void** loops;
    void* kept;                      /* one workspace, returned by the last call */
    PyObject *owner, *miss;
} Native;

static void spec_clear(Spec* specs, Py_ssize_t n) {
    for (Py_ssize_t i = 0; specs && i < n; i++) Py_XDECREF(specs[i].dtype);
    free(specs);
}

static int spec_read(PyObject* list, Spec** found, Py_ssize_t* n) {
    *n = PyList_GET_SIZE(list);
    *found = calloc(*n + 1, sizeof(Spec));
    if (!*found) { PyErr_NoMemory(); return -1; }
    for (Py_ssize_t i = 0; i < *n; i++) {
        Spec* s = *found + i;
        PyObject *dims, *strides, *dtype;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "iO!O!O!nn", &s->kind,
                              &PyArrayDescr_Type, &dtype, &PyTuple_Type, &dims,
                              &PyTuple_Type, &strides, &s->low, &s->span)) return -1;
        s->nd = (int)PyTuple_GET_SIZE(dims);
        if (s->nd > NPY_MAXDIMS) { PyErr_SetString(PyExc_ValueError, "too many axes"); return -1; }
        for (int d = 0; d < s->nd; d++) {
            s->dims[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(dims, d));
            s->strides[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, d));
        }
        if (PyErr_Occurred()) return -1;
        Py_INCREF(dtype);
        s->dtype = (PyArray_Descr*)dtype;
    }
    return 0;
}

/* Whether an array has the strides that the program reads it by. */
static int laid_out(Spec* s, PyArrayObject* a) {
    for (int d = 0; d < s->nd; d++)
        if (s->dims[d] > 1 && PyArray_STRIDE(a, d) != s->strides[d]) return 0;
    return 1;
}

/* The address of an argument; a number is written to `room`, and an array that is unaligned, or
laid out in another way than when the program was recorded, is copied. */
static char* taken(Spec* s, PyObject* x, char* room, void** copy) {
    if (s->kind == ARRAY) {
        PyArrayObject* a = (PyArrayObject*)x;
        if (!PyArray_Check(x) || PyArray_NDIM(a) != s->nd
            || !PyArray_CompareLists(PyArray_DIMS(a), s->dims, s->nd)) {
            PyErr_SetString(PyExc_TypeError, "an array of another shape is wanted");
            return NULL;
        }
        char* data = PyArray_BYTES(a);
        if (s->span == 0 || (PyArray_ISALIGNED(a) && laid_out(s, a))) return data;
        char* own = malloc(s->span);
        if (!own) { PyErr_NoMemory(); return NULL; }
        *copy = own;
        Py_INCREF(s->dtype);
        PyObject* same = PyArray_NewFromDescr(&PyArray_Type, s->dtype, s->nd, s->dims, s->strides,
                                              own - s->low, NPY_ARRAY_WRITEABLE, NULL);
        int failed = !same || PyArray_CopyInto((PyArrayObject*)same, a);
        Py_XDECREF(same);
        return failed ? NULL : own - s->low;
    }
    if (s->kind == SCALAR) {
        PyArray_ScalarAsCtype(x, room);
    } else if (s->kind == BOOL) {
        *room = x == Py_True;
    } else {
        double number = PyFloat_AsDouble(x);
        if (number == -1.0 && PyErr_Occurred()) return NULL;
        memcpy(room, &number, sizeof number);
    }
    return room;
}

static PyObject* fresh(Spec* s) {
    Py_INCREF(s->dtype);
    return PyArray_NewFromDescr(&PyArray_Type, s->dtype, s->nd, s->dims, s->strides, NULL, 0, NULL);
}

static PyObject* number(Spec* s, char* room) {
    if (s->kind == SCALAR) return PyArray_Scalar(room, s->dtype, NULL);
    if (s->kind == BOOL) return PyBool_FromLong(*room);
    double x;
    memcpy(&x, room, sizeof x);
    return PyFloat_FromDouble(x);
}

static PyObject* native_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
    Native* p = (Native*)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (n != p->n_in || (names && PyTuple_GET_SIZE(names))) {
        PyErr_Format(PyExc_TypeError, "%zd operands are wanted, not %zd", p->n_in, n);
        return NULL;
    }
    char *small[2 * MOST], *room = NULL;
    char **in = small, **out = small + n, *work = NULL, *rooms = NULL;
    char fixed[16 * MOST] __attribute__((aligned(16)));
    void* copies_small[MOST] = {0};
    void** copies = copies_small;
    PyObject *results_small[MOST], **results = results_small, *answer = NULL;
    Py_ssize_t made = 0;
    rooms = fixed;
    if (n > MOST || p->n_out > MOST || n + p->n_out > MOST) {
        in = malloc((n + p->n_out) * sizeof *in);
        rooms = malloc(16 * (n + p->n_out) + 16);
        copies = calloc(n + 1, sizeof *copies);
        results = malloc((p->n_out + 1) * sizeof *results);
        if (!in || !rooms || !copies || !results) { PyErr_NoMemory(); goto done; }
        out = in + n;
    }
    room = rooms;
    for (Py_ssize_t i = 0; i < n; i++, room += 16)
        if (!(in[i] = taken(p->in + i, args[i], room, copies + i))) goto done;
    for (Py_ssize_t i = 0; i < p->n_out; i++, room += 16) {
        results[i] = NULL;
        if (p->out[i].kind == ARRAY) {
            if (!(results[i] = fresh(p->out + i))) { made = i; goto done; }
            out[i] = PyArray_BYTES((PyArrayObject*)results[i]);
        } else {
            out[i] = room;
        }
        made = i + 1;
    }
    if (p->work) {
        work = __atomic_exchange_n(&p->kept, NULL, __ATOMIC_ACQ_REL);
        if (!work && !(work = aligned_alloc(64, p->work))) { PyErr_NoMemory(); goto done; }
    }
    int missed;
    if (p->large) {
        Py_BEGIN_ALLOW_THREADS
        missed = p->run(in, out, work, p->loops);
        Py_END_ALLOW_THREADS
    } else {
        missed = p->run(in, out, work, p->loops);
    }
    if (PyErr_Occurred()) goto done;   /* a NumPy loop has raised, as that of integer powers may */
    if (missed && !p->guarded) { Py_INCREF(p->miss); answer = p->miss; goto done; }
    for (Py_ssize_t i = 0; i < p->n_out; i++)
        if (!results[i] && !(results[i] = number(p->out + i, out[i]))) goto done;
    if (p->n_out == 0 && p->guarded) {
        answer = PyBool_FromLong(!missed);   /* a single result is not in a tuple */
    } else if (p->n_out == 1 && !p->guarded) {
        answer = results[0];
        results[0] = NULL;
    } else if ((answer = PyTuple_New(p->n_out + p->guarded))) {
        for (Py_ssize_t i = 0; i < p->n_out; i++) {
            PyTuple_SET_ITEM(answer, i, results[i]);
            results[i] = NULL;
        }
        if (p->guarded) PyTuple_SET_ITEM(answer, p->n_out, PyBool_FromLong(!missed));
    }
done:
    if (work) {
        if (p->work > KEPT) free(work);
        else free(__atomic_exchange_n(&p->kept, work, __ATOMIC_ACQ_REL));
    }
    for (Py_ssize_t i = 0; copies && i < n; i++) free(copies[i]);
    for (Py_ssize_t i = 0; i < made; i++) Py_XDECREF(results[i]);
    if (in != small) free(in);
    if (rooms != fixed) free(rooms);
    if (copies != copies_small) free(copies);
    if (results != results_small) free(results);
    return answer;
}

static PyObject* native_new(PyTypeObject* type, PyObject* args, PyObject* names) {
    PyObject *in, *out, *loops, *owner;
    unsigned long long run;
    Py_ssize_t work;
    int guarded, large;
    (void)names;
    if (!PyArg_ParseTuple(args, "KO!O!O!npp" "O", &run, &PyList_Type, &in, &PyList_Type, &out,
                          &PyList_Type, &loops, &work, &guarded, &large, &owner)) return NULL;
    Native* p = (Native*)type->tp_alloc(type, 0);
    if (!p) return NULL;
    p->call = native_call;
    p->run = (run_t)(uintptr_t)run;
    p->work = (work + 63) / 64 * 64;
    p->guarded = guarded;
    p->large = large;
    Py_INCREF(owner);
    p->owner = owner;
    Py_INCREF(Py_None);
    p->miss = Py_None;
    Py_ssize_t n = PyList_GET_SIZE(loops);
    p->loops = calloc(n + 1, sizeof(void*));
    if (!p->loops || spec_read(in, &p->in, &p->n_in) || spec_read(out, &p->out, &p->n_out)) {
        Py_DECREF(p);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        p->loops[i] = (void*)(uintptr_t)PyLong_AsUnsignedLongLong(PyList_GET_ITEM(loops, i));
    if (PyErr_Occurred()) { Py_DECREF(p); return NULL; }
    return (PyObject*)p;
}

static void native_dealloc(PyObject* self) {
    Native* p = (Native*)self;
    spec_clear(p->in, p->n_in);
    spec_clear(p->out, p->n_out);
    free(p->loops);
    free(p->kept);
    Py_XDECREF(p->owner);
    Py_XDECREF(p->miss);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject NativeType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "native",
    .tp_basicsize = sizeof(Native),
    .tp_dealloc = native_dealloc,
    .tp_vectorcall_offset = offsetof(Native, call),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "Program in C: its address, inputs, outputs, loops, bytes of work, guarded, large, owner.",
    .tp_new = native_new,
};

/* Test whether arrays, and lists of numbers, have known forms. */
typedef struct { PyArray_Descr* dtype; int nd, in_order; npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS]; } Form;
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Py_ssize_t n;
    Form* forms;
} Fits;

/* 1 if it fits, 0 if not, -1 with an error. */
static int has_form(Form* f, PyObject* x) {
    if (!f->dtype) {
        if (!PyList_CheckExact(x) && !PyTuple_CheckExact(x)) return 0;
        if (PySequence_Fast_GET_SIZE(x) != f->dims[0]) return 0;
        PyObject** items = PySequence_Fast_ITEMS(x);
        for (npy_intp i = 0; i < f->dims[0]; i++) if (!PyFloat_CheckExact(items[i])) return 0;
        return 1;
    }
    if (!PyArray_CheckExact(x)) return 0;
    PyArrayObject* a = (PyArrayObject*)x;
    if (PyArray_NDIM(a) != f->nd) return 0;
    for (int d = 0; d < f->nd; d++) if (PyArray_DIM(a, d) != f->dims[d]) return 0;
    if (f->in_order && !PyArray_IS_C_CONTIGUOUS(a)) return 0;
    if (!f->in_order) for (int d = 0; d < f->nd; d++) if (PyArray_STRIDE(a, d) != f->strides[d]) return 0;
    if (PyArray_DESCR(a) == f->dtype) return 1;
    return PyObject_RichCompareBool((PyObject*)PyArray_DESCR(a), (PyObject*)f->dtype, Py_EQ);
}

static PyObject* fits_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
    Fits* p = (Fits*)self;
    if (PyVectorcall_NARGS(nargsf) != p->n || (names && PyTuple_GET_SIZE(names))) {
        PyErr_Format(PyExc_TypeError, "%zd arrays are wanted", p->n);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < p->n; i++) {
        int yes = has_form(p->forms + i, args[i]);
        if (yes < 0) return NULL;
        if (!yes) Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE;
}

static int form_read(PyObject* given, Form* f) {
    PyObject *dims, *strides, *dtype;
    if (!PyArg_ParseTuple(given, "OO!O", &dtype, &PyTuple_Type, &dims, &strides)) return -1;
    int numbers = dtype == (PyObject*)&PyFloat_Type;
    if (!numbers && !PyArray_DescrCheck(dtype)) {
        PyErr_SetString(PyExc_TypeError, "a dtype is wanted, or the class of Python's numbers");
        return -1;
    }
    f->nd = (int)PyTuple_GET_SIZE(dims);
    f->in_order = strides == Py_None;
    if (f->nd > NPY_MAXDIMS || (!f->in_order && (!PyTuple_Check(strides) || PyTuple_GET_SIZE(strides) != f->nd))) {
        PyErr_SetString(PyExc_ValueError, "too many axes, or other strides");
        return -1;
    }
    for (int d = 0; d < f->nd; d++) {
        f->dims[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(dims, d));
        if (!f->in_order) f->strides[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, d));
    }
    if (PyErr_Occurred()) return -1;
    if (!numbers) { Py_INCREF(dtype); f->dtype = (PyArray_Descr*)dtype; }
    return 0;
}

static PyObject* fits_new(PyTypeObject* type, PyObject* args, PyObject* names) {
    PyObject* list;
    (void)names;
    if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &list)) return NULL;
    Fits* p = (Fits*)type->tp_alloc(type, 0);
    if (!p) return NULL;
    p->call = fits_call;
    p->n = PyList_GET_SIZE(list);
    p->forms = calloc(p->n + 1, sizeof(Form));
    if (!p->forms) { p->n = 0; Py_DECREF(p); return PyErr_NoMemory(); }
    for (Py_ssize_t i = 0; i < p->n; i++)
        if (form_read(PyList_GET_ITEM(list, i), p->forms + i)) { Py_DECREF(p); return NULL; }
    return (PyObject*)p;
}

static void fits_dealloc(PyObject* self) {
    Fits* p = (Fits*)self;
    for (Py_ssize_t i = 0; i < p->n; i++) Py_XDECREF(p->forms[i].dtype);
    free(p->forms);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject FitsType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "fits",
    .tp_basicsize = sizeof(Fits),
    .tp_dealloc = fits_dealloc,
    .tp_vectorcall_offset = offsetof(Fits, call),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "Test of arrays, and lists of numbers: their dtypes, shapes, strides or None for C order.",
    .tp_new = fits_new,
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "chainrules_c_calls", NULL, -1, NULL,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_chainrules_c_calls(void) {
    import_array();
    if (PyType_Ready(&NativeType) < 0 || PyType_Ready(&FitsType) < 0) return NULL;
    PyObject* m = PyModule_Create(&module);
    if (m && PyModule_AddObjectRef(m, "Native", (PyObject*)&NativeType) < 0) { Py_CLEAR(m); }
    if (m && PyModule_AddObjectRef(m, "Fits", (PyObject*)&FitsType) < 0) { Py_CLEAR(m); }
    return m;
}
