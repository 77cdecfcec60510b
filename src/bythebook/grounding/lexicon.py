"""Small word lists for English: what weighs little, what means the same, what is opposed."""

from __future__ import annotations

from functools import cache

from bythebook.index.sparse import terms

# Words an answer may add without adding a fact.
LIGHT_WORDS = frozenset(
    """also however therefore thus hence additionally furthermore moreover overall finally note
    important importantly example instance following follow follows below above step steps way
    ways thing things use uses used using utilize utilizes utilized make makes made making
    allow allows allowed allowing provide provides provided providing help helps include
    includes included including ensure ensures specific specifically various several different
    certain multiple call called calls known refer refers referred mean means meaning work
    works need needs needed get gets one ones like based etc yes no sure well typically usually
    generally often commonly essentially simply basically order case cases both either each
    other another because since all every whether while although though even still only very
    more most much many user users developer developers engineer engineers programmer
    programmers people person someone student students reader readers book author text passage
    lesson chapter section source sources documentation according describe describes described
    explain explains explained mention mentions mentioned state states stated say says said
    consider considered serve serves act acts involve involves purpose role main key primary
    namely rather instead within without through via per upon during between among across along
    around over under up out off let lets keep may might must shall now here again once already
    yet further together respectively particular type types kind kinds form forms part parts
    first second third next then last set sets value choice matter matters correspond
    corresponds corresponding solution available able ability want wants happen happens occur
    occurs become becomes perform performs remember mind aware possible time times""".split()
)

_SAME = """
begin start commence launch initiate; stop end halt finish terminate conclude cease
big large huge; small little tiny; fast quick rapid swift; show display present
error mistake fault failure; create make generate produce build form construct
use utilize employ apply; delete remove erase drop; need require demand necessary
change modify alter adjust edit; choose select pick; help assist support; folder directory
picture image photo; send transmit deliver; receive get obtain; movie film
keep store retain hold save preserve; allow enable let permit; goal aim purpose objective
part component piece element; call name term know; several multiple many numerous various
usually typical general normal common often mostly; run execute
check verify confirm test inspect; fix repair; problem issue trouble difficulty
method approach technique way; function routine; contain include comprise hold consist
define specify describe determine give; explain describe; wrong incorrect false
right correct true; buy purchase; find locate discover detect; assure ensure guarantee
speed rate velocity; quick fast; reach arrive achieve attain; happen occur
important essential crucial key vital significant; entire whole complete full; rule policy
reduce lower decrease lessen shrink cut; increase raise grow rise; improve enhance better
easy simple straightforward; hard difficult; job task; movement motion move; velocity speed
measure quantify; split divide; join combine merge connect link; set configure adjust
value number; object item thing; identical same equal; different distinct
separate distinct independent; prevent avoid block; shut close; attempt try
answer reply response respond; ask request query; information data; tell inform report
give provide supply offer; belong part; depend rely; permit allow; forbid prohibit
popular famous; founded established created; located situated; write author; play perform
song track; child kid; doctor physician; film movie; near close
consequence result effect outcome; cause lead reason; because since due; cheap inexpensive
waste lose; lose lost; exact precise accurate; approximately about roughly around
immediate instant; whenever each every; frequently often; robot machine; fail failure
begin origin originate; handle process manage; visible appear; pass hand; calculate compute
sum add total; add attach append; additional extra; further more additional; maximum most limit
minimum least; instruct instruction command; state condition
"""

