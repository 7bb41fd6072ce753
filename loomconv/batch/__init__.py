"""Many files at once: what is to be converted, by whom, what came of it, and the report of it all."""
