"""Guess the language of a text, and shorten long runs of white space."""

from __future__ import annotations

import re

# Longer than any indentation that means something.
LONG_SPACE = re.compile(r"\s{17,}")


def normalize(text: str) -> str:
    """Shorten every long run of white space. Patterns that look for words begin anew at each place
    of such a run, so a thousand blanks in a stranger's text could take them a minute."""
    return LONG_SPACE.sub(_shortened, text)


def _shortened(run: re.Match[str]) -> str:
    return "\n\n" if run[0].count("\n") > 1 else "\n" if "\n" in run[0] else " "


NAMES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi",
    "hu": "Hungarian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch",
    "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu",
    "zh": "Chinese",
}  # fmt: skip
SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("zh", re.compile(r"[\u3400-\u9fff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
)
# The words questions are made of. One that languages share counts for each, so decides nothing.
WORDS = {
    "en": "the is are what how why when which who where does do can of to in and a an it for with "
    "between difference should i my you your there this that explain tell give show more about",
    "de": "der die das den dem ein eine einen ist sind was wie warum wann welche welcher wer wo "
    "kann von zu im und für mit zwischen unterschied soll ich mein du es gibt nicht auf wird man",
    "fr": "le la les un une des est sont que quoi quel quelle quels comment pourquoi quand qui "
    "où peut du de et dans pour avec entre différence je mon ce il est-ce qu'est-ce on fait faire",
    "es": "el la los las un una es son qué que cómo como por cuándo cuál quién dónde puede del de "
    "y en para con entre diferencia debo mi se hay hace usar",
    "it": "il lo la gli le un una è sono che cosa come perché quando quale chi dove può di del e "
    "in per con tra differenza devo mio si c'è fa",
    "pt": "o a os as um uma é são que o-que como por quando qual quem onde pode do da de e em para "
    "com entre diferença devo meu se há faz",
    "nl": "de het een is zijn wat hoe waarom wanneer welke wie waar kan van te en in voor met "
    "tussen verschil moet ik mijn er wordt",
    "pl": "co jak dlaczego kiedy który jaka jest są czy gdzie kto można do w na i z między różnica",
    "sv": "vad hur varför när vilken är och det en ett i på för med mellan skillnaden kan jag",
    "tr": "ne nasıl neden zaman hangi kim nerede bir ve bu için ile arasındaki fark mı mi midir",
}
KNOWN = {language: frozenset(words.split()) for language, words in WORDS.items()}
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
CODE = re.compile(r"`[^`]*`")
# A script that has a smaller share of the letters may be that of a quoted word.
SHARE = 0.3


def guess_language(text: str) -> str | None:
    """The language's code; None when it can't be told, as with keywords alone."""
    text = CODE.sub(" ", text)
    letters = sum(character.isalpha() for character in text)
    for language, script in SCRIPTS:
        if letters and len(script.findall(text)) / letters >= SHARE:
            return language
    words = {word.lower() for word in WORD.findall(text)}
    counts = {language: len(words & known) for language, known in KNOWN.items()}
    best = max(counts, key=lambda language: counts[language])
    rivals = [count for language, count in counts.items() if language != best]
    return best if counts[best] >= 2 and counts[best] > max(rivals) else None


def language_name(code: str) -> str:
    return NAMES.get(code.partition("-")[0], code)


def other_language(text: str, book_language: str) -> str | None:
    """The text's language if it is certainly not the book's."""
    guessed = guess_language(text)
    return guessed if guessed and guessed != book_language.partition("-")[0] else None
