"""The model of the room protocol, as it was handed over: loaded, never changed.

The files in `model/` import each other by their bare names, as scripts do. They are loaded here
under those names, once, from that folder alone; `test_model` compares their digests.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

FOLDER: Final = Path(__file__).parent / "model"


def load(name: str) -> ModuleType:
    """One file of the model, by its name."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


room_spec: Final = load("room_spec")
room_sim: Final = load("room_sim")
