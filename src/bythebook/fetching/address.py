"""Web addresses in one spelling, and what a person's words name: a site, a repository, a path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote_to_bytes, urljoin, urlsplit

from bythebook.errors import InputError
from bythebook.reading.naming import slug
from bythebook.reading.source import hash_text

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(?=:|//)")
# git@host:owner/repository.git
SSH_SHORT = re.compile(r"\w[\w.-]*@\w[\w.-]*:[^\s:-][^\s:]*")
# Hosts on which an address of two parts is a repository.
FORGES = frozenset({"github.com", "gitlab.com", "codeberg.org", "bitbucket.org"})
CHOICE = re.compile(r"#(?=(?:ref|path)=)")
REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+@-]{0,199}")
PASSWORD = re.compile(r"//[^/@\s]*@")
# Not those of `reading.naming`: the folder of a checkout that was fetched is called by this.
GENERIC_NAMES = frozenset({"docs", "doc", "src", "content", "book", "pages", "files"})
MAX_LENGTH = 1000
# As it is written: escapes, steps back and what is only for tracking make it shorter.
MAX_WRITTEN = 20 * MAX_LENGTH
MAX_HOST = 253
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


@dataclass(frozen=True)
class Site:
    """A web site, by its start page or its sitemap."""

    url: str

    @property
    def text(self) -> str:
        return self.url

    @property
    def book_id(self) -> str:
        parts = urlsplit(self.url)
        folder, slash, page = parts.path.rpartition("/")
        if page.endswith((".xml", ".xml.gz", ".html", ".htm")):
            page = ""
        path = folder + slash + page.removesuffix("sitemap").removesuffix("index")
        return _name(f"{parts.hostname or ''}{path}".replace("/", "-"))

    @property
    def key(self) -> str:
        return _key(self.book_id, self.text)


@dataclass(frozen=True)
class Repository:
    """A git repository, a branch, tag or commit of it, and a folder or file in it."""

    url: str
    ref: str = ""
    path: str = ""

    @property
    def text(self) -> str:
        """What is stored with the book; it can be given again as it is."""
        chosen = [("ref", self.ref), ("path", self.path)]
        part = "&".join(f"{name}={quote(value, safe='/')}" for name, value in chosen if value)
        # Else it would be taken for a site.
        url = f"git+{self.url}" if self.is_web and not self.url.endswith(".git") else self.url
        return f"{url}#{part}" if part else url

    @property
    def name(self) -> str:
        """`repository`; of one that is only called `docs`, `owner-docs`."""
        segments = [part for part in re.split(r"[/:\\]+", self.url.rstrip("/")) if part]
        names = [_name(part.removesuffix(".git")) for part in segments[-2:] if part != ".git"]
        if names[-1] in GENERIC_NAMES and len(names) > 1:
            return "-".join(names)
        return names[-1]

    @property
    def book_id(self) -> str:
        return self.name

    @property
    def key(self) -> str:
        return _key(self.name, f"{self.url}#{self.ref}")

    @property
    def is_local(self) -> bool:
        return "://" not in self.url and not SSH_SHORT.fullmatch(self.url)

    @property
    def is_web(self) -> bool:
        return self.url.startswith(("http://", "https://"))


Address = Site | Repository


def find_address(text: str, ref: str | None = None, path: str | None = None) -> Address | None:
    """What the text names; None for a folder or file."""
    plain, *choice = CHOICE.split(text, maxsplit=1)
    chosen = parse_qs(choice[0]) if choice else {}
    ref = ref or next(iter(chosen.get("ref", [])), "")
    path = path or next(iter(chosen.get("path", [])), "")
    git = plain.startswith("git+")
    found = _found(plain.removeprefix("git+"), git or bool(ref or path))
    if isinstance(found, Repository):
        return Repository(found.url, _checked_ref(ref), _checked_path(path))
    if ref or path:
        raise InputError(
            f"{without_password(plain)} is no git repository, so --ref and --path can't be used.",
            action="Leave them out, or give the repository's address.",
        )
    return found


def is_address(text: str) -> bool:
    return find_address(text) is not None


def stored_address(text: str) -> Address | None:
    """Of a source that is stored with a book, and may be from somebody else's archive."""
    try:
        return find_address(text)
    except InputError:
        return None


