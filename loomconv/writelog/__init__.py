"""The write-boundary log: its records and lines, and a writer for running programs (docs/write-log.md)."""

from loomconv.writelog.chain import Chain
from loomconv.writelog.lines import Line, split_lines
from loomconv.writelog.records import FORMAT, VERSION, commit_record, encode_record
from loomconv.writelog.writer import Writer

__all__ = ["FORMAT", "VERSION", "Chain", "Line", "Writer", "commit_record", "encode_record", "split_lines"]
