"""The second line of defence: what leaves is on this list, whatever was made before."""

from __future__ import annotations

import re

import nh3

from bythebook.server.rendering.addresses import SCHEMES

# Every element that may be there, with its attributes and the form of their values.
ALLOWED: dict[str, dict[str, str]] = {
    "a": {"href": r"(?:https?:|mailto:).*", "target": "_blank"},
    "blockquote": {},
    "br": {},
    "code": {"class": r"language-[\w+#.-]{1,40}"},
    "del": {},
    "div": {
        "class": "table|math|admonition",
        "tabindex": "0",
        "role": "region",
        "aria-label": "Table",
    },
    "em": {},
    "h3": {},
    "h4": {},
    "h5": {},
    "h6": {},
    "hr": {},
    "li": {},
    "mark": {},
    "ol": {"start": r"\d{1,9}"},
    "p": {"class": "admonition-title"},
    "pre": {},
    "span": {"class": "math"},
    "strong": {},
    "table": {},
    "tbody": {},
    "td": {"class": "align-(?:left|center|right)"},
    "th": {"class": "align-(?:left|center|right)"},
    "thead": {},
    "tr": {},
    "ul": {},
}
REL = "noopener noreferrer nofollow"


def sanitised(html: str) -> str:
    return nh3.clean(
        html,
        tags=set(ALLOWED),
        attributes={tag: set(attributes) for tag, attributes in ALLOWED.items() if attributes},
        attribute_filter=_value,
        url_schemes=set(SCHEMES),
        link_rel=REL,
        strip_comments=True,
    )


def _value(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "rel":
        return REL
    form = ALLOWED.get(tag, {}).get(attribute)
    fits = form is not None and re.fullmatch(form, value, re.IGNORECASE | re.DOTALL)
    return value if fits else None