_OPPOSED = """
enable disable; enabled disabled; true false; required optional; mandatory optional
necessary unnecessary; synchronous asynchronous; possible impossible; public private
success failure; succeed fail; valid invalid; same different; early late; earlier later; old new
older newer; slow fast; slower faster; small large; smaller larger; low high; lower higher
increase decrease; rise fall; raise reduce; grow shrink; more less; more fewer; before after
first last; minimum maximum; most least; start stop; open close; add remove; allow forbid
allow prevent; left right; above below; inside outside; internal external; local remote
local global; client server; publisher subscriber; accept reject; include exclude; always never
strong weak; hard easy; cheap expensive; cheaper costlier; best worst; better worse
positive negative; horizontal vertical; absolute relative; continuous discrete; online offline
deterministic random; connect disconnect; visible hidden; push pull; read write; send receive
forward backward; single multiple; encode decode; hot cold; upper lower; heavier lighter
win lose; parent child; import export; input output; static dynamic; shorter longer; short long
thick thin; wide narrow; upstream downstream; ascending descending; inner outer; top bottom
empty full; accurate inaccurate; compatible incompatible; advantage disadvantage
temporary permanent; simple complex; complete incomplete; mutable immutable; serial parallel
active passive
"""

_IRREGULAR = """
be been; begin began begun; bend bent; bind bound; bite bit bitten; bleed bled; blow blew blown
break broke broken; bring brought; build built; burn burnt; buy bought; catch caught
choose chose chosen; come came; cut; deal dealt; dig dug; draw drew drawn; drink drank drunk
drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought
find found; flee fled; fly flew flown; forget forgot forgotten; freeze froze frozen
get got gotten; give gave given; go went gone; grow grew grown; hang hung; hear heard
hide hid hidden; hold held; keep kept; know knew known; lay laid; lead led; leave left; lend lent
light lit; lose lost; make made; mean meant; meet met; pay paid; ride rode ridden; ring rang rung
rise rose risen; run ran; say said; see saw seen; seek sought; sell sold; send sent
shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk; sing sang sung
sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; spend spent; spin spun
stand stood; steal stole stolen; stick stuck; strike struck; swear swore sworn; swim swam swum
swing swung; take took taken; teach taught; tear tore torn; tell told; think thought
throw threw thrown; understand understood; wake woke woken; wear wore worn; weave wove woven
win won; write wrote written; half halve halves halving; life lives; child children
person people; foot feet; man men; woman women; mouse mice; index indices; vertex vertices
matrix matrices; axis axes; datum data; criterion criteria; phenomenon phenomena
analysis analyses; hypothesis hypotheses; basis bases; leaf leaves; knife knives; shelf shelves
"""

# "A before B" is "B after A": opposed only where both sides stay as they are.
RELATIONS = frozenset({"before", "after", "above", "below", "more", "less", "fewer", "faster",
    "slower", "larger", "smaller", "higher", "lower", "earlier", "later", "better", "worse",
    "heavier", "lighter", "longer", "shorter", "older", "newer"})  # fmt: skip


def _stem(word: str) -> str:
    return next(terms(word, "en"), word)


def _groups(listed: str) -> list[list[str]]:
    return [
        group.split() for line in listed.strip().splitlines() for group in line.split(";") if group
    ]


@cache
def light_stems() -> frozenset[str]:
    return frozenset(_stem(word) for word in LIGHT_WORDS)


@cache
def same_meaning() -> dict[str, frozenset[str]]:
    """Stems that may stand for a stem."""
    found: dict[str, set[str]] = {}
    for group in _groups(_SAME):
        stems = {_stem(word) for word in group}
        for stem in stems:
            found.setdefault(stem, set()).update(stems - {stem})
    return {stem: frozenset(others) for stem, others in found.items()}


@cache
def irregular() -> dict[str, str]:
    """Stems of irregular forms and of what they are forms of."""
    return {_stem(form): _stem(group[0]) for group in _groups(_IRREGULAR) for form in group[1:]}


@cache
def opposites() -> dict[str, frozenset[str]]:
    """Words (not stems: lower, higher) and what contradicts them."""
    found: dict[str, set[str]] = {}
    for one, other in _groups(_OPPOSED):
        for a, b in ((one, other), (_stem(one), _stem(other))):
            found.setdefault(a, set()).add(b)
            found.setdefault(b, set()).add(a)
    return {word: frozenset(others) for word, others in found.items()}
