"""The Penn Treebank tokenisation that caption metrics are computed on, in Python.

Gives the tokens of pycocoevalcap's `PTBTokenizer`, i.e. of Stanford CoreNLP 3.4.1 with
`-preserveLines -lowerCase` less a list of punctuation, without Java.

One thing cannot be had: the Java tokeniser reads all captions as one text, so a caption that ends
in a single letter ("… a sign with a K.") loses its full stop or not by the *next* caption ("A
man …" says that a sentence ended). Here no caption depends on another: one that begins with a
capital is taken to be followed by "A", any other by nothing that begins a sentence.

Line breaks inside a caption (LF, CR, VT, FF, U+2028, U+2029) count as spaces; in Java they split
the caption and shift all that follow. Half a surrogate pair, which no file can hold, counts as the
unknown character that it is. Emoji and all other characters unknown to the lexer are dropped.

One difference is known: lower-casing a capital sigma next to digits ("N4Σ"), where Java and Python
disagree on whether it is the word's last letter.

Characters: the lexer of CoreNLP 3.4.1 was generated with the letters and digits of Unicode 6 and
reads UTF-16 units, so emoji and all else beyond U+FFFF are unknown to it. Python's tables differ by
version, so ours are written down: the letters of Unicode 3.2 (`unicodedata.ucd_3_2_0`) and what
came later. All were found by giving the jar every character of the basic plane in six contexts.

Rules: each names the characters it can begin with, a pattern and the replacement of the matched
text. At each position all rules compete; the longest match wins, context included, and the earlier
rule on a tie. The token is the pattern's group 1: whatever follows the group is context that has to
be there, counts for the length, and is read again. The behaviour was learnt from the documentation
and the grammar of CoreNLP 3.4.1 and checked against its jar; options are those of `-preserveLines`
and nothing else. Rules that can only change whether a full stop is emitted once more are left out:
full stops are dropped afterwards. Patterns run over the `shadow` of a text, in which every
non-ASCII letter is "é", every combining sign U+0300 and every non-ASCII digit "٠".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from sys import intern
from typing import NamedTuple
from unicodedata import ucd_3_2_0

from metaeval.text.tokenizers.base import Tokenizer

_ASIDE = frozenset(
    "\u0131\u0130\u017f\u212a"
)  # letters that equal i, s and k where case is ignored


def _ranges(text: str) -> frozenset[int]:
    spans = (span.partition("-") for span in text.split())
    return frozenset(
        code
        for first, _, last in spans
        for code in range(int(first, 16), int(last or first, 16) + 1)
    )


_DIGITS = _ranges(
    """0660-0669 06f0-06f9 07c0-07c9 0966-096f 09e6-09ef 0a66-0a6f 0ae6-0aef 0b66-0b6f 0be6-0bef
    0c66-0c6f 0ce6-0cef 0d66-0d6f 0e50-0e59 0ed0-0ed9 0f20-0f29 1040-1049 1090-1099 17e0-17e9
    1810-1819 1946-194f 19d0-19d9 1a80-1a89 1a90-1a99 1b50-1b59 1bb0-1bb9 1c40-1c49 1c50-1c59
    a620-a629 a8d0-a8d9 a900-a909 a9d0-a9d9 aa50-aa59 abf0-abf9 ff10-ff19"""
)
# Letters that Unicode 3.2 did not have.
_LETTERS = _ranges(
    """0221 0234-024f 02ae-02af 02b9-02ba 02c6-02cf 02ec 0370-0374 0376-0377 037b-037d 03cf
    03f7-03ff 04cf 04f6-04f7 04fa-04ff 0510-0527 0620 063b-063f 06ee-06ef 06ff 072d-072f
    074d-077f 07ca-07ea 07f4-07f5 07fa 0800-0815 081a 0824 0828 0840-0858 08a0 08a2-08ac 0904
    0971-0977 0979-097f 09bd 09ce 0a8c 0ae1 0b35 0b71 0bb6 0bd0 0c3d 0c58-0c59 0cbd 0cf1-0cf2
    0d29 0d3a 0d3d 0d4e 0d7a-0d7f 0ede-0edf 0f6b-0f6c 0f8c 1022 1028 103f 105a-105d 1061
    1065-1066 106e-1070 1075-1081 108e 10c7 10cd 10f9-10fa 10fc-10ff 115a-115e 11a3-11a7
    11fa-11ff 1207 1247 1287 12af 12cf 12ef 130f 131f 1347 1380-138f 1677-167f 18aa 18b0-18f5
    1900-191c 1950-196d 1970-1974 1980-19ab 19c1-19c7 1a00-1a16 1a20-1a54 1aa7 1b05-1b33
    1b45-1b4b 1b83-1ba0 1bae-1baf 1bba-1be5 1c00-1c23 1c4d-1c4f 1c5a-1c7d 1ce9-1cec 1cee-1cf1
    1cf5-1cf6 1d00-1dbf 1e9c-1e9f 1efa-1eff 2090-209c 2132 213c 214e 2183-2184 2c00-2c2e
    2c30-2c5e 2c60-2ce4 2ceb-2cee 2cf2-2cf3 2d00-2d25 2d27 2d2d 2d30-2d67 2d6f 2d80-2d96
    2da0-2da6 2da8-2dae 2db0-2db6 2db8-2dbe 2dc0-2dc6 2dc8-2dce 2dd0-2dd6 2dd8-2dde 2e2f 312d
    31b8-31ba 9fa6-9fcc a4d0-a4fd a500-a60c a610-a61f a62a-a62b a640-a66e a67f-a697 a6a0-a6e5
    a717-a71f a722-a788 a78b-a78e a790-a793 a7a0-a7aa a7f8-a801 a803-a805 a807-a80a a80c-a822
    a840-a873 a882-a8b3 a8f2-a8f7 a8fb a90a-a925 a930-a946 a960-a97c a984-a9b2 a9cf aa00-aa28
    aa40-aa42 aa44-aa4b aa60-aa76 aa7a aa80-aaaf aab1 aab5-aab6 aab9-aabd aac0 aac2 aadb-aadd
    aae0-aaea aaf2-aaf4 ab01-ab06 ab09-ab0e ab11-ab16 ab20-ab26 ab28-ab2e abc0-abe2 d7b0-d7c6
    d7cb-d7fb fa2e-fa2f fa6b-fa6d fa70-fad9"""
)
# Signs that are part of words (accents, vowel signs) but not of hyphenated ones.
_SIGNS = _ranges(
    """02c2-02c5 02d2-02df 02e5-02eb 02ed 02ef-036f 0375 0378-0379 0384-0385 03f6 0483-0487
    055a-055f 0591-05bd 05bf 05c1-05c2 05c4-05c5 05c7 0615-061a 064b-065e 0670 06d6-06e4
    06e7-06ed 06fd-06fe 070f 0711 0730-074c 07a6-07b0 07eb-07f3 0900-0903 093c 093e-094e
    0951-0955 0962-0963 0981-0983 09bc 09be-09c4 09c7-09c8 09cb-09cd 09d7 09e2-09e3 0a01-0a03
    0a3c 0a3e-0a4f 0a81-0a83 0abc 0abe-0acf 0b82 0bbe-0bc2 0bc6-0bc8 0bca-0bcd 0c01-0c03
    0c3e-0c56 0d3e-0d44 0d46-0d48 0e31 0e34-0e3a 0e47-0e4e 0eb1 0eb4-0ebc 0ec8-0ecd"""
)
# Symbols that are a token each; any other character that no rule knows is dropped.
_SYMBOLS = _ranges(
    """00a1 00a5-00a9 00ac 00ae-00b4 00b6-00b9 00bf 00d7 00f7 037e 0387 0589 05be 05c0 05c3 05c6
    05f3-05f4 0600-0603 0606-060c 0614 061b 061e-061f 066a 066d 06d4 0700-070d 07f6-07f8
    0964-0965 0e3f 0e4f 1fbd 2016-2017 201a 201e-2023 2030-2038 203b 203e-2042 2044 2070
    2074-207e 2080-208e 20a4 2100-2101 2103-2106 2108-2109 2114 2116-2118 211e-2123 2125 2127
    2129 212e 213a-213b 2140-2144 214a-214d 214f 2155-215e 2190-2bff 3001-3002 3012 30fb
    ff01-ff0f ff1a-ff20 ff3b-ff40 ff5b-ff65 ffe0-ffe1 ffe5-ffe6"""
)
_ASCII_SYMBOLS = frozenset("+%&~^|\\")


class _Shadow(dict[int, str]):
    """What each character looks like to the patterns; classified when first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        known = 0x80 <= code < 0x10000 and char not in _ASIDE
        if known and (code in _LETTERS or ucd_3_2_0.category(char)[0] == "L"):
            shown = "é"
        elif known and code in _DIGITS:
            shown = "٠"
        elif known and code in _SIGNS:
            shown = "\u0300"
        else:
            shown = char
        self[code] = shown
        return shown


