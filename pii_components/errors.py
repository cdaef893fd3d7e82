"""Coded messages: what was got, what is allowed, what to do. Offsets, labels and counts; never a person's text.

    >>> from pii_components.errors import Errors, PiiError
    >>> str(PiiError(Errors.E101, label="EMAIL", value=2))
    "[E101] Threshold for 'EMAIL' is 2; use a number from 0 to 1."

Ranges: 0 core, 1 pii_ner, 2 pii_ruler, 3 pii_context, 4 surrogates, 5 command line and files, 6 corpus, 7 measuring.
"""


class _Codes(type):
    """Puts the code before the message: `Errors.E101` is `"[E101] Threshold ..."`."""

    def __getattribute__(cls, name: str):
        value = super().__getattribute__(name)
        return f"[{name}] {value}" if len(name) == 4 and name[1:].isdigit() else value


class Errors(metaclass=_Codes):
    # 0 core
    E001 = "Span [{start}, {end}) does not lie within the document of {length} tokens."
    E002 = "Label '{label}' is unknown; use one of {allowed}."
    E003 = "Role '{role}' is unknown; use one of {allowed}."
    E004 = "Score of the span [{start}, {end}) is {score}; use a number from 0 to 1."
    E005 = "{package} is needed for {what}; install it with: pip install \"en_pii_edu[{extra}]\""
    # 1 pii_ner
    E101 = "Threshold for '{label}' is {value}; use a number from 0 to 1."
    E102 = "pii_ner has no labels; call nlp.initialize() with examples that hold spans in doc.spans[\"{key}\"], or give it labels."
    E103 = "Labels of pii_ner are fixed once its model has {n} outputs; got a new label '{label}'. Initialize again to add labels."
    E104 = "Class weight for '{label}' is {value}; use a number above 0."
    # 2 pii_ruler
    # 3 pii_context
    # 4 surrogates
    # 5 command line and files
    # 6 corpus
    # 7 measuring


class Warnings(metaclass=_Codes):
    # 0 core
    # 1 pii_ner
    W101 = "{n} gold spans do not lie on token boundaries in {docs} documents; their tokens take no part in training."
    # 2 pii_ruler
    # 3 pii_context
    # 4 surrogates
    # 5 command line and files
    # 6 corpus
    # 7 measuring


class PiiError(ValueError):
    """An error with a code.

    template (str): One of `Errors`.
    values: What the template names; numbers, labels, file names; no text of a person.
    """

    def __init__(self, template: str, **values: object) -> None:
        self.code = template[1 : template.index("]")]
        super().__init__(template.format(**values))


class PiiWarning(UserWarning):
    """The category of every warning that this package gives."""
