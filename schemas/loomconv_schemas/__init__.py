"""JSON Schemas (draft 2020-12) of every format that loomconv reads or writes, and of its report and residue."""
