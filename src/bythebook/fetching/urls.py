"""Web addresses: one spelling and one file name for each page, and pages that repeat another."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import quote, unquote, unquote_to_bytes, urljoin, urlsplit

from bythebook.fetching.record import SiteRecord

MAX_LENGTH = 1000
MAX_SEGMENTS = 20
# The same name so often in one path is a link that leads to itself.
MAX_REPEATED = 3
DEFAULT_PORTS = {"http": 80, "https": 443}
UNRESERVED = "-._~"
IN_PATH = UNRESERVED + "!$&'()*+,;=:@"
IN_QUERY = IN_PATH + "/?[]"
ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
HOST = re.compile(r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?\.?")
TRACKING = re.compile(
    r"(?:utm_\w+|gclid|gclsrc|dclid|fbclid|msclkid|yclid|igshid|mc_[ce]id|_ga|_gl|_hs\w+|wt\.\w+)"
    r"(?:=|$)",
    re.IGNORECASE,
)


def normalise(url: str, base: str = "") -> str | None:
    """The one spelling of an address, without fragment and tracking parameters; None for what is
    no web address or one that holds a password."""
    try:
        parts = urlsplit(urljoin(base, url.strip()) if base else url.strip())
        port = parts.port
        name = parts.hostname or ""
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    host = _host(name)
    if scheme not in DEFAULT_PORTS or not host or "@" in parts.netloc or port == 0:
        return None
    path = _without_dots(spelled(parts.path, IN_PATH + "/"))
    query = "&".join(
        sorted(
            spelled(part, IN_QUERY)
            for part in parts.query.split("&")
            if part and not TRACKING.match(part)
        )
    )
    place = host if port in (None, DEFAULT_PORTS[scheme]) else f"{host}:{port}"
    made = f"{scheme}://{place}{path}{'?' + query if query else ''}"
    return made if len(made) <= MAX_LENGTH else None


def _host(name: str) -> str:
    if ":" in name:
        try:
            return f"[{IPv6Address(name.partition('%')[0]).compressed}]"
        except ValueError:
            return ""
    try:
        host = name.encode("idna").decode("ascii") if not name.isascii() else name
    except UnicodeError:
        return ""
    host = host.lower()
    return host.rstrip(".") if HOST.fullmatch(host) and ".." not in host else ""


def spelled(text: str, safe: str) -> str:
    """Percent signs where they are needed, nowhere else, and always alike."""
    pieces: list[str] = []
    position = 0
    for found in ESCAPED.finditer(text):
        pieces.append(quote(text[position : found.start()], safe=safe, errors="replace"))
        character = unquote_to_bytes(found[0])
        plain = character.isalnum() or character.decode("latin-1") in UNRESERVED
        pieces.append(character.decode("ascii") if plain else found[0].upper())
        position = found.end()
    pieces.append(quote(text[position:], safe=safe, errors="replace"))
    return "".join(pieces)


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")[1:] if path.startswith("/") else path.split("/")
    for index, segment in enumerate(segments):
        last = index == len(segments) - 1
        if segment == "..":
            kept = kept[:-1]
        elif segment != ".":
            kept.append(segment)
            continue
        if last:
            kept.append("")
    return "/" + "/".join(kept)


def key_of(url: str) -> str:
    """What tells one page from another: with and without a slash at the end it is the same."""
    start, mark, query = url.partition("?")
    return start.rstrip("/") + mark + query


def is_endless(url: str) -> bool:
    """Whether it looks like one of the addresses that a faulty site makes without end."""
    segments = [part for part in urlsplit(url).path.split("/") if part]
    repeated = max((segments.count(part) for part in segments), default=0)
    return len(segments) > MAX_SEGMENTS or repeated > MAX_REPEATED


@dataclass(frozen=True)
class Scope:
    """The pages of a site that are the book: those of one host below one path."""

    origin: str
    folder: str

    @classmethod
    def around(cls, url: str) -> Scope:
        """What a start address means: `/docs/` and `/docs` all below it, `/docs/a.html` all of
        `/docs/`."""
        parts = urlsplit(url)
        folder, _, last = parts.path.rpartition("/")
        if last and "." not in last:
            folder = parts.path
        return cls(f"{parts.scheme}://{parts.netloc}", f"{folder}/")

    def holds(self, url: str) -> bool:
        return f"{url.partition('?')[0].rstrip('/')}/".startswith(self.origin + self.folder)

    def take(self, url: str, base: str = "") -> str | None:
        """The address in this site's spelling, or None if it is not in it."""
        made = normalise(url, base)
        if made and self.origin.startswith("https:") and made.startswith("http:"):
            secure = "https:" + made.removeprefix("http:")
            made = secure if self.holds(secure) else made  # old links of a site that moved
        return made if made and self.holds(made) else None

    def path_in(self, url: str) -> str:
        """Path and query behind the scope's folder."""
        rest = url.removeprefix(self.origin)
        return rest.removeprefix(self.folder) if rest.startswith(self.folder) else ""


