"""An HTML page as a reader sees it."""

from html.parser import HTMLParser

VOID = {"meta", "line", "rect", "br", "hr"}


class Page(HTMLParser):
    """Checks that elements are closed in order; keeps attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.shown: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open
        self.ids = [value for _, name, value in self.attributes if name == "id"]

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.shown.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.shown).split())
