/* Runtime of programs: loads, sums in NumPy's order, calls of NumPy loops by address. */
/* Declarations in place of the headers of C, which take a compiler longer to read than most programs. */
typedef __INT8_TYPE__ int8_t; typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t; typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
#define FUNCTION1(name) double name(double); float name##f(float);
#define FUNCTION2(name) double name(double, double); float name##f(float, float);
FUNCTION1(fabs) FUNCTION1(sqrt) FUNCTION1(cbrt) FUNCTION1(exp) FUNCTION1(exp2) FUNCTION1(expm1)
FUNCTION1(log) FUNCTION1(log2) FUNCTION1(log10) FUNCTION1(log1p) FUNCTION1(sin) FUNCTION1(cos)
FUNCTION1(tan) FUNCTION1(asin) FUNCTION1(acos) FUNCTION1(atan) FUNCTION1(sinh) FUNCTION1(cosh)
FUNCTION1(tanh) FUNCTION1(asinh) FUNCTION1(acosh) FUNCTION1(atanh) FUNCTION1(floor) FUNCTION1(ceil)
FUNCTION1(rint) FUNCTION1(trunc) FUNCTION2(pow) FUNCTION2(atan2) FUNCTION2(hypot) FUNCTION2(fmax)
FUNCTION2(fmin) FUNCTION2(fmod) FUNCTION2(copysign)
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
typedef long I;
typedef void (*loop_t)(char**, const I*, const I*, void*);
#define W 512
#define AT(T, p) (*(T*)(p))
#define IVDEP _Pragma("GCC ivdep")
#define UNROLLED _Pragma("GCC unroll 16")
#define SUMS _Pragma("omp simd reduction(+:r)")
#define NOINLINE static __attribute__((noinline, unused))
#define SOMETIMES static __attribute__((unused))

SOMETIMES void call1(void** L, int k, char* x, I sx, char* y, I sy, I n) {
    char* p[2] = {x, y}; I s[2] = {sx, sy};
    ((loop_t)L[2 * k])(p, &n, s, L[2 * k + 1]);
}
SOMETIMES void call2(void** L, int k, char* x, I sx, char* y, I sy, char* z, I sz, I n) {
    char* p[3] = {x, y, z}; I s[3] = {sx, sy, sz};
    ((loop_t)L[2 * k])(p, &n, s, L[2 * k + 1]);
}
SOMETIMES void call3(void** L, int k, char* x, I sx, char* y, I sy, char* z, I sz, char* o, I so, I n) {
    char* p[4] = {x, y, z, o}; I s[4] = {sx, sy, sz, so};
    ((loop_t)L[2 * k])(p, &n, s, L[2 * k + 1]);
}
SOMETIMES void call4(void** L, int k, char* x, I sx, char* y, I sy, char* z, I sz, char* v, I sv, char* o, I so, I n) {
    char* p[5] = {x, y, z, v, o}; I s[5] = {sx, sy, sz, sv, so};
    ((loop_t)L[2 * k])(p, &n, s, L[2 * k + 1]);
}
/* x @ y of one matrix each, by the loop of np.matmul. */
SOMETIMES void matmul(void** L, int k, char* x, I xr, I xc, char* y, I yr, I yc, char* z, I zr, I zc, I m, I n, I q) {
    char* p[3] = {x, y, z}; I d[4] = {1, m, n, q}, s[9] = {0, 0, 0, xr, xc, yr, yc, zr, zc};
    ((loop_t)L[2 * k])(p, d, s, L[2 * k + 1]);
}

/* Dense matrices of up to 64 rows, each by address and strides. Functions return 1 on failure. */
#define SMALL 64
#define ENTRY(p, i, j) AT(double, p + (i) * p##r + (j) * p##c)
#define MATRIX(p) char* p, I p##r, I p##c
typedef double small_square[SMALL][SMALL];