def _found(text: str, git: bool) -> Address | None:
    if SCHEME.match(text):
        return _with_scheme(text, git)
    if SSH_SHORT.fullmatch(text) and not _exists(text):
        return Repository(text)
    if text.endswith(".git") and _is_repository(Path(text)):
        return Repository(str(Path(text).resolve()))
    return None


def _with_scheme(text: str, git: bool) -> Address:
    scheme = text.partition(":")[0].lower()
    if scheme not in ("http", "https", "ssh") or "::" in text.partition("/")[0]:
        action = "Give a web address that begins with https, or git@host:owner/repository.git."
        if scheme == "file":
            action = "Give the path itself, without file://."
        raise InputError(f"Addresses with {scheme}: can't be fetched.", action=action)
    if not text.isprintable():
        raise InputError("The address contains invalid characters.", action="Check it.")
    try:
        parts = urlsplit(text)
    except ValueError as problem:
        raise _wrong(text) from problem
    if scheme == "ssh":
        if parts.password is not None or not parts.hostname or parts.hostname.startswith("-"):
            raise _with_password() if parts.password is not None else _wrong(text)
        return Repository(text)
    if "@" in parts.netloc:
        raise _with_password()
    url = normalise(text)
    if url is None:
        raise _wrong(text)
    segments = [part for part in urlsplit(url).path.split("/") if part]
    forge = urlsplit(url).hostname in FORGES and len(segments) == 2
    if git or forge or url.endswith(".git"):
        return Repository(url.rstrip("/"))
    return Site(url)


def _with_password() -> InputError:
    return InputError(
        "The address holds a name or password, which would be stored with the book.",
        action="Leave it out; for git use a credential helper or SSH, for sites a public address.",
    )


def _wrong(text: str) -> InputError:
    return InputError(
        f"{without_password(text)} is not an address that can be fetched.", action="Check it."
    )


def _checked_ref(ref: str) -> str:
    if ref and (not REF.fullmatch(ref) or ".." in ref or "@{" in ref or ref.endswith(".lock")):
        raise InputError(
            f"{ref!r} can't be a branch, tag or commit.", action="Check --ref, or leave it out."
        )
    return ref


def _checked_path(path: str) -> str:
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts or ".git" in (part.lower() for part in parts) or not path.isprintable():
        raise InputError(
            f"{path!r} is not a path in a repository.",
            action="Give a folder or file relative to its root, without `..`.",
        )
    return "/".join(parts)


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except OSError:
        return False


def _is_repository(path: Path) -> bool:
    try:
        return (path / "HEAD").is_file() and (path / "objects").is_dir()
    except OSError:
        return False


def _name(text: str) -> str:
    return slug(text, longest=60)


def _key(name: str, text: str) -> str:
    """A folder's name for the source; the tilde keeps it apart from books' ids."""
    return f"{name}~{hash_text(text)[:12]}"


def without_password(text: str) -> str:
    return PASSWORD.sub("//", text)


def normalise(url: str, base: str = "") -> str | None:
    """The one spelling of an address, without fragment and tracking parameters; None for what is
    no web address or one that holds a password."""
    if len(url) > MAX_WRITTEN:
        return None
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
    if len(name) > MAX_HOST:  # before `idna`, which takes its time
        return ""
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
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
            continue
        if last:
            kept.append("")
    return "/" + "/".join(kept)


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


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
        path = urlsplit(url).path
        folder, _, last = path.rpartition("/")
        return cls(origin_of(url), f"{path if last and '.' not in last else folder}/")

    def holds(self, url: str) -> bool:
        return f"{url.partition('?')[0].rstrip('/')}/".startswith(self.origin + self.folder)

    def take(self, url: str, base: str = "") -> str | None:
        """The address in this site's spelling, or None if it is not in it."""
        made = normalise(url, base)
        if made and self.origin.startswith("https:") and made.startswith("http:"):
            secure = "https:" + made.removeprefix("http:")
            made = secure if self.holds(secure) else made  # old links of a site that moved
        return made if made and self.holds(made) else None

    def take_all(self, urls: Iterable[str], base: str) -> list[str]:
        """Those that are in it."""
        return [taken for url in urls if (taken := self.take(url, base))]

    def path_in(self, url: str) -> str:
        """Path and query behind the scope's folder."""
        rest = url.removeprefix(self.origin)
        return rest.removeprefix(self.folder) if rest.startswith(self.folder) else ""
