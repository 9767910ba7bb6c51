from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.errors import NetError
from petra.net.net import Net, Place, Transition
from petra.net.pnml import read_pnml, write_pnml

# What XML can hold; whitespace and quotes are likely to go wrong.
TEXT = st.text(
    st.one_of(
        st.sampled_from("ab <>&\"'\t\n\r"),
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"),
    ),
    max_size=6,
)
NAMES = TEXT.filter(bool)


@st.composite
def nets(draw: st.DrawFn) -> Net:
    labels = st.none() | TEXT
    places = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    chosen = st.sampled_from(places)
    counts = st.dictionaries(chosen, st.integers(0, 9), max_size=3)
    weights = st.dictionaries(chosen, st.integers(1, 9), max_size=3)
    several = st.lists(chosen, max_size=2).map(tuple)
    transitions = [
        Transition(
            name=name,
            inputs=draw(weights),
            outputs=draw(weights),
            reads=draw(several),
            resets=draw(several),
            priority=draw(st.integers(-5, 5)),
            label=draw(labels),
        )
        for name in draw(st.lists(NAMES, max_size=4, unique=True))
    ]
    return Net(
        name=draw(TEXT),
        places={name: Place(name, draw(labels)) for name in places},
        transitions={one.name: one for one in transitions},
        initial=draw(counts),
        final=tuple(draw(st.lists(counts, max_size=2))),
    )


@given(nets())
def test_a_written_net_reads_back_as_it_was(net: Net) -> None:
    back = read_pnml(write_pnml(net))
    assert back == net
    assert list(back.places) == list(net.places)
    assert list(back.transitions) == list(net.transitions)


@given(nets())
def test_bytes_and_text_read_alike(net: Net) -> None:
    assert read_pnml(write_pnml(net).encode()) == net


SMALL = """
    <place id="i"><name><text>start</text></name><initialMarking><text>1</text></initialMarking></place>
    <place id="o"/>
    <transition id="t"/>
    <arc id="a" source="i" target="t"><inscription><text> 2 </text></inscription></arc>
    <arc id="b" source="t" target="o"/>
    <finalmarkings><marking><place idref="o"><text>1</text></place></marking></finalmarkings>
"""


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(f"<pnml><net id='n'>{SMALL}</net></pnml>", id="no namespace, no page"),
        pytest.param(f"<net id='n'>{SMALL}</net>", id="a bare net"),
        pytest.param(
            f"<pnml xmlns='http://www.pnml.org/version-2009/grammar/pnml'>"
            f"<net id='n'><page id='1'><page id='2'>{SMALL}</page></page></net></pnml>",
            id="namespace, pages within pages",
        ),
        pytest.param(f"<pnml><module><net id='n'>{SMALL}</net></module></pnml>", id="a module"),
        pytest.param(
            f"<?xml version='1.0' encoding='iso-8859-1'?><x:pnml xmlns:x='u'>"
            f"<x:net id='n'>{SMALL}</x:net></x:pnml>",
            id="a prefix, and a declared encoding that text does not have",
        ),
    ],
)
def test_all_common_shapes_of_a_document_are_read(document: str) -> None:
    net = read_pnml(document)
    assert net.name == "n"
    assert net.places == {"i": Place("i", "start"), "o": Place("o")}
    assert net.transitions["t"].inputs == {"i": 2}
    assert net.transitions["t"].outputs == {"o": 1}
    assert (net.initial, net.final) == ({"i": 1}, ({"o": 1},))


def test_references_between_pages_stand_for_their_target() -> None:
    net = read_pnml(
        "<pnml><net id='n'><page id='1'><place id='p'/><transition id='t'/></page>"
        "<page id='2'><referencePlace id='r' ref='p'/><referencePlace id='s' ref='r'/>"
        "<arc id='a' source='s' target='t'/></page></net></pnml>"
    )
    assert net.transitions["t"].inputs == {"p": 1}


