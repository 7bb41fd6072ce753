"""A plugin in a file that is not installed, for its author and for a single conversion."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from loomconv.errors import PluginFault
from loomconv.registry.faults import told_briefly

__all__ = ["load_plugin_file"]


def load_plugin_file(written: str) -> ModuleType:
    """The module in a `.py` file, or the package in a folder with an `__init__.py`.

    The file's folder is not added to the module path; a package's own relative imports work. Raises PluginFault.
    """
    path = Path(written)
    package = path / "__init__.py"
    file = package if package.is_file() else path
    if not file.is_file():
        raise PluginFault(
            "there is no such plugin file", source=written, next_step="Name a .py file, or a folder with __init__.py."
        )
    # The name is that of the module when installed, so that absolute imports of itself work in a package, too.
    name = path.resolve().stem
    spec = importlib.util.spec_from_file_location(
        name, file, submodule_search_locations=[str(path)] if file is package else None
    )
    if spec is None or spec.loader is None:
        raise PluginFault("a plugin file has to end in .py", source=written)
    module = importlib.util.module_from_spec(spec)
    former = sys.modules.get(name)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        if former is None:
            del sys.modules[name]
        else:
            sys.modules[name] = former
        # The words are those of the plugin: nothing has been read yet.
        detail = f"{error}" if isinstance(error, SyntaxError | ImportError) else f"{told_briefly(error)}: {error}"
        raise PluginFault(f"the plugin cannot be loaded: {detail}", source=written) from error
    return module
