/* Threads of OpenMP, each with scratch memory of its own; without it all runs on one. */
#ifdef _OPENMP
#include <omp.h>
#define MINE(S) (omp_get_thread_num() * (I)(S))
#else
#define MINE(S) 0
#endif
int threads = 1;
#define IN_PARALLEL _Pragma("omp parallel for num_threads(threads) schedule(static)")
#define ONE_OF_THEM _Pragma("omp parallel num_threads(threads)") _Pragma("omp single")
#define BY_ANOTHER _Pragma("omp task shared(t)")
#define ALL_DONE _Pragma("omp taskwait")
