"""Which characters the PTB lexer knows, and the shadow of a text in which its patterns are run.

The lexer of CoreNLP 3.4.1 was generated with the letters and digits of Unicode 6 and reads UTF-16
units, so emoji and all else beyond U+FFFF are unknown to it. Python's tables differ by version, so
ours are written down: the letters of Unicode 3.2 (`unicodedata.ucd_3_2_0`) and what came later.
All were found by giving the jar every character of the basic plane in six contexts.
"""

from __future__ import annotations

from unicodedata import ucd_3_2_0

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


def is_symbol(char: str) -> bool:
    """Whether the character is a token of its own where no rule matches."""
    return char in _ASCII_SYMBOLS or ord(char) in _SYMBOLS


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
