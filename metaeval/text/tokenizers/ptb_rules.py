"""What counts as a token for the Penn Treebank tokeniser of Stanford CoreNLP 3.4.1.

Every rule names the characters it can begin with, a pattern and the replacement of the matched
text. At each position all rules compete; the longest match wins, context included, and the earlier
rule on a tie. The token is the pattern's group 1: whatever follows the group is context that has to
be there, counts for the length, and is read again.

The behaviour was learnt from the documentation and the grammar of CoreNLP 3.4.1 and checked
against its jar; options are those of `-preserveLines` and nothing else. Rules that can only change
whether a full stop is emitted once more are left out: full stops are dropped afterwards.
Patterns run over the "shadow" of a text (see `ptb_chars.py`), in which every non-ASCII letter is
"é", every combining sign U+0300 and every non-ASCII digit "٠".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

_split = str.split

# Abbreviations that keep their full stop, in lower case.
USUALLY_FINAL = _split(
    """al ala apr ariz assn aug bancorp bhd bldg blvd bros calif co colo conn corp cos ct dak dec
    ed.d esq est etc ext feb fla fri ga inc ind intl jan jr jul jun kan kans ky ltd mar md mich minn
    mo mon mont neb nev nov oct okla penn ph.d plc rd rt sep sept seq sq sr sys tel tenn thu thurs
    tue tues univ va vt wed wis wisc wyo"""
)
IF_CAPITALISED = _split("ark az del ill la mass miss ore pa tex wash")
BEFORE_NAMES = _split(
    """a.k.a adj adm adv alex assoc asst atty attys ave brig capt cf cie cmdr col comdr cpl dept det
    dr drs elec ens ft gen gov govs hon insp invt jos lieut lt maj messrs mlle mme mr mrs ms msgr mt
    natl pfc ph pres prof profs pvt rep reps rev sen sens sfc sgt spc st ste supt supts treas vs
    wm"""
)
BEFORE_NUMBERS = _split("art bldg ca fig figs no nos op pp prop")
COMPANY = "pp?t(?-i:[ye])s?"  # pty, pte, …
MANUFACTURING = "m(?-i:[ft])g"  # mfg, mtg
ABBREVIATIONS = frozenset(
    USUALLY_FINAL
    + IF_CAPITALISED
    + BEFORE_NAMES
    + BEFORE_NUMBERS
    + _split("mfg mtg pte ptes pty ptys ppte pptes ppty pptys")
)

# After "X." these words show that the full stop ended a sentence ("vitamin C. The").
SENTENCE_STARTS = _split(
    """About According Additionally After An A As At But Earlier He Her Here However If In It Last
    Many More Mr\\. Ms\\. Now Once One Other Our She Since So Some Such That The Their Then There
    These They This We When While What Yet You"""
)
FILE_ENDINGS = _split(
    """bat bmp c class cgi cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov
    mp3 pdf php pl png ppt ps py sql tar txt wav x xml zip"""
)

# Contents of character classes.
SPACE = " \t\xa0\u2000-\u200a\u3000"
BLANK = SPACE + "\n\r\x0b\x0c\x85\u2028\u2029"
ALPHA = "A-Za-zé\u0131\u0130\u017f\u212a"  # the last four equal i, s and k where case is ignored
LETTER = ALPHA + "\xad\u0300"
DIGIT = "0-9٠"
STOPPER = ",;:\u3001"  # marks after which "word." keeps its full stop
NOT_URL = ' \t\n\f\r"<>|(){}'
ASTRAL = "[\U00010000-\U0010ffff]"  # two characters to Java

# Building blocks.
ENTITY_LETTER = "&[aeiouAEIOU](?i:acute|grave|uml);"
LETTERS = f"(?:[{LETTER}]|{ENTITY_LETTER})"
MORE = f"[{LETTER}{DIGIT}]*(?:{ENTITY_LETTER}[{LETTER}{DIGIT}]*)*"
WORD = f"{LETTERS}{MORE}(?:[.!?]{LETTERS}{MORE})*"
APOS = "(?:['\x92’]|(?i:&apos;))"
TICK = "(?:['\x92’`\x91‘‛]|(?i:&apos;))"
AMP = "(?i:&amp;)"
CLITIC = f"{APOS}(?:[msdMSD]|(?i:re|ve|ll))"
NOT = f"(?i:n){TICK}(?i:t)"
ELIDED = f"(?:[dDoOlL]{TICK}[{ALPHA}{DIGIT}])?[{ALPHA}{DIGIT}]+"
COMPOUND = f"{ELIDED}(?:[-_\u058a\u2010\u2011]{ELIDED})*"
INITIALS = r"[A-Za-z](?:\.[A-Za-z])+"
HYPHENATED = rf"[A-Za-z0-9][A-Za-z0-9.,\xad]*(?:-(?:{INITIALS}\.|[A-Za-z0-9\xad]+))+"
LINKED = rf"[A-Z]+(?:(?:{AMP}|[+&])[A-Z]+)+"
SLASHED = r"[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}"
NUMBER = rf"[-+]?(?:[{DIGIT}]+(?:[.:,\xad٫٬][{DIGIT}]+)*|(?:[.:,\xad٫٬][{DIGIT}]+)+)"
URL_PATH = rf"(?:/(?:[^{NOT_URL[:-2]}]+[^{NOT_URL}.!?,-]|{ASTRAL}))?"
EMAIL = (
    rf"(?:(?i:&lt;)|<)?[a-zA-Z0-9][^{NOT_URL}\xa0]*@"
    rf"(?:[^{NOT_URL}.\xa0]+\.)*[^{NOT_URL}.\xa0]+(?:(?i:&gt;)|>)?"
)
PIECE = f"(?:[{LETTER}{DIGIT}]|{ENTITY_LETTER}){MORE}"
PREFIX = r"(?:\+\+?)?"
AREA = r"(?:[0-9]{2,4}[- \xa0])"
SUBSCRIBER = r"[0-9]{3,4}[- \xa0]?[0-9]{3,5}"
NAME = "[A-Za-z][A-Za-z0-9_:.-]*"
VALUE = """(?:'[^']*'|"[^"]*")"""
TAG = rf"<(?:[!?][A-Za-z-][^>\r\n]*|{NAME}(?: +{NAME}(?: *= *{VALUE})?)* */?|/{NAME}) *>"
COUNTRIES = r"(?i:(?:canada|sino|korean|eu|japan|non)-u\.s|u\.s\.-u\.(?:k|s\.s\.r))"

