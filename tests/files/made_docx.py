"""Makes .docx files. All names are invented."""

import io
import zipfile

import docx

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
_WPS = 'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
_NAMESPACES = f"{_W} {_MC} {_WPS}"


def plain_docx(*paragraphs: str) -> bytes:
    """A document as Word writes it, with these paragraphs."""
    made = docx.Document()
    for text in paragraphs:
        made.add_paragraph(text)
    made.core_properties.author = "Jonas Wirth"
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def repack(data: bytes, **changed: str | bytes) -> bytes:
    """The archive with other contents of its parts, named as without folder and suffix."""
    out, names = io.BytesIO(), set[str]()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            short = name.rpartition("/")[2].partition(".")[0]
            names.add(short)
            new.writestr(name, changed.get(short, old.read(name)))
        for short in changed.keys() - names:
            folder = "word/media" if short.startswith("image") else "word"
            new.writestr(f"{folder}/{short}" + ".xml" * ("." not in short), changed[short])
    return out.getvalue()


def run(text: str, tag: str = "t") -> str:
    return f'<w:r><w:{tag} xml:space="preserve">{text}</w:{tag}></w:r>'


def part(kind: str, *paragraphs: str) -> str:
    """A part of that root element, with paragraphs of runs."""
    inside = "".join(f"<w:p>{runs}</w:p>" for runs in paragraphs)
    return f"<w:{kind} {_NAMESPACES}>{inside}</w:{kind}>"


def full_docx() -> bytes:
    """A document with a text in every place where one can stand."""
    box = f"<wps:txbx><w:txbxContent><w:p>{run('in a box')}</w:p></w:txbxContent></wps:txbx>"
    fallback = f"<mc:Fallback><w:p>{run('in a box')}</w:p></mc:Fallback>"
    choice = f'<mc:Choice Requires="wps">{box}</mc:Choice>{fallback}'
    body = (
        '<w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr>' + run("By ") + run("Ina Sorel"),
        f"<w:del>{run('Odile Prath', 'delText')}</w:del><w:ins>{run('Bo Prath')}</w:ins>",
        f"<w:moveFrom>{run('moved')}</w:moveFrom><w:moveTo>{run('here')}</w:moveTo>",
        run('HYPERLINK "mailto:x@example.edu"', "instrText")
        + f"<w:hyperlink>{run('write')}</w:hyperlink>",
        f"<w:r><mc:AlternateContent>{choice}</mc:AlternateContent></w:r>",
        "<w:r><w:t>one</w:t><w:tab/><w:t>two</w:t><w:br/><w:t>e</w:t><w:noBreakHyphen/><w:t>mail</w:t></w:r>",
        f"<w:sdt><w:sdtContent>{run('chosen')}</w:sdtContent></w:sdt>",
    )
    return repack(
        plain_docx("x"),
        document=part("document", *body)
        .replace("<w:p>", "<w:body><w:p>", 1)
        .replace("</w:document>", "</w:body></w:document>"),
        header1=part("hdr", run("a header")),
        footer1=part("ftr", run("a footer")),
        footnotes=part("footnotes", run("a note")),
        comments=part("comments", run("a comment")),
        image1=b"PNG",
    )
