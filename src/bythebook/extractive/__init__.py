"""The built-in answer: the part of the book that answers, found by the reader, word for word."""
