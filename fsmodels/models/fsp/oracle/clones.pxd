"""``cloned``: the return type of a function that is compiled twice, for AVX2 with FMA and for every x86-64 machine.

The version is selected by the processor when the module is loaded. ``flatten`` inlines the helper functions, which have
no clones.
"""

cdef extern from *:
    """
    #include <stddef.h>
    #if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
    #define FSMODELS_CLONED __attribute__((flatten, target_clones("arch=x86-64-v3", "default")))
    #elif defined(__GNUC__)
    #define FSMODELS_CLONED __attribute__((flatten))
    #else
    #define FSMODELS_CLONED
    #endif
    """
    ctypedef void cloned "FSMODELS_CLONED void"
