/* Vector functions of glibc's libmvec, called by name: accurate to 4 units in the last place. No
compiler flag selects them, and an element has the same result at each index: a remainder is padded
and computed by the same function.

Without AVX2 the calling convention for vectors differs, without an error: AVX2 is required. */
#ifndef VECTOR1
#if !defined(__AVX2__) || !defined(__x86_64__)
#error "these functions take vectors of 32 bytes"
#endif
typedef double vector8 __attribute__((vector_size(32)));
typedef double loose8 __attribute__((vector_size(32), aligned(1), may_alias));
typedef float vector4 __attribute__((vector_size(32)));
typedef float loose4 __attribute__((vector_size(32), aligned(1), may_alias));
#define TAIL(T, S, N, x, sx) vector##S x##_; for (I j = 0; j < N; j++) x##_[j] = AT(T, x + (i + j < n ? i + j : i) * sx);
#define VECTOR1(T, S, N, NAME, F) \
extern vector##S F(vector##S); \
SOMETIMES void NAME##S(const char* x, I sx, char* y, I n) { \
    I i = 0; \
    if (sx == S) for (; i + N <= n; i += N) AT(loose##S, y + i * S) = F(AT(loose##S, x + i * S)); \
    for (; i < n; i += N) { \
        TAIL(T, S, N, x, sx) \
        vector##S r = F(x_); \
        for (I j = 0; j < N && i + j < n; j++) AT(T, y + (i + j) * S) = r[j]; \
    } \
}
#define VECTOR2(T, S, N, NAME, F) \
extern vector##S F(vector##S, vector##S); \
SOMETIMES void NAME##S(const char* x, I sx, const char* z, I sz, char* y, I n) { \
    I i = 0; \
    if (sx == S && sz == S) for (; i + N <= n; i += N) \
        AT(loose##S, y + i * S) = F(AT(loose##S, x + i * S), AT(loose##S, z + i * S)); \
    for (; i < n; i += N) { \
        TAIL(T, S, N, x, sx) TAIL(T, S, N, z, sz) \
        vector##S r = F(x_, z_); \
        for (I j = 0; j < N && i + j < n; j++) AT(T, y + (i + j) * S) = r[j]; \
    } \
}
#endif
