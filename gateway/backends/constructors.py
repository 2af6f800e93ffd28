"""Which backend a `profile.toml` means: its name, and how it is built."""

from collections.abc import Mapping

from gateway.backend import Construct
from gateway.backends.builtin import Builtin
from gateway.backends.openai import OpenAI

BACKENDS: Mapping[str, Construct] = {"builtin": Builtin, "openai": OpenAI}
