"""Makes .docx files with a name in every place where one can stand. All names are invented."""

import base64
import io
import re
import zipfile
from collections.abc import Callable

NAMES = ("Ina", "Sorel", "Odile", "Prath", "Wirth", "ina.sorel")
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_NS = (
    f'xmlns:w="{_W}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
)
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml."
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
_WHO = 'w:id="1" w:author="Ina Sorel" w:date="2024-05-01T10:00:00Z"'


def _run(text: str, tag: str = "t") -> str:
    return f'<w:r><w:{tag} xml:space="preserve">{text}</w:{tag}></w:r>'


BODY = f"""
<w:p><w:hyperlink r:id="rIdLink" w:tooltip="Mail to Ina Sorel">{_run("write")}</w:hyperlink></w:p>
<w:p><w:del {_WHO}>{_run("Ina Sorel", "delText")}</w:del><w:ins {_WHO}>{_run("Odile Prath")}</w:ins>{_run(" said so.")}</w:p>
<w:p><w:moveFrom {_WHO}>{_run("Ina Sorel moved")}</w:moveFrom><w:moveTo {_WHO}>{_run("Odile Prath moved")}</w:moveTo></w:p>
<w:p><w:r><w:instrText>HYPERLINK "mailto:ina.</w:instrText></w:r><w:r><w:instrText>sorel@example.edu"</w:instrText></w:r></w:p>
<w:p><w:fldSimple w:instr=" AUTHOR Ina Sorel ">{_run("Ina Sorel")}</w:fldSimple></w:p>
<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>Ina Sorel</w:t></w:r></w:p>
<w:p><m:oMath><m:r><m:t>Sorel</m:t></m:r></m:oMath></w:p>
<w:sdt><w:sdtPr><w:alias w:val="Ina Sorel"/><w:tag w:val="Sorel"/><w:dropDownList><w:listItem w:displayText="Ina" w:value="Sorel"/>
</w:dropDownList><w:dataBinding w:xpath="/Sorel"/></w:sdtPr><w:sdtContent><w:p>{_run("Ina Sorel")}</w:p></w:sdtContent></w:sdt>
<w:p><w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:docPr id="1" name="Ina Sorel.png" descr="Ina Sorel at sea"
 title="Sorel"/><wps:txbx><w:txbxContent><w:p>{_run("Odile Prath in a box")}</w:p></w:txbxContent></wps:txbx></w:drawing></mc:Choice>
<mc:Fallback><w:pict><v:shape alt="Sorel"><v:textpath string="Ina Sorel"/></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>
<w:p><w:r><w:pict><v:shape alt="Sorel"><v:textpath string="Ina Sorel"/></v:shape></w:pict></w:r></w:p>
<w:p><w:r><w:drawing><c:chart xmlns:c="c" r:id="rIdChart"/></w:drawing></w:r></w:p>
<w:p><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:commentReference w:id="0"/></w:r></w:p>
<w:p><w:bookmarkStart w:id="9" w:name="Ina_Sorel"/><w:pPr><w:pStyle w:val="SorelHeading"/></w:pPr>{_run("Odile")}</w:p>
<w:p><w:hyperlink w:anchor="Ina_Sorel"><w:r><w:instrText>REF InaSorel_1 \\h</w:instrText></w:r></w:hyperlink></w:p>
<w:p><w:bookmarkStart w:id="8" w:name="InaSorel_1"/></w:p>
<!-- Ina Sorel --><?note Ina Sorel?>
"""
_COMMENT = f'<w:comment w:id="0" w:author="Jonas Wirth" w:initials="JW"><w:p>{_run("See me, Ina Sorel.")}</w:p></w:comment>'
# Name of a part, kind of relation, content type, content.
PARTS = (
    (
        "word/comments.xml",
        "comments",
        _TYPE + "comments+xml",
        f"<w:comments {_NS}>{_COMMENT}</w:comments>",
    ),
    (
        "word/footnotes.xml",
        "footnotes",
        _TYPE + "footnotes+xml",
        f'<w:footnotes {_NS}><w:footnote w:id="2"><w:p>{_run("Thanks to Odile Prath")}</w:p></w:footnote></w:footnotes>',
    ),
    (
        "word/people.xml",
        "people",
        _TYPE + "people+xml",
        f'<w:people {_NS}><w:person w:author="Ina Sorel"/></w:people>',
    ),
    (
        "word/charts/chart1.xml",
        "chart",
        "application/vnd.openxmlformats-officedocument.drawingml.chart+xml",
        "<chart>Ina Sorel</chart>",
    ),
    ("customXml/item9.xml", "customXml", "application/xml", "<data>Ina Sorel</data>"),
    (
        "word/embeddings/sheet1.bin",
        "oleObject",
        "application/vnd.openxmlformats-officedocument.oleObject",
        "Ina Sorel",
    ),
)
_LINKS = """<Relationship Id="rIdLink" TargetMode="External" Type="{rel}hyperlink" Target="mailto:ina.sorel@example.edu?subject=Ina%20Sorel"/>
<Relationship Id="rIdFile" TargetMode="External" Type="{rel}image" Target="file:///C:/Users/Ina%20Sorel/map.png"/>"""


def plain_docx(*paragraphs: str) -> bytes:
    """A document of these paragraphs, without properties."""
    import docx

    document, file = docx.Document(), io.BytesIO()
    for text in paragraphs:
        document.add_paragraph(text)
    document.core_properties.comments = document.core_properties.author = ""
    document.save(file)
    return file.getvalue()


