/* Threads of OpenMP, each with scratch memory of its own; without it all runs on one. */
#ifdef _OPENMP
#include <omp.h>
#define MINE(S) (omp_get_thread_num() * (I)(S))
#else
#define MINE(S) 0
#endif
int threads = 1;
#define IN_PARALLEL _Pragma("omp parallel for num_threads(threads) schedule(static)")
