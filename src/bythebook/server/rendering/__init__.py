"""Text of a book and of answers as HTML that is safe to put into a page."""

from bythebook.server.rendering.render import answer_html, passage_html

__all__ = ["answer_html", "passage_html"]
