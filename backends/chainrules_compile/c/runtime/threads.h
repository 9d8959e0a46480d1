/* OpenMP threads, each with its own scratch memory; without OpenMP there is one thread. */
#ifdef _OPENMP
#include <omp.h>
#define MINE(S) (omp_get_thread_num() * (I)(S))
#else
#define MINE(S) 0
#endif
int threads = 1;
#define IN_PARALLEL _Pragma("omp parallel for num_threads(threads) schedule(static)")
