"""Build the compiled parts of the SVM oracle; all metadata is in setup.cfg.

Where there is no C compiler the build goes on without them, and the numpy code, which is complete, is used.
"""

import sysconfig

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Sums in any order. NaN and infinity keep their meaning: never -ffast-math, neither here nor when linking.
GNU = [
    "-O3",
    "-g0",
    "-fassociative-math",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-freciprocal-math",
    "-fno-math-errno",
]
FOLDER = "fsmodels/models/fsp/oracle"
STABLE = sysconfig.get_config_var("Py_GIL_DISABLED") in (None, 0)  # no stable ABI without the GIL
MACROS = [("Py_LIMITED_API", "0x030B0000")] if STABLE else []


class BuildExtensions(build_ext):
    """Choose the compiler's flags."""

    def build_extensions(self):
        """Build all; MSVC keeps its own flags."""
        if self.compiler.compiler_type != "msvc":
            for extension in self.extensions:
                extension.extra_compile_args = GNU
        super().build_extensions()


extensions = cythonize(
    [
        Extension(
            f"fsmodels.models.fsp.oracle.{name}",
            [f"{FOLDER}/{name}.pyx"],
            define_macros=MACROS,
            py_limited_api=STABLE,
        )
        for name in ("loop", "bounds")
    ],
    build_dir="build/cython",
)
for extension in extensions:
    extension.optional = True  # after cythonize, which drops it

setup(
    ext_modules=extensions,
    cmdclass={"build_ext": BuildExtensions},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
