"""The formats that ship with loomconv, one package each, registered by entry point like any other plugin."""
