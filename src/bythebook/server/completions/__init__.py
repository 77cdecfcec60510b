"""Answers in the form of OpenAI's chat completions, so that any chat client can ask a book."""
