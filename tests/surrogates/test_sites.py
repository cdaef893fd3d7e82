"""Addresses on social sites: no handle and no code survives; the site and its own words do."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.surrogates.handles import surrogate_url
from pii_components.surrogates.style import words

from .conftest import CONTEXT

# H stands for a handle, I for a code: neither may be found in what comes out.
ADDRESSES = """
https://www.linkedin.com/in/H/ linkedin.com/in/H/detail/recent-activity https://in.linkedin.com/pub/H
https://www.linkedin.com/company/H https://www.linkedin.com/feed/update/urn:li:activity:I
https://github.com/H github.com/H/H/blob/main/README.md https://H.github.io/H https://gist.github.com/H/I
https://www.instagram.com/H/ instagram.com/p/I/ instagram.com/H/reel/I
https://www.facebook.com/profile.php?id=I facebook.com/H facebook.com/people/H/I
https://m.facebook.com/H/posts/I
https://twitter.com/H https://x.com/H/status/I twitter.com/@H
https://www.youtube.com/channel/UCI youtube.com/@H youtube.com/@H/videos m.youtube.com/user/H
https://www.youtube.com/watch?v=I youtube.com/watch?v=I&list=PLI youtube.com/c/H https://youtu.be/I
youtube.com/shorts/I
https://medium.com/@H medium.com/@H/I https://H.medium.com/
https://www.tiktok.com/@H/video/I
https://www.behance.net/H behance.net/gallery/I/H
https://www.pinterest.com/H/H/ pinterest.co.uk/pin/I
https://H.tumblr.com/ tumblr.com/blog/view/H
https://H.blogspot.com/2019 H.wordpress.com
https://sites.google.com/view/H/home https://sites.google.com/site/H
https://docs.google.com/document/d/I/edit https://drive.google.com/file/d/I/view
https://drive.google.com/open?id=I drive.google.com/drive/folders/I
https://www.quora.com/profile/H
https://www.reddit.com/user/H reddit.com/r/H/comments/I/H reddit.com/u/H
https://soundcloud.com/H/H https://vimeo.com/I vimeo.com/H
https://www.flickr.com/photos/H/I flickr.com/people/H
https://www.researchgate.net/profile/H https://scholar.google.com/citations?user=I
https://t.me/H snapchat.com/add/H twitch.tv/H kaggle.com/H
""".split()


@pytest.mark.parametrize("address", ADDRESSES)
@settings(max_examples=4, deadline=None)
@given(
    handle=st.from_regex(r"[b-df-hj-np-tv-z][a-z]{5,9}(?:[._-]?[a-z]{5,8})?", fullmatch=True),
    code=st.from_regex(r"[A-Z][a-z][0-9]{2}[A-Za-z0-9]{8}", fullmatch=True),
    number=st.from_regex(r"[1-9][0-9]{8}", fullmatch=True),
    digits=st.booleans(),
)
def test_no_handle_and_no_code_survives(address, handle, code, number, digits):
    ident = number if digits else code
    value = re.sub(r"(?<=[/=:CL])I(?![a-z])", ident, address)
    new = surrogate_url(re.sub(r"(?<![A-Za-z])H(?![a-z])", handle, value), CONTEXT)
    for part in {*re.split(r"[._-]", handle), handle} - words("handle_words"):
        assert part not in new.lower() or part in address.lower()
    assert ident not in new
    host = re.sub(r"^https?://", "", address).split("/")[0]
    assert host.replace("H.", "") in new


WORDS = "github.com/home instagram.com/about twitter.com/photos reddit.com/user/official"


@pytest.mark.parametrize("value", WORDS.split())
def test_common_words_go_too(value):
    assert surrogate_url(value, CONTEXT).rsplit("/", 1)[1] != value.rsplit("/", 1)[1]


def test_orcid_keeps_its_form():
    new = surrogate_url("https://orcid.org/0000-0002-1825-0097", CONTEXT)
    assert re.fullmatch(r"https://orcid\.org/(?:\d{4}-){3}\d{4}", new)
    assert not new.endswith("0000-0002-1825-0097")