APOSTROPHE_WORDS = (
    f"""dunkin{APOS} somethin{APOS} ol{APOS} {APOS}em {APOS}till? {APOS}cause
    cont'd\\.? 'twas nor'easter c'mon e'er s'mores ev'ry li'l nat'l o{TICK}o {APOS}[2-9]0s
    {APOS}n{APOS}?"""
).split()


def _any(words: list[str]) -> str:
    return "|".join(word.replace(".", r"\.") for word in words)


_CAPITALISED = "|".join(f"(?-i:{word[0].upper()}){word[1:]}" for word in IF_CAPITALISED)
_SENTENCE = "|".join(f"{word[0]}(?i:{word[1:]})" for word in SENTENCE_STARTS)


def as_is(text: str) -> str:
    return text


def without_soft_hyphens(text: str) -> str:
    return text.replace("\xad", "") or "-"


def unbroken(text: str) -> str:
    """A token never holds a space: it becomes a no-break space ("2 1/2", phone numbers, tags)."""
    return text.replace(" ", "\xa0")


def amp(text: str) -> str:
    return re.sub("(?i:&amp;)", "&", text)


def bracketed(text: str) -> str:
    return text.replace("(", "-LRB-").replace(")", "-RRB-")


def phone(text: str) -> str:
    return bracketed(unbroken(text))


_QUOTES = str.maketrans(
    {
        **dict.fromkeys("\x91‘‛‹", "`"),
        **dict.fromkeys("\x92’›", "'"),
        **dict.fromkeys("\x93“«", "``"),
        **dict.fromkeys("\x94”»", "''"),
    }
)


def ascii_quotes(text: str) -> str:
    return text.replace("&apos;", "'").translate(_QUOTES)


