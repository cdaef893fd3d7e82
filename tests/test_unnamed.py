"""`pii_context`: words whose own form says that they are no names, edges of names, and characters between words that show nothing."""

import pytest

from tests.test_context import CONTEXT, marked, names_in

REST = "\n\nWe met our users on Monday and drew a map of what they miss in the library.\n"


def found(text: str, model: str | None = None) -> list[str]:
    return [name for name, _ in names_in(CONTEXT(marked(text, model)))]


@pytest.mark.parametrize(
    "text, names",
    [
        # Word processors write "Page" like this; so do headings.
        ("3 | [[P a g e]]" + REST, []),
        ("[[A B S T R A C T]]" + REST, []),
        # Words that stand in no table may be a name that few bear.
        ("Week 8\n\n[[C H I Z O B A M   N K E M A K O L A M   O Z O E Z E]]" + REST, ["C H I Z O B A M   N K E M A K O L A M   O Z O E Z E"]),
        ("[[M A R I A   A N A   K I M]]" + REST, ["M A R I A   A N A   K I M"]),
        ("[[A N A]]" + REST, ["A N A"]),
        ("Team [[i d]]  :  22014" + REST, []),
        ("We asked [[Imam Santoso]] and [[Aisha Sheikh]].", ["Imam Santoso", "Aisha Sheikh"]),
        # A name that is kept back.
        ("We washed Mrs. [[A.]] in the morning.", []),
        ("We met [[A. Kim]] in the morning.", ["A. Kim"]),
        ("We send it by [[WhatsApp]], or by [[Vinamilk]]'s app.", []),
        ("We send it to [[Samsung Kim]].", ["Samsung Kim"]),
        # Products, and where people come from.
        ("I installed [[.4:Anki]] and made cards.", []),
        ("I am from [[Olinda]]'s village.", ["Olinda"]),
        # What a bracket shortens.
        ("I asked the Customer Success Lead ([[CSL]]) about it.", []),
        ("It runs through Mapping, Assembly and Review ([[M-A-R]]) each week.", []),
        ("I asked my friend from Porto ([[MAR]]) about it.", ["MAR"]),
        ("I asked [[Maria Ana Kim]] ([[MAK]]) about it.", ["Maria Ana Kim", "MAK"]),
        ("In June we went ([[IJWW]] came along).", ["IJWW"]),
        # Labels of fields that are one word.
        ("Interviewer [[RollNo]] : 55234" + REST, []),
        ("Interviewer [[Arno]] : 55234" + REST, ["Arno"]),
        # Planets where the text is about the sky; people elsewhere.
        ("The planet [[Venus]] is hot. No spacecraft lands on [[Venus]] for long.", []),
        ("My cousin [[Venus]] came. She loves telescopes.", ["Venus"]),
        ("My cousin [[Venus Reyes]] told me that each planet has an orbit.", ["Venus Reyes"]),
        # Headings with a slip in them.
        ("[[Challange]] and selection" + REST, []),
        ("[[Aplication]]:" + REST, []),
        ("[[Challen]] and I" + REST, ["Challen"]),
        ("By [[Challange]]" + REST, ["Challange"]),
        ("[[Última modificação]]: 3 de maio" + REST, []),
        # Titles without a name.
        ("We sat at my [[Mzee]]'s house.", []),
        ("We asked [[Mzee Kariuki]] to speak.", ["Kariuki"]),
        ("We asked [[Don]] to speak.", ["Don"]),
        # Greetings.
        ("[[Hallo]]! I am here since two weeks.", []),
        ("My aunt says “[[Hey Felicia]], come in” each time.", ["Felicia"]),
        ("My neighbour Mr. [[Hey Kim]] came by.", ["Hey Kim"]),
    ],
)
def test_what_is_no_name_by_its_form_is_none(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    "text, names",
    [
        # The rest of a field, an English word too; non-breaking spaces as word processors have them.
        ("Map  Submitted by: [[Nadia]] Church  Course: Design" + REST, ["Nadia Church"]),
        ("Map\u00a0 Submitted\u00a0by:\u00a0[[Nadia]] Church\u00a0 Course:\u00a0Design" + REST, ["Nadia Church"]),
        ("Name: [[Nadia]] Church" + REST, ["Nadia Church"]),
        ("By: [[Rosa]] Church | 3 May" + REST, ["Rosa Church"]),
        ("Name: [[Nadia]] Course: Design" + REST, ["Nadia"]),
        ("Name: [[Nadia]] lives in Porto" + REST, ["Nadia"]),
        ("I asked [[Nadia]] Spring  yesterday" + REST, ["Nadia"]),
        # The end of a sentence, with characters that show nothing around each word.
        (
            "\u200bWith\u200b \u200b[[Adaeze\u200b \u200bBright.\u200b \u200bNora]]\u200b \u200blikes\u200b it." + REST,
            ["Adaeze\u200b \u200bBright", "Nora"],
        ),
        ("With [[Adaeze Bright. Nora]] likes it." + REST, ["Adaeze Bright", "Nora"]),
        # Two spaces behind the full stop of an initial.
        ("My friend [[John F.]]  [[Kowalski]] came.", ["John F.  Kowalski"]),
        ("Our team: [[John F.]]   [[Kowalski]]", ["John F.", "Kowalski"]),
        ("[[John]]  [[Kowalski]]" + REST, ["John", "Kowalski"]),
        # The writer, not an initial.
        ("by [[Anita Lopez I]] am writing about the river.", ["Anita Lopez"]),
        ("With my friend [[Priya I]] made a map.", ["Priya"]),
        ("My friend [[Priya I.]] made a map.", ["Priya I."]),
        ("Name [[ist Jonas]]" + REST, ["Jonas"]),
        ("by [[de Vries]]" + REST, ["de Vries"]),
    ],
)
def test_edges(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    "text, names",
    [
        ("Written by\n\nMrs. Rima Kulkarni\n\nManager of Sales" + REST, ["Rima Kulkarni"]),
        ("Written by\n\nRima Kulkarni\n\nManager of Sales" + REST, ["Rima Kulkarni"]),
        ("We know the plan is\n\nMrs. Rima Kulkarni\n\nManager of Sales" + REST, []),
        ("Written by\n\nMrs. Nobody in particular\n\nManager of Sales" + REST, []),
    ],
)
def test_who_stands_below_written_by_is_found(text: str, names: list[str]) -> None:
    assert found(text) == names


