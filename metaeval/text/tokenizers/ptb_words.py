"""The words that the PTB rules know by name."""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


# Abbreviations that keep their full stop, in lower case.
USUALLY_FINAL = _words(
    """al ala apr ariz assn aug bancorp bhd bldg blvd bros calif co colo conn corp cos ct dak dec
    ed.d esq est etc ext feb fla fri ga inc ind intl jan jr jul jun kan kans ky ltd mar md mich minn
    mo mon mont neb nev nov oct okla penn ph.d plc rd rt sep sept seq sq sr sys tel tenn thu thurs
    tue tues univ va vt wed wis wisc wyo"""
)
IF_CAPITALISED = _words("ark az del ill la mass miss ore pa tex wash")
BEFORE_NAMES = _words(
    """a.k.a adj adm adv alex assoc asst atty attys ave brig capt cf cie cmdr col comdr cpl dept det
    dr drs elec ens ft gen gov govs hon insp invt jos lieut lt maj messrs mlle mme mr mrs ms msgr mt
    natl pfc ph pres prof profs pvt rep reps rev sen sens sfc sgt spc st ste supt supts treas vs
    wm"""
)
BEFORE_NUMBERS = _words("art bldg ca fig figs no nos op pp prop")
COMPANY = "pp?t(?-i:[ye])s?"  # pty, pte, …
MANUFACTURING = "m(?-i:[ft])g"  # mfg, mtg
ABBREVIATIONS = frozenset(
    USUALLY_FINAL
    + IF_CAPITALISED
    + BEFORE_NAMES
    + BEFORE_NUMBERS
    + _words("mfg mtg pte ptes pty ptys ppte pptes ppty pptys")
)

# After "X." these words show that the full stop ended a sentence ("vitamin C. The").
SENTENCE_STARTS = _words(
    """About According Additionally After An A As At But Earlier He Her Here However If In It Last
    Many More Mr\\. Ms\\. Now Once One Other Our She Since So Some Such That The Their Then There
    These They This We When While What Yet You"""
)
FILE_ENDINGS = _words(
    """bat bmp c class cgi cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov
    mp3 pdf php pl png ppt ps py sql tar txt wav x xml zip"""
)