SOMETIMES int small_cholesky(MATRIX(a), MATRIX(y), I n) {
    small_square m;
    for (I i = 0; i < n; i++) for (I j = 0; j <= i; j++) {
        double t = ENTRY(a, i, j);
        for (I k = 0; k < j; k++) t -= m[i][k] * m[j][k];
        if (i > j) m[i][j] = t / m[j][j];
        else if (t > 2.3e-16 * n * ENTRY(a, i, i)) m[i][i] = sqrt(t); /* beyond rounding */
        else return 1;
    }
    for (I i = 0; i < n; i++) for (I j = 0; j < n; j++) ENTRY(y, i, j) = j > i ? 0.0 : m[i][j];
    return 0;
}
/* The LU factors of a matrix with partial pivoting, followed by the order of its rows, and by the
   sign of that permutation, which is 0 if a pivot is zero. */
SOMETIMES void small_factors(MATRIX(a), char* to, I n) {
    double *m = (double*)to, *order = m + n * n, *sign = order + n;
    for (I i = 0; i < n; i++) for (I j = 0; j < n; j++) m[i * n + j] = ENTRY(a, i, j);
    for (I i = 0; i < n; i++) order[i] = i;
    *sign = 1;
    for (I k = 0; k < n; k++) {
        I p = k;
        for (I i = k + 1; i < n; i++) if (fabs(m[i * n + k]) > fabs(m[p * n + k])) p = i;
        if (m[p * n + k] == 0) { *sign = 0; return; }
        if (p != k) {
            *sign = -*sign;
            double t = order[p]; order[p] = order[k]; order[k] = t;
            for (I j = 0; j < n; j++) { t = m[p * n + j]; m[p * n + j] = m[k * n + j]; m[k * n + j] = t; }
        }
        for (I i = k + 1; i < n; i++) {
            double x = m[i * n + k] /= m[k * n + k];
            for (I j = k + 1; j < n; j++) m[i * n + j] -= x * m[k * n + j];
        }
    }
}
/* Solve for one column x by the factors, or by those of the transposed matrix. */
SOMETIMES void small_substituted(double* m, double* x, I n, int turned) {
    if (turned) {
        for (I i = 0; i < n; i++) {
            x[i] /= m[i * n + i];
            for (I j = i + 1; j < n; j++) x[j] -= m[i * n + j] * x[i];
        }
        for (I i = n - 1; i > 0; i--) for (I j = 0; j < i; j++) x[j] -= m[i * n + j] * x[i];
        return;
    }
    for (I i = 1; i < n; i++) for (I j = 0; j < i; j++) x[i] -= m[i * n + j] * x[j];
    for (I i = n - 1; i >= 0; i--) {
        for (I j = i + 1; j < n; j++) x[i] -= m[i * n + j] * x[j];
        x[i] /= m[i * n + i];
    }
}
SOMETIMES int small_solve(char* f, MATRIX(b), MATRIX(y), I n, I columns, int turned) {
    double *m = (double*)f, *order = m + n * n, x[SMALL];
    if (!order[n]) return 1;
    for (I k = 0; k < columns; k++) {
        for (I i = 0; i < n; i++) x[i] = ENTRY(b, turned ? i : (I)order[i], k);
        small_substituted(m, x, n, turned);
        for (I i = 0; i < n; i++) ENTRY(y, turned ? (I)order[i] : i, k) = x[i];
    }
    return 0;
}
/* All columns at once, row by row, as their elements are contiguous. */
SOMETIMES int small_inverse(char* f, MATRIX(y), I n) {
    double *m = (double*)f, *order = m + n * n;
    small_square x;
    if (!order[n]) return 1;
    for (I i = 0; i < n; i++) for (I k = 0; k < n; k++) x[i][k] = order[i] == k;
    for (I i = 1; i < n; i++) for (I j = 0; j < i; j++)
        for (I k = 0; k < n; k++) x[i][k] -= m[i * n + j] * x[j][k];
    for (I i = n - 1; i >= 0; i--) {
        for (I j = i + 1; j < n; j++) for (I k = 0; k < n; k++) x[i][k] -= m[i * n + j] * x[j][k];
        for (I k = 0; k < n; k++) ENTRY(y, i, k) = x[i][k] /= m[i * n + i];
    }
    return 0;
}
SOMETIMES void small_log_det(char* f, double* sign, double* log_, I n) {
    double *m = (double*)f, s = m[n * n + n], sum = s ? 0.0 : -INFINITY;
    for (I i = 0; s && i < n; i++) {
        sum += log(fabs(m[i * n + i]));
        if (m[i * n + i] < 0) s = -s;
    }
    *sign = s; *log_ = sum;
}
SOMETIMES int small_solve_triangle(MATRIX(a), MATRIX(b), MATRIX(y), I n, I columns, int upper, int unit) {
    for (I i = 0; i < n && !unit; i++) if (ENTRY(a, i, i) == 0) return 1;
    for (I k = 0; k < columns; k++) for (I t = 0; t < n; t++) {
        I i = upper ? n - 1 - t : t;
        double x = ENTRY(b, i, k);
        for (I j = upper ? i + 1 : 0; j < (upper ? n : i); j++) x -= ENTRY(a, i, j) * ENTRY(y, j, k);
        ENTRY(y, i, k) = unit ? x : x / ENTRY(a, i, i);
    }
    return 0;
}
/* Copy the lower triangle to the upper one. */
SOMETIMES void small_symmetric(small_square m, I n) {
    for (I i = 0; i < n; i++) for (I j = 0; j <= i; j++) m[j][i] = m[i][j];
}
/* L^-1 M L^-T of a symmetric M and a lower triangle L, or L^-T M L^-1: solve, transpose,
   and repeat. */
