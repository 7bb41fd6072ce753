"""Plugins: the hooks, their discovery, and detection by confidence."""

from loomconv.registry.registry import DISABLE_VARIABLE, FILES_VARIABLE, Registry, broken_plugins, default_registry

__all__ = ["DISABLE_VARIABLE", "FILES_VARIABLE", "Registry", "broken_plugins", "default_registry"]
