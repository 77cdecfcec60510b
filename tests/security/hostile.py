"""Small files that make a parser take gigabytes, minutes, or its own life."""

from __future__ import annotations

import io
import zipfile
import zlib

MB = 1 << 20


def pdf(objects: list[bytes]) -> bytes:
    """The objects by number from 1; the first is the catalog."""
    made = b"%PDF-1.7\n"
    offsets: list[int] = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return made + head + table + end % (len(objects) + 1, len(made))


def _page(objects: dict[bytes, bytes], resources: bytes, contents: bytes) -> bytes:
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << %s >> "
    return pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            page % resources + b"/Contents 4 0 R >>",
            contents,
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            *objects.values(),
        ]
    )


def stream(data: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), more, data)


def nested_forms(levels: int = 9, each: int = 10) -> bytes:
    """Each form shows the next `each` times: ten to the ninth texts in five kilobytes."""
    forms: dict[bytes, bytes] = {}
    for level in range(levels):
        last = level == levels - 1
        body = b"BT /F 9 Tf (Some words) Tj ET\n" if last else b"/X Do\n" * each
        inside = b"/Font << /F 5 0 R >>" if last else b"/XObject << /X %d 0 R >>" % (level + 7)
        kind = b"/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << %s >>" % inside
        forms[b"%d" % level] = stream(body, kind)
    return _page(forms, b"/XObject << /X 6 0 R >>", stream(b"/X Do\n" * each))


def triple_flate(megabytes: int = 5_000) -> bytes:
    """One page whose text is packed three times, behind gigabytes of blanks."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(b" " * MB) + packer.flush(zlib.Z_FULL_FLUSH)
    tail = zlib.compressobj(9, zlib.DEFLATED, -15)
    text = b"BT /F 9 Tf 50 700 Td (Some words that stand behind it all) Tj ET"
    data = b"\x78\x9c" + block * megabytes + tail.compress(text) + tail.flush()
    packed = zlib.compress(zlib.compress(data, 9), 9)
    filters = b"/Filter [/FlateDecode /FlateDecode /FlateDecode]"
    return _page({}, b"/Font << /F 5 0 R >>", stream(packed, filters))


def deflated_docx(megabytes: int = 45) -> bytes:
    """A document of so many megabytes, most of it one element in another."""
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = "<w:p><w:r><w:t>a b </w:t></w:r></w:p>" * (megabytes * MB // 37)
    text = f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>'
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", text)
    return made.getvalue()


def deflated_epub(documents: int = 4, megabytes: int = 45) -> bytes:
    names = [f"{number}.xhtml" for number in range(documents)]
    items = "".join(f'<item id="{n}" href="{n}"/>' for n in names)
    spine = "".join(f'<itemref idref="{n}"/>' for n in names)
    text = "<html><body>" + "<p>a <b>b</b></p>" * (megabytes * MB // 17) + "</body></html>"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "META-INF/container.xml", '<container><rootfile full-path="a.opf"/></container>'
        )
        archive.writestr(
            "a.opf", f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>"
        )
        for name in names:
            archive.writestr(name, text)
    return made.getvalue()
