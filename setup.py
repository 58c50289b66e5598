"""What the build needs besides pyproject.toml: the compiled sums."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "sfs_cli.compute._moments",
            ["sfs_cli/compute/_moments.c"],
            depends=["sfs_cli/compute/_moments_rows.h"],
            extra_compile_args=["-O3", "-g0", "-ffp-contract=fast"],
            py_limited_api=True,
            optional=True,  # without a C compiler NumPy does the same
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
