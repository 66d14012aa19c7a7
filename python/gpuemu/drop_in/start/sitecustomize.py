"""Runs at the start of every Python process below `gpuemu run`, which adds this folder to PYTHONPATH; then runs the
installation's own sitecustomize."""

import os
import sys


def _start() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    package = os.path.dirname(os.path.dirname(here))
    sys.path[:] = [one for one in sys.path if os.path.abspath(one) != here]
    try:
        import importlib.util

        if importlib.util.find_spec("gpuemu") is None:
            spec = importlib.util.spec_from_file_location("gpuemu", os.path.join(package, "__init__.py"), submodule_search_locations=[package])
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules["gpuemu"] = module
            spec.loader.exec_module(module)
        from gpuemu.drop_in import hook

        hook.start()
    except Exception as problem:  # The program runs anyway.
        print(f"gpuemu: Python packages are not prepared: {type(problem).__name__}: {problem}", file=sys.stderr)
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if own is not None:
            sys.modules["sitecustomize"] = own  # The import system looks for the module there when this file has run.


_start()