_SYMBOLS = str.maketrans(
    {"¢": "cents", "£": "#", **dict.fromkeys("\x80¤₠€", "$")}
    | {"¼": "1/4", "½": "1/2", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"}
)


def ascii_symbols(text: str) -> str:
    return text.translate(_SYMBOLS)


def always(token: str) -> Callable[[str], str]:
    return lambda text: token


class Rule(NamedTuple):
    """`starts`: first characters, with "a" for any ASCII letter and "0" for any ASCII digit.

    What begins with any other character than an ASCII one is tried against every rule.
    """

    starts: str
    pattern: str
    make: Callable[[str], str] = as_is


RULES = [
    Rule("a", r"([cC]\+\+|[cCfF]#)"),
    Rule("a", "((?i:can(?=not)|(?:gon|wan)(?=na)|got(?=ta)|(?:lem|gim)(?=me)))(?i:not|na|ta|me)"),
    Rule("'", "('(?i:t))(?i:was|is)"),
    Rule("<", f"({TAG})", unbroken),
    Rule("&", "(&(?i:md|mdash|ndash);|[\x96\x97–—―])", always("--")),
    Rule("&", f"({AMP})", always("&")),
    Rule("&", "(&(?:(?i:ht|tl|ur|lr|qc|ql|qr|odq|cdq)|#[0-9]+);)"),
    Rule("a&", f"({WORD}){CLITIC}", without_soft_hyphens),
    Rule("a", f"([A-Za-z\xad]*[A-MO-Za-mo-z]\xad*){NOT}", without_soft_hyphens),
    Rule("a&", f"({WORD})", without_soft_hyphens),
    Rule("a", f"([A-HJ-XZn]{TICK}[{ALPHA}]{{2,}})"),
    Rule("a", f"([{ALPHA}]+[aeiouyAEIOUY]{TICK}[aeiouA-Z][{ALPHA}]*)"),
    Rule("a'&", f"((?i:{'|'.join(APOSTROPHE_WORDS)}))"),
    Rule("a", f"([lLdDjJ]{APOS})"),
    Rule("a", f"([yY]{APOS})[{ALPHA}]"),
    Rule("a", rf"((?i:https?)://(?:[^{NOT_URL}]+[^{NOT_URL}.!?,-]|{ASTRAL}))"),
    Rule("a", rf"((?i:www)\.(?:[^{NOT_URL}.!?,]+\.)+[a-zA-Z]{{2,4}}{URL_PATH})"),
    Rule("a#%&*+~", rf"((?:[^{NOT_URL}`'.!?,-_$]+\.)+(?i:com|net|org|edu){URL_PATH})"),
    Rule("a0<&", rf"({EMAIL})"),
    Rule("@#", f"(@[a-zA-Z_][a-zA-Z_0-9]*|#{LETTERS}[{LETTER}]*(?:{ENTITY_LETTER}[{LETTER}]*)*)"),
    Rule("'&", f"({CLITIC})[^A-Za-z]", ascii_quotes),
    Rule("a", f"({NOT})[^A-Za-z]", ascii_quotes),
    Rule("0", f"([{DIGIT}]{{1,2}}[-/][{DIGIT}]{{1,2}}[-/][{DIGIT}]{{2,4}})"),
    Rule("0+-.:,", f"({NUMBER})", without_soft_hyphens),
    Rule("", "([⁺⁻₊₋]?(?:[⁰¹²³⁴-⁹]+|[₀-₉]+))"),
    Rule(
        "0", rf"((?:[{DIGIT}]{{1,4}}[- \xa0])?[{DIGIT}]{{1,4}}(?:\\?/|⁄)[{DIGIT}]{{1,4}})", unbroken
    ),
    Rule("", "([¼½¾⅓-⅞])", ascii_symbols),
    Rule("-", "(-(?i:[rl][rcs]b)-)"),
    Rule("a", rf"((?i:c\.d\.s|pro-|anti-|s(?:&|&amp;)(?:p-500|ls)|cap{APOS}n|c{APOS}est))", amp),
    Rule("a0", rf"({SLASHED}(?:\\?/{SLASHED}){{1,2}})"),
    Rule("a$#", r"([A-Z]*\$|#)"),
    Rule("", "([\x80¢-¥₠€؋฿₤￠￡￥￦])", ascii_symbols),
    Rule("a", rf"([A-Za-z])\.[{BLANK}]+(?:{_SENTENCE}|{TAG})[{BLANK}]"),
    Rule("a", rf"((?i:{_any(BEFORE_NUMBERS)})\.)[{BLANK}]?[{DIGIT}]"),
    Rule("a", rf"((?i:pt)[eyEY]\.)[{SPACE}](?i:ltd|lim)"),
    Rule("a", rf"((?i:{_any(USUALLY_FINAL)}|{_CAPITALISED}|{COMPANY})\.)[\s\S]{{2}}"),
    Rule("a", rf"((?:{INITIALS}|(?i:{_any(BEFORE_NAMES)}|{MANUFACTURING})|[A-Za-z])\.)"),
    Rule("a", rf"({COUNTRIES}\.)"),
    Rule("a", rf"({COUNTRIES})[{BLANK}]"),
    Rule("'&", f"({APOS}[0-9][0-9])[{BLANK}]"),
    Rule("a0&", rf"({PIECE}(?:\.{PIECE})*\.(?i:{'|'.join(FILE_ENDINGS)}))[{BLANK}.?!,]"),
    Rule("a&", rf"({WORD}\.)[{STOPPER}]", without_soft_hyphens),
    Rule("0(+", rf"((?:\([0-9]{{2,3}}\)[ \xa0]?|{PREFIX}{AREA}?{AREA}){SUBSCRIBER})", phone),
    Rule("0+", rf"((?:{PREFIX}[0-9]{{2,4}}\.)?[0-9]{{2,4}}\.[0-9]{{3,4}}\.[0-9]{{3,5}})"),
    Rule('"&', '("|&quot;)', always("''")),
    Rule("&", "((?i:&quot;))"),
    Rule("<&", "(<|(?i:&lt;))", always("<")),
    Rule(">&", "(>|(?i:&gt;))", always(">")),
    Rule("<>:;=", r"([<>]?[:;=][-o*']?[()DPdpO\\{@|\[\]])[^A-Za-z0-9]", bracketed),
    Rule("(", r"(\((?:[-^x=~<>'][_.]?[-^x=~<>']|[\^x=~<>']-[\^x=~<>'`])\))", bracketed),
    Rule("a^=~<>-'", r"([-^x=~<>']_[-^x=~<>']|[\^x=~<>]\.\[\^[xX]=[^<]*<>\])", bracketed),
    Rule("{", "({)", always("-LCB-")),
    Rule("}", "(})", always("-RCB-")),
    Rule("[", r"(\[)", always("-LSB-")),
    Rule("]", r"(\])", always("-RSB-")),
    Rule("(", r"(\()", always("-LRB-")),
    Rule(")", r"(\))", always("-RRB-")),
    Rule("-", "(-{3,4})", always("--")),
    Rule("-", "(-+)"),
    Rule(".", r"(\.{3,5}|(?:\.[ \xa0]){2,4}\.|[\x85…])", always("...")),
    Rule("@#_*\\?!", r"(@+|#+|_+|\*+|(?:\\\*){1,3}|[?!]+)"),
    Rule(",;:.=/", "([,;:、.¡¿\u037e։؟۔܀-܂ߺ。=/])"),
    Rule("a0", rf"({HYPHENATED}\.)[{STOPPER}]", without_soft_hyphens),
    Rule("a0", f"({HYPHENATED})", without_soft_hyphens),
    Rule("a0", rf"({COMPOUND}\.)[{STOPPER}]"),
    Rule("a0", f"({COMPOUND})"),
    Rule("a", rf"({LINKED}\.)[{STOPPER}]", amp),
    Rule("a", f"({LINKED})", amp),
    Rule("'", "(')[A-Za-z][^ \t\n\r\xa0]", always("`")),
    Rule("'&", f"({CLITIC})", ascii_quotes),
    Rule("a", f"({NOT})", ascii_quotes),
    Rule("'&`", f"(''|[`‘’‚‛“”\x91-\x94„‟‹›«»]{{1,2}}|{APOS})", ascii_quotes),
    Rule("<>", "(<<|>>)"),
    Rule("&", "((?i:&nbsp;))", always("")),
]