PLAIN = re.compile(r"[a-z0-9_-][a-z0-9._-]{0,59}(?<!\.)")
RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
ODD = re.compile(r"[^\w.-]+")
DOTS = re.compile(r"^\.+|\.+$")
MAX_FOLDERS = 8
MAX_BYTES = 60
# Not what pages are called, so that `/guide` and `/guide.html` can both be kept.
WITHOUT_ENDING = ".htm"


def file_name(scope: Scope, url: str, kind: str = ".html") -> str:
    """Where the page is kept, relative to the site's folder. Addresses that `key_of` tells apart
    get names that differ even where letters' case does not count. A name that is not the
    address's own path has a hash behind a tilde, which no plain name has."""
    address, mark, query = key_of(url).partition("?")
    *folders, last = scope.path_in(address + "/").removesuffix("/").split("/")
    ending = WITHOUT_ENDING if kind == ".html" and not last.endswith(".html") else kind
    if not last and not folders and not mark:
        return f"index{ending}"
    stem = last.removesuffix(ending)
    own = stem != last if ending != WITHOUT_ENDING else stem == last and stem != "index"
    if (
        own
        and not mark
        and len(folders) <= MAX_FOLDERS
        and all(_is_plain(folder) and not _is_page(folder) for folder in folders)
        and _is_plain(stem)
    ):
        return "/".join([*folders, stem + ending])
    digest = hashlib.sha256(key_of(url).encode()).hexdigest()[:16]
    shown = _shown(f"{stem} {query}" if mark else stem).replace(".", "-")
    kept = [_shown(folder).replace(".", "-") for folder in folders[:MAX_FOLDERS]]
    return "/".join([*kept, f"{shown}~{digest}{ending}"])


def _is_plain(segment: str) -> bool:
    return bool(PLAIN.fullmatch(segment)) and not RESERVED.fullmatch(segment)


def _is_page(segment: str) -> bool:
    return segment.endswith((".html", ".htm", ".pdf", ".epub", ".md"))


def _shown(segment: str) -> str:
    """What a person may read in the name."""
    text = DOTS.sub("", ODD.sub("-", unquote(segment, errors="replace"))).strip("-")
    text = text.encode("utf-8", "replace")[:MAX_BYTES].decode("utf-8", "ignore")
    return f"_{text}" if not text or text.startswith("_") or RESERVED.fullmatch(text) else text


def mark_repeats(record: SiteRecord) -> None:
    """The first of several with the same content counts; and a page that names another as the
    canonical one gives way to it, if that one is there and does not itself give way."""
    first: dict[str, str] = {}
    for page in record.pages.values():
        original = first.setdefault(page.hash, page.url)
        page.instead = "" if original == page.url else original
    start = key_of(record.start)
    for key, page in record.pages.items():
        wanted = key_of(page.canonical)
        target = record.pages.get(wanted)
        if page.instead or not page.canonical or wanted == key or not target or target.instead:
            continue
        # Sites that name their start page as the canonical one of every page are wrong.
        if wanted == start and key.partition("?")[0] != start.partition("?")[0]:
            continue
        page.instead = target.url