SOMETIMES void small_undone(MATRIX(l), small_square m, I n, int transposed) {
    for (int side = 0; side < 2; side++) {
        for (I t = 0; t < n; t++) {
            I i = transposed ? n - 1 - t : t;
            for (I j = transposed ? i + 1 : 0; j < (transposed ? n : i); j++) {
                double x = transposed ? ENTRY(l, j, i) : ENTRY(l, i, j);
                for (I k = 0; k < n; k++) m[i][k] -= x * m[j][k];
            }
            for (I k = 0; k < n; k++) m[i][k] /= ENTRY(l, i, i);
        }
        for (I i = 0; i < n; i++) for (I j = 0; j < i; j++) {
            double x = m[i][j]; m[i][j] = m[j][i]; m[j][i] = x;
        }
    }
}
/* The half of L^-T S L^-1, with S = P + P^T and P the half of L^T Y. */
SOMETIMES int small_cholesky_pull(MATRIX(l), MATRIX(g), MATRIX(y), I n) {
    small_square m, h;
    for (I i = 0; i < n; i++) for (I j = 0; j < n; j++)
        if (!__builtin_isfinite(h[i][j] = ENTRY(g, i, j))) return 1;
    for (I i = 0; i < n; i++) {
        for (I j = 0; j <= i; j++) m[i][j] = 0.0;
        for (I k = i; k < n; k++) {
            double x = ENTRY(l, k, i);
            for (I j = 0; j <= i; j++) m[i][j] += x * h[k][j];
        }
    }
    small_symmetric(m, n);
    small_undone(l, lr, lc, m, n, 1);
    for (I i = 0; i < n; i++) for (I j = 0; j < n; j++)
        ENTRY(y, i, j) = j < i ? m[i][j] : j == i ? 0.5 * m[i][i] : 0.0;
    return 0;
}
/* L times the half of L^-1 X L^-T, with X given by its lower triangle. */
SOMETIMES int small_cholesky_tangent(MATRIX(l), MATRIX(x), MATRIX(y), I n) {
    small_square m;
    for (I i = 0; i < n; i++) for (I j = 0; j <= i; j++) m[i][j] = ENTRY(x, i, j);
    small_symmetric(m, n);
    small_undone(l, lr, lc, m, n, 0);
    for (I i = 0; i < n; i++) {
        double z[SMALL] = {0};
        m[i][i] *= 0.5;
        for (I k = 0; k <= i; k++) {
            double x = ENTRY(l, i, k);
            for (I j = 0; j <= k; j++) z[j] += x * m[k][j];
        }
        for (I j = 0; j < n; j++) ENTRY(y, i, j) = z[j];
    }
    return 0;
}

