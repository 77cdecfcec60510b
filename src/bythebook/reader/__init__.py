"""Reads passages as a person would: does this passage answer the question, where, and does it
support this sentence. One small network, trained in `training/`, judges all three."""

from bythebook.reader.reader import Evidence, Reader, Reading

__all__ = ["Evidence", "Reader", "Reading"]
