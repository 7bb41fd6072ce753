"""Plugins: the hooks, their discovery, and detection by confidence."""

from loomconv.registry.registry import Registry, default_registry

__all__ = ["Registry", "default_registry"]