/* Load elements b, b + 1, ... of an array with these dims and strides, the first dim the slowest. */
#define LOAD(N, T)                                                                        \
SOMETIMES void load##N(char* to, const char* from, I b, I n, int nd, const I* dims, const I* strides) { \
    I at[16], k = b;                                                                      \
    for (int d = nd - 1; d >= 0; d--) { at[d] = k % dims[d]; k /= dims[d]; }              \
    T* out = (T*)to;                                                                      \
    I row = dims[nd - 1], s = strides[nd - 1];                                            \
    while (n > 0) {                                                                       \
        const char* p = from;                                                             \
        for (int d = 0; d < nd; d++) p += at[d] * strides[d];                             \
        I m = row - at[nd - 1] < n ? row - at[nd - 1] : n;                                \
        if (s == 0) { T x = AT(T, p); for (I i = 0; i < m; i++) out[i] = x; }             \
        else if (s == (I)sizeof(T)) { for (I i = 0; i < m; i++) out[i] = ((T*)p)[i]; }    \
        else for (I i = 0; i < m; i++) out[i] = AT(T, p + i * s);                         \
        out += m; n -= m; at[nd - 1] = 0;                                                 \
        for (int d = nd - 2; d >= 0; d--) { if (++at[d] < dims[d]) break; at[d] = 0; }    \
    }                                                                                     \
}
typedef struct { uint64_t re, im; } two_words;
LOAD(1, uint8_t) LOAD(2, uint16_t) LOAD(4, uint32_t) LOAD(8, uint64_t)

/* Pairwise sums in the order of NumPy's: eight at a time, in one vector. */
#define FOLDED(r) (((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])))
#define PAIRWISE(N, T)                                                                    \
typedef T eight##N __attribute__((vector_size(8 * sizeof(T)), aligned(1), may_alias));    \
NOINLINE T pairwise##N(const char* a, I n, I s) {                                         \
    if (n < 8) { T r = (T)-0.0; for (I i = 0; i < n; i++) r += AT(T, a + i * s); return r; } \
    if (n <= 128) {                                                                       \
        eight##N r; I i = 8;                                                              \
        if (s == (I)sizeof(T)) {                                                          \
            r = AT(eight##N, a);                                                          \
            for (; i < n - n % 8; i += 8) r += AT(eight##N, a + i * s);                   \
        } else {                                                                          \
            for (int j = 0; j < 8; j++) r[j] = AT(T, a + j * s);                          \
            for (; i < n - n % 8; i += 8) for (int j = 0; j < 8; j++) r[j] += AT(T, a + (i + j) * s); \
        }                                                                                 \
        T sum = FOLDED(r);                                                                \
        for (; i < n; i++) sum += AT(T, a + i * s);                                       \
        return sum;                                                                       \
    }                                                                                     \
    I h = n / 2; h -= h % 8;                                                              \
    if (n - h <= 128 && s == (I)sizeof(T)) {  /* two halves at once */                    \
        const char* b = a + h * s; eight##N r = AT(eight##N, a), q = AT(eight##N, b); I i = 8, m = n - h; \
        for (; i < h; i += 8) { r += AT(eight##N, a + i * s); q += AT(eight##N, b + i * s); } \
        for (; i < m - m % 8; i += 8) q += AT(eight##N, b + i * s);                       \
        T sum = FOLDED(r), sum2 = FOLDED(q);                                              \
        for (; i < m; i++) sum2 += AT(T, b + i * s);                                      \
        return sum + sum2;                                                                \
    }                                                                                     \
    return pairwise##N(a, h, s) + pairwise##N(a + h * s, n - h, s);                       \
}
PAIRWISE(8, double) PAIRWISE(4, float)
/* The power of Python's floats: a compiler's own evaluation of pow has other bits. */
SOMETIMES double (*volatile power_address)(double, double) = pow;
SOMETIMES double power(double x, double y) { return power_address(x, y); }
/* Write a power; return whether Python raises for it, for finite operands. */
SOMETIMES int raises(double x, double y, double* z) {
    *z = power_address(x, y);
    return !(fabs(*z) < INFINITY) && fabs(x) < INFINITY && fabs(y) < INFINITY;
}