def test_who_is_called_in_what_they_told_the_writer_is_the_writer() -> None:
    doc = CONTEXT(marked("My boss would often tell me: “Hey [[.5:Felicia]], mind the step.”"))
    assert [span._.pii_reason for span in doc.spans["pii"]] == ["student: the writer is spoken to"]


def roles(text: str, model: str) -> list[list[str]]:
    return names_in(CONTEXT(marked(text, model)))


def test_who_is_named_after_a_firm_is_no_person() -> None:
    assert found("My company, [[.5:Willow Soap]], has announced a tour for its staff.") == []
    assert found("My company, [[Maria Kowalska]] and I have announced a tour.") == ["Maria Kowalska"]


def test_a_bracket_does_not_part_a_speaker_from_the_course() -> None:
    text = "The plan came late and we had to wait for it.\nAs [[Sergio Almonte]] (Lumo Inc) in the course said, plan first."
    assert roles(text, "CITED") == [["Sergio Almonte", "CITED"]]


@pytest.mark.parametrize(
    "text, names",
    [
        # The letter of a unit or a table ends the sentence before.
        ("We warmed the water to 40 [[C. Pradeep]] stirred it.", ["Pradeep"]),
        ("The slope was 9.8 N/[[m. Marcus]] told us to do it again.", ["Marcus"]),
        ("What we saw stands in Table [[B. Anton]] made the plot.", ["Anton"]),
        ("The paper of 2014 [[C. Pradeep]] wrote with us.", ["Pradeep"]),
        ("My friend [[C. Pradeep]] stirred it.", ["C. Pradeep"]),
        ("Team:\n1 [[C. Pradeep]]\n2 [[A. Kenji]]" + REST, ["C. Pradeep", "A. Kenji"]),
        # Whose child somebody is.
        ("My friend [[Kavita Rani]] d/o Gopal came.", ["Kavita Rani d/o Gopal"]),
        ("My friend [[Kavita Rani d]]/o Gopal came.", ["Kavita Rani d/o Gopal"]),
        ("My friend [[Siva]] a/l [[Raman]] came.", ["Siva a/l Raman"]),
        ("My friend [[Siva]] and/or Raman came.", ["Siva"]),
        # "and" of a chat.
        ("and then i meet [[tasha n priya]] at the gate of the old school", ["tasha", "priya"]),
        ("me and [[kim n me r]] so dead, says everybody in the class", ["kim"]),
        ("My friend [[Siva n Raman]] came.", ["Siva n Raman"]),
        ("My friend [[r o x a n n e]] came.", ["r o x a n n e"]),
        ("My friend [[k e v i n]] came.", ["k e v i n"]),
        # Lists of names in a field, places among them.
        ("Partners: Austin Wells, Madison Park and Savannah Cruz\nAim: to find it." + REST, ["Austin Wells", "Madison Park", "Savannah Cruz"]),
        ("Partners: water, salt and a spoon\nAim: to find it." + REST, []),
        ("My lab partner was Basil. He spilled it." + REST, ["Basil"]),
        ("My best friends are Georgia, Joy and Savannah. We talk." + REST, ["Georgia", "Joy", "Savannah"]),
        ("My friends are Important to me, and Rome too." + REST, []),
        ("My lab partner was Hungry. He ate it." + REST, []),
        # People whom nobody has marked, in company.
        ("I owe this to mentors like Pilar and Otto, who had time for me." + REST, ["Pilar", "Otto"]),
        ("We asked other classmates such as Dmitri." + REST, ["Dmitri"]),
        ("As an apprentice of Hamid and Wojtek, I know what to ask." + REST, ["Hamid", "Wojtek"]),
        ("The hall was cold. Collaborating with [[Odile]] and [[Igor]] made it warm." + REST, ["Odile", "Igor"]),
        ("We brainstormed with Sticky Notes, and paired up with others." + REST, []),
        ("The plan came late. Will and I did the slides, and then Grace and I read them." + REST, ["Will", "Grace"]),
        ("The plan came late. Sleep and I are old friends, but Time and I are none." + REST, []),
        ("The plan came late. I asked two members to help, Hope and Will, since they had time." + REST, ["Hope", "Will"]),
        ("The plan came late. We drew three things: Hope, Love and Peace." + REST, []),
        ("The plan came late. We invited Pilar from payroll and gave her tea." + REST, ["Pilar"]),
        ("The plan came late. We bought Paper from the office." + REST, []),
        ("The plan came late. I interviewed Dmitri and Svetlana." + REST, ["Dmitri", "Svetlana"]),
        ("The plan came late. I interviewed Customers." + REST, []),
        ("I owe this to tools like Paper and Pencil." + REST, []),
        ("As a student of Design, I know what to ask." + REST, []),
    ],
)
def test_what_new_users_wrote(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    "text, role",
    [
        ("I liked [[Svetlana]]'s post on the study, and would add a word.", "CONNECTED"),
        ("As [[Imani]] argues above, consent would not help.", "CONNECTED"),
        ("Then [[Mateus]] volunteered to draw the map.", "CONNECTED"),
        ("[[Sergio Almonte]] (Lumo Inc) has a plan that we learn by heart.", "CITED"),
        ("[[Haney]] suggested that we forget what we fear.", "CITED"),
        ("There was a man in my village named [[Barnabas]], who sold fish.", "CONNECTED"),
        ("As [[Haney]] (1973) argues above all, consent would not help.", "CITED"),
        ("[[Haney]] argues that consent would not help.", "CITED"),
        ("[[Imke]] and [[Roswitha]], two fellow nurses, gave us their notes.", "CONNECTED"),
        ("I owe this to my family members, [[Odile]] and [[Roswitha]], for the soup.", "CONNECTED"),
        ("I look up to visionaries like [[Nadia Okonski]], and always will.", "CITED"),
        ("I found comfort in [[Nadia Okonski]], whose writing is dry and short.", "CITED"),
        ("And [[Mei-Ling]], your example with the shop is great.", "CONNECTED"),
        ("Hardware was made from [[Ganbold]].", "CONNECTED"),
        ("The owner, [[Don Hernan]], lends the chairs.", "CONNECTED"),
        ("On the first day the supervisor, [[Selvam]], told me to wait.", "CONNECTED"),
        ("My cousin wants to be [[Nadia Okonski]], and cannot sing.", "CITED"),
        ("Characters: [[Marvin Okonski]] (steward), [[Nadia]] (head of the lab).", "CHARACTER"),
        ("We made up a customer, [[Saida Okonski]], who orders soup.", "CHARACTER"),
        ("I used made-up names: [[Saida]], [[Marvin Okonski]].", "CHARACTER"),
        ("Case inspiration: [[Nadia Okonski]] of Lumo Health", "CITED"),
        ("We cooked, with [[Nadia Okonski]] singing on the radio.", "CITED"),
        ("Together with [[Szabina]] I printed the map.", "CONNECTED"),
        ("TO: [[Shirin Okonski]], VP Guests (fictional)", "CHARACTER"),
        ("CASE (from the book, p. 118): [[Maria Okonski]] is seen in clinic.", "CHARACTER"),
        ("The patient will be called Mrs [[Okonski]].", "CHARACTER"),
        ("[[Nadia Okonski]], one of my heroes, never gave up on it.", "CITED"),
        # Nothing of this makes somebody invented or known.
        ("My name is [[.9:Nadia Okonski]] and this is a story (made-up).", "STUDENT"),
        ("We read it, and [[Nadia Okonski]]'s legacy is that we still do.", "CITED"),
    ],
)
def test_who_is_of_the_writers_own_people(text: str, role: str) -> None:
    assert {r for _, r in roles("The plan came late and we had to wait for it.\n" + text, "CITED")} == {role}
