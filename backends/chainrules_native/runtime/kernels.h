/* What programs are written with: loads, sums in the order of NumPy's, its loops by address. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
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
/* x @ y of one matrix each, as the loop of np.matmul computes it. */
SOMETIMES void matmul(void** L, int k, char* x, I xr, I xc, char* y, I yr, I yc, char* z, I zr, I zc, I m, I n, I q) {
    char* p[3] = {x, y, z}; I d[4] = {1, m, n, q}, s[9] = {0, 0, 0, xr, xc, yr, yc, zr, zc};
    ((loop_t)L[2 * k])(p, d, s, L[2 * k + 1]);
}

/* Elements b, b + 1, ... of an array of these dims and strides, its first dim the slowest. */
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
LOAD(1, uint8_t) LOAD(2, uint16_t) LOAD(4, uint32_t) LOAD(8, uint64_t) LOAD(16, two_words)

/* Sums in pairs, in the order in which NumPy adds: eight at a time, in one vector. */
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
/* The power of Python's floats: what a compiler knows of pow has other bits. */
SOMETIMES double (*volatile power_address)(double, double) = pow;
SOMETIMES double power(double x, double y) { return power_address(x, y); }
/* Write a power; tell whether Python raises, of finite operands. */
SOMETIMES int raises(double x, double y, double* z) {
    *z = power_address(x, y);
    return !(fabs(*z) < INFINITY) && fabs(x) < INFINITY && fabs(y) < INFINITY;
}