_SHADOW = _Shadow()


def shadow(text: str) -> str:
    """The text with its letters, signs and digits beyond ASCII replaced by "é", U+0300 and "٠".

    As long as the text, so that positions agree.
    """
    return text if text.isascii() else text.translate(_SHADOW)


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


_SYMBOL_NAMES = str.maketrans(
    {"¢": "cents", "£": "#", **dict.fromkeys("\x80¤₠€", "$")}
    | {"¼": "1/4", "½": "1/2", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"}
)


def ascii_symbols(text: str) -> str:
    return text.translate(_SYMBOL_NAMES)


def always(token: str) -> Callable[[str], str]:
    return lambda text: token


class Rule(NamedTuple):
    """`starts`: first characters, with "a" for any ASCII letter and "0" for any ASCII digit.

    What begins with any other character than an ASCII one is tried against every rule.
    """

    starts: str
    pattern: str
    make: Callable[[str], str] = str


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


# What pycocoevalcap drops. The tokens are in lower case by then: "-lrb-" stays, as it does there.
DROPPED = frozenset({"''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-"}) | frozenset(
    {".", "?", "!", ",", ":", "-", "--", "...", ";"}
)
_CLEANED = str.maketrans(
    dict.fromkeys("\n\r\x0b\x0c\u2028\u2029", " ")
    | dict.fromkeys(map(chr, range(0xD800, 0xE000)), "\ufffd")
)
# What follows a caption. No rule can run from a caption into it or through it: it closes both
# kinds of quotes that an unfinished tag may have opened, and does not end such a tag.
AFTER = ("\n'\"<\n", "\nA '\"<\n")

# Words, before spaces or a comma or full stop and them: nearly all words are such.
_EASY_WORD = re.compile("[A-Za-z]+(?=([,.]?)[ \n])")
_SPLIT = ("cannot", "gimme", "gonna", "gotta", "lemme", "wanna")
# Words that the easy way would get wrong: those that are split, and those that keep a full stop.
_UNEASY = frozenset(word + mark for word in _SPLIT for mark in ("", ",", ".")) | frozenset(
    word + "." for word in (*ABBREVIATIONS, *"abcdefghijklmnopqrstuvwxyz")
)

Match = Callable[[str, int], "re.Match[str] | None"]


def sanitise(text: str) -> str:
    """The caption as one line of valid Unicode: breaks to spaces, lone surrogates to U+FFFD."""
    return text.translate(_CLEANED)


def following_text(text: str) -> str:
    """What the tokeniser sees after the caption."""
    return AFTER[text.lstrip()[:1].isupper()]


def drop_punctuation(tokens: list[str]) -> list[str]:
    """The tokens in lower case, less the punctuation that caption metrics leave out.

    A no-break space at the caption's very end goes too (an address can end in one).
    """
    lower = [token.lower() for token in tokens]
    while lower and lower[-1][-1].isspace():
        lower[-1:] = [token for token in [lower[-1].rstrip()] if token]
    return [token for token in lower if token not in DROPPED]


class PtbTokenizer(Tokenizer):
    """Stanford CoreNLP 3.4.1's PTB tokens, in lower case, without punctuation; pure Python.

    A token may hold a no-break space ("2 1/2" is one token, as in Java).
    """

    signature = "ptb-3.4.1"

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        return [list(map(intern, _tokens(text))) for text in texts]  # equal ones are kept once


def _tokens(text: str) -> list[str]:
    """The tokens of a text, by the longest match among all rules at each position."""
    text = sanitise(text)
    end = len(text)
    text += following_text(text)
    seen = shadow(text)
    tokens: list[str] = []
    position = 0
    while position < end:
        char = seen[position]
        if char == " ":
            position += 1
            continue
        easy = _EASY_WORD.match(seen, position)
        if easy and (easy[0] + easy[1]).lower() not in _UNEASY:
            tokens.append(easy[0])
            position = easy.end()
            continue
        best: re.Match[str] | None = None
        longest = position
        for match, maker in _rules(min(char, "\x80")):
            token_match = match(seen, position)
            if token_match is not None and token_match.end() > longest:
                best, longest, make = token_match, token_match.end(), maker
        if best is None:
            if text[position] in _ASCII_SYMBOLS or ord(text[position]) in _SYMBOLS:
                tokens.append(text[position])
            position += 1
        else:
            token = make(text[position : best.end(1)])
            tokens.extend(part for part in token.split(" ") if part)
            position = best.end(1)
    return drop_punctuation(tokens)


@cache
def _compiled() -> list[tuple[str, Match, Callable[[str], str]]]:
    return [(rule.starts, re.compile(rule.pattern).match, rule.make) for rule in RULES]


@cache
def _rules(char: str) -> list[tuple[Match, Callable[[str], str]]]:
    """The rules that can match at this character, in order; for any but ASCII's, all of them."""
    kind = "a" if char.isalpha() else "0" if char.isdigit() else char
    every = not (char.isascii() and char.isprintable())
    return [(match, make) for starts, match, make in _compiled() if every or kind in starts]