def test_two_arcs_between_the_same_ends_add_up() -> None:
    arc = "<arc source='i' target='t'/>"
    net = read_pnml(f"<net id='n'><place id='i'/><transition id='t'/>{arc}{arc}</net>")
    assert net.transitions["t"].inputs == {"i": 2}


def test_other_tools_words_for_special_arcs_and_counts_are_understood() -> None:
    net = read_pnml(
        "<net id='n'><place id='p'><initialMarking><value>Default,3</value></initialMarking></place>"
        "<transition id='t'/><arc source='p' target='t'><type value='test'/></arc>"
        "<arc source='p' target='t'><arctype><text>reset</text></arctype></arc></net>"
    )
    assert net.initial == {"p": 3}
    assert net.transitions["t"].reads == ("p",)
    assert net.transitions["t"].resets == ("p",)


LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE pnml [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<pnml><net id="&b;"/></pnml>"""


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        pytest.param("<pnml>\n<net id='n'>\n</pnml>", "line 3: not well-formed", id="mismatch"),
        pytest.param("", "line 1: not well-formed", id="empty"),
        pytest.param("<pnml/>", "no <net>", id="no net"),
        pytest.param("<pnml><net id='a'/><net id='b'/></pnml>", "2 nets", id="two nets"),
        pytest.param(LAUGHS, "line 2: a document type", id="entities are never expanded"),
        pytest.param(
            "<!DOCTYPE n SYSTEM 'file:///etc/passwd'><net id='n'/>", "document type", id="external"
        ),
        pytest.param("<a>" * 100 + "</a>" * 100, "deeper than", id="deep"),
        pytest.param("<net id='n'>\n<place/></net>", "line 2: <place> needs", id="no id"),
        pytest.param("<net id='n'><place id='p'/><place id='p'/></net>", "twice", id="same id"),
        pytest.param(
            "<net id='n'><place id='p'/>\n<arc source='p' target='q'/></net>",
            "line 2: no place or transition has the id 'q'",
            id="arc to nowhere",
        ),
        pytest.param(
            "<net id='n'><place id='p'/><arc source='p' target='p'/></net>",
            "from place to place",
            id="arc between places",
        ),
        pytest.param(
            "<net id='n'><place id='p'><initialMarking><text>-1</text></initialMarking></place></net>",
            "'-1', which is no count",
            id="negative marking",
        ),
        pytest.param(
            "<net id='n'><place id='p'/><transition id='t'/><arc source='p' target='t'>"
            "<inscription><text>0</text></inscription></arc></net>",
            "weight 0",
            id="weight nought",
        ),
        pytest.param(
            "<net id='n'><place id='p'/><transition id='t'/><arc source='p' target='t'>"
            "<arctype><text>inhibitor</text></arctype></arc></net>",
            "type 'inhibitor'",
            id="inhibitor arcs are refused, not ignored",
        ),
        pytest.param(
            "<net id='n' type='http://www.pnml.org/version-2009/grammar/symmetricnet'/>",
            "high-level",
            id="coloured net",
        ),
        pytest.param(
            "<net id='n'><referencePlace id='r' ref='r'/><transition id='t'/>"
            "<arc source='r' target='t'/></net>",
            "no place or transition",
            id="a reference to itself",
        ),
    ],
)
def test_a_bad_document_is_refused_with_the_reason(document: str, complaint: str) -> None:
    with pytest.raises(NetError, match=complaint):
        read_pnml(document)


def test_a_document_beyond_the_size_limit_is_not_even_parsed() -> None:
    with pytest.raises(NetError, match="at most 16777216"):
        read_pnml(b"<" * (16 * 1024 * 1024 + 1))


def test_a_name_that_xml_cannot_hold_is_refused() -> None:
    net = Net(name="n", places={"\0": Place("\0")}, transitions={}, initial={})
    with pytest.raises(NetError, match="XML cannot hold"):
        write_pnml(net)


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_input_gives_a_net_or_a_net_error(document: str | bytes) -> None:
    with pytest.raises(NetError):
        read_pnml(document)