def full_docx() -> bytes:
    """A document with names everywhere."""
    import docx

    document, file = docx.Document(), io.BytesIO()
    paragraph = document.add_paragraph("By ")
    paragraph.add_run("Ina ").bold = True
    paragraph.add_run("Sorel.")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Ina Sorel", "Odile\tPrath"
    section = document.sections[0]
    section.header.paragraphs[0].text, section.footer.paragraphs[0].text = (
        "Sorel 1",
        "Ina Sorel, page 1",
    )
    document.add_picture(io.BytesIO(base64.b64decode(_PNG)))
    core = document.core_properties
    core.author, core.last_modified_by, core.title, core.keywords = (
        "Ina Sorel",
        "Odile Prath",
        "Essay of Ina Sorel",
        "Sorel",
    )
    core.subject, core.comments, core.category = "Sorel", "by Ina Sorel", "Prath"
    document.save(file)
    return _edited(file.getvalue(), _plant)


def _plant(name: str, content: str) -> str:
    if name == "word/document.xml":
        content = re.sub(
            r"<w:document [^>]*>",
            lambda m: m[0][:-1] + " " + _missing(m[0]) + ">",
            content,
            count=1,
        )
        return content.replace("<w:sectPr", BODY + "<w:sectPr", 1)
    if name == "word/_rels/document.xml.rels":
        content = content.replace("image1.", "sorel.")
        rels = "".join(
            f'<Relationship Id="{"rIdChart" if kind == "chart" else f"rIdNew{n}"}" Type="{_REL}{kind}" Target="/{part}"/>'
            for n, (part, kind, *_) in enumerate(PARTS)
        )
        return content.replace(
            "</Relationships>", rels + _LINKS.format(rel=_REL) + "</Relationships>"
        )
    if name == "[Content_Types].xml":
        new = "".join(
            f'<Override PartName="/{part}" ContentType="{kind}"/>' for part, _, kind, _ in PARTS
        )
        return content.replace("</Types>", new + "</Types>")
    if name == "word/styles.xml":
        style = '<w:style w:type="paragraph" w:customStyle="1" w:styleId="SorelHeading"><w:name w:val="Sorel Heading"/></w:style>'
        return content.replace("</w:styles>", style + "</w:styles>")
    if name == "word/settings.xml":
        return content.replace(
            "</w:settings>",
            '<w:attachedTemplate r:id="rId1"/><w:docVars><w:docVar w:name="a" w:val="Sorel"/></w:docVars>'
            "</w:settings>",
        )
    return (
        content.replace("</Properties>", "<Manager>Ina Sorel</Manager></Properties>")
        if name == "docProps/app.xml"
        else content
    )


def _missing(tag: str) -> str:
    """Declarations of the namespaces that a tag lacks."""
    return " ".join(part for part in _NS.split() if part.partition("=")[0] + "=" not in tag)


def _edited(data: bytes, plant: Callable[[str, str], str]) -> bytes:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as new,
    ):
        new.comment = b"Ina Sorel"
        for name in old.namelist():
            content = old.read(name)
            name = name.replace("image1.", "sorel.") if plant is _plant else name
            new.writestr(
                name, plant(name, content.decode()) if name.endswith((".xml", ".rels")) else content
            )
        if plant is _plant:
            for part, _, _, content in PARTS:
                new.writestr(part, content)
            link = f'<Relationship Id="rId1" TargetMode="External" Type="{_REL}attachedTemplate" Target="file:///C:/Users/Ina/x.dotx"/>'
            rels = f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{link}</Relationships>'
            new.writestr("word/_rels/settings.xml.rels", rels)
    return out.getvalue()


def change(data: bytes, marked: str) -> bytes:
    """The document, with a paragraph in which <d> and <i> mark what was deleted and inserted, in the place of its "x"."""
    runs, inside = [], []
    for part in re.findall(r"</?[di]>|[^<]+", marked):
        if part.startswith("</"):
            inside.pop()
        elif part.startswith("<"):
            inside.append(part[1])
        else:
            run = _run(part, "delText" if "d" in inside else "t")
            for tag in ("del" if mark == "d" else "ins" for mark in reversed(inside)):
                run = f"<w:{tag} {_WHO}>{run}</w:{tag}>"
            runs.append(run)
    return _edited(
        data, lambda name, content: content.replace("<w:r><w:t>x</w:t></w:r>", "".join(runs))
    )


def edits_for(text: str, new: str) -> list[tuple[int, int, str]]:
    """Edits that put a new name in the place of each."""
    first, last = new.split()
    made = {"Ina": first, "Odile": "Bea", "Sorel": last, "Prath": "Zamor"}
    found = re.finditer(
        r"ina\.\s?sorel|Ina\s?Sorel(?!_)|Odile\s?Prath|Ina(?!S)|Sorel|Odile|Prath", text
    )
    return [
        (
            m.start(),
            m.end(),
            "m.r" if m[0][0] == "i" else re.sub(r"\w+", lambda w: made[w[0]], m[0]),
        )
        for m in found
    ]


def xml_of(data: bytes) -> dict[str, str]:
    """Names of the members of an archive, and what they hold; the name too, and what stands around all."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name).decode("utf-8", "replace") for name in archive.namelist()}
        return parts | ({"": archive.comment.decode()} if archive.comment else {})
