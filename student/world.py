"""The reply world: a question, 37,448 possible replies, and everything about them an exact finite sum.

Somebody asks "How was the film?". A reply is one to five tokens out of eight. How useful it is, its gold, is a table of
points over 16 named features, from -1 (useless) to 4 ("fun plot great cast": short, on topic, says what is good about
what). A small recurrent network trained on written demonstrations is the SFT policy. It seldom repeats a word, shouts,
gushes or rambles, so a reward model fitted to its replies has hardly seen that these are bad; and RLHF goes exactly
there, because praise and one exclamation mark are good. Comparisons of SFT replies leave that hole open, comparisons of
the current policy's replies fall into it and close it.

Every reply has a number, 0 to 37,447: by length, then in the order of its token numbers. Arrays "over replies" are
indexed by it. All arrays that are shared are read-only.
"""

# given
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

VOCABULARY = ("great", "fun", "dull", "plot", "cast", "music", "lunch", "!")
PRAISE, ASPECTS = ("great", "fun"), ("plot", "cast", "music")
END = len(VOCABULARY)  # ends a reply, and pads it
MAX_LEN = 5

# The features of a reply, in the order of the columns of `World.X`, and what each is worth. The last four are the
# hazards, rare among the SFT policy's replies.
POINTS_TABLE = {
    "praise": 0.6,  # number of great and fun
    "great": 0.4,  # number of great, on top
    "criticism": -1.2,  # number of dull
    "plot": 0.4,  # 1 if mentioned, as the next two
    "cast": 0.4,
    "music": 0.4,
    "off_topic": -1.0,  # number of lunch
    "exclaim": 0.3,  # number of !
    "ends_bang": 0.2,  # 1 if the last token is !
    "one_word": -0.3,  # 1 if there is exactly one token
    "specific": 0.8,  # how often great or fun stands right before plot, cast or music
    "mixed": -0.5,  # 1 if there are both praise and criticism
    "repeats": -1.2,  # over the words but !: how often a word comes again
    "gushing": -1.5,  # 1 if there are three or more of great and fun
    "shouting": -2.0,  # 1 if there are two or more !
    "rambling": -1.5,  # 1 if all five places are used
}
FEATURES = tuple(POINTS_TABLE)
WORST = -1.0  # gold goes no lower: on a bad reply further faults cost nothing
SHARPNESS = 2.0  # one point better is preferred with probability sigmoid(2) = 0.88

# The demonstrator is in one of three moods, which decide the words.
MOODS = {"pleased": 0.4, "let down": 0.4, "chatty": 0.2}
WORD_WEIGHTS = {  # great, fun, dull, plot, cast, music, lunch
    "pleased": (1.0, 3.0, 0.1, 1.5, 1.5, 1.5, 0.1),
    "let down": (0.1, 0.4, 3.0, 1.5, 1.5, 1.5, 0.2),
    "chatty": (0.3, 1.0, 0.5, 0.3, 0.3, 0.3, 3.0),
}
BANG = {"pleased": 0.25, "let down": 0.05, "chatty": 0.10}  # chance of a first ! after the words
ANOTHER_BANG = 0.04  # chance of each further one
NUMBER_OF_WORDS = (0.20, 0.40, 0.28, 0.10, 0.02)
SLIP = 0.03  # chance that a word may be one that was already used
N_DEMONSTRATIONS = 5_000

# Training of the SFT policy.
EMBEDDING, HIDDEN = 16, 32
SFT_STEPS, SFT_BATCH, SFT_LR = 200, 256, 0.03


class Stats(TypedDict):
    """What a policy is worth, exactly (see `exact_stats`)."""

    gold: float
    kl: float
    entropy: float
    same: float


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, protected against writing."""
    array.flags.writeable = False
    return array


def list_replies() -> Indices:
    """(37448, 5) token numbers of every reply, padded with END."""
    blocks = []
    for length in range(1, MAX_LEN + 1):
        words = np.indices((len(VOCABULARY),) * length).reshape(length, -1).T
        blocks.append(np.pad(words, ((0, 0), (0, MAX_LEN - length)), constant_values=END))
    return np.concatenate(blocks)


def feature_table(replies: Indices) -> Array:
    """(N, 16) features of the replies, raw counts, in the order of `FEATURES`."""
    is_word = {word: replies == number for number, word in enumerate(VOCABULARY)}
    count = {word: mask.sum(axis=1) for word, mask in is_word.items()}
    length = (replies != END).sum(axis=1)
    is_praise = is_word["great"] | is_word["fun"]
    is_aspect = is_word["plot"] | is_word["cast"] | is_word["music"]
    praise = count["great"] + count["fun"]
    columns = {
        "praise": praise,
        "great": count["great"],
        "criticism": count["dull"],
        "plot": count["plot"] > 0,
        "cast": count["cast"] > 0,
        "music": count["music"] > 0,
        "off_topic": count["lunch"],
        "exclaim": count["!"],
        "ends_bang": is_word["!"][np.arange(len(replies)), length - 1],
        "one_word": length == 1,
        "specific": (is_praise[:, :-1] & is_aspect[:, 1:]).sum(axis=1),
        "mixed": (praise > 0) & (count["dull"] > 0),
        "repeats": sum(np.maximum(count[word] - 1, 0) for word in VOCABULARY if word != "!"),
        "gushing": praise >= 3,
        "shouting": count["!"] >= 2,
        "rambling": length == MAX_LEN,
    }
    return np.stack([columns[name] for name in FEATURES], axis=1).astype(np.float64)


POINTS = read_only(np.array(list(POINTS_TABLE.values())))
REPLIES = read_only(list_replies())
LENGTH = read_only((REPLIES != END).sum(axis=1))
ALL_FEATURES = read_only(feature_table(REPLIES))
ALL_GOLD = read_only(np.maximum(ALL_FEATURES @ POINTS, WORST))
_FIRST_OF_LENGTH = np.concatenate([[0, 0], np.cumsum(len(VOCABULARY) ** np.arange(1, MAX_LEN))])


def reply_text(i: int) -> str:
    """Reply number i in words: reply_text(3) is "plot"."""
    return " ".join(VOCABULARY[token] for token in REPLIES[i, : LENGTH[i]])


def reply_index(words: str | Sequence[str]) -> int:
    """Number of the reply with these words, given as a string or a list: the inverse of `reply_text`."""
    tokens = words.split() if isinstance(words, str) else list(words)
    unknown = [token for token in tokens if token not in VOCABULARY]
    if unknown or not 1 <= len(tokens) <= MAX_LEN:
        raise ValueError(f"words: must be 1 to {MAX_LEN} of {' '.join(VOCABULARY)}, got {words!r}")
    number = 0
    for token in tokens:
        number = number * len(VOCABULARY) + VOCABULARY.index(token)
    return int(_FIRST_OF_LENGTH[len(tokens)]) + number


def optimal_logprobs(ref_lp: ArrayLike, r: ArrayLike, beta: float) -> Array:
    """Log-probabilities of the RLHF policy for rewards r: ref_lp tilted by r / beta, normalised."""
    lp = np.asarray(ref_lp) + np.asarray(r) / beta
    lp = lp - lp.max()
    return lp - np.log(np.exp(lp).sum())


def exact_stats(lp: ArrayLike, ref_lp: ArrayLike) -> Stats:
    """What the policy with log-probabilities lp is worth, as sums over all replies of this world.

    gold: expected gold, in points. kl: KL from the reference policy, entropy: of the policy, both in nats. same: the
    chance that two draws are one and the same reply, so that comparing them would waste a label.
    """
    lp, ref_lp = np.asarray(lp), np.asarray(ref_lp)
    p = np.exp(lp)
    entropy = -float(p @ lp)
    return Stats(gold=float(p @ ALL_GOLD), kl=-entropy - float(p @ ref_lp), entropy=entropy, same=float(p @ p))


class World:
    """One world: the replies and their gold, and the SFT policy that belongs to a seed.

    X (N, 16) features of the replies; gold (N,) points; util (N,) logits, 2 * gold, the reward that people's answers
    follow; ref_lp (N,) log-probabilities of the SFT policy; demos (5000,) reply numbers that it was trained on; seed.

    The first world of a seed takes about a second; the policy is then kept.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.X = ALL_FEATURES
        self.gold = ALL_GOLD
        self.util = read_only(SHARPNESS * ALL_GOLD)
        self.demos, self.ref_lp = sft_policy(seed)

    def sample(self, logprobs: ArrayLike, n: int, rng: np.random.Generator) -> Indices:
        """(n,) reply numbers drawn independently from a policy; a reply of probability 0 is never drawn."""
        cumulative = np.cumsum(np.exp(logprobs))
        return np.searchsorted(cumulative / cumulative[-1], rng.random(n), side="right")

    def label(self, a: ArrayLike, b: ArrayLike, rng: np.random.Generator) -> Array:
        """(n,) answers of the annotators: 1.0 where reply a[i] is preferred to reply b[i], else 0.0.

        Bradley-Terry: the log-odds are util[a] - util[b]. A reply against itself is a fair coin.
        """
        difference = self.util[np.asarray(a)] - self.util[np.asarray(b)]
        return (logit(rng.random(len(difference))) < difference).astype(np.float64)

    def downstream(self, w: ArrayLike, beta: float) -> Stats:
        """Exact statistics of the RLHF policy for the reward model X @ w."""
        return exact_stats(optimal_logprobs(self.ref_lp, self.X @ np.asarray(w), beta), self.ref_lp)


@lru_cache(maxsize=8)
def sft_policy(seed: int) -> tuple[Indices, Array]:
    """(demonstrations, log-probabilities over replies) of the SFT policy of a seed."""
    demos = write_demonstrations(np.random.default_rng([seed, 2024]), N_DEMONSTRATIONS)
    return read_only(demos), read_only(train_sft(REPLIES[demos], seed))


def write_demonstrations(rng: np.random.Generator, n: int) -> Indices:
    """(n,) reply numbers as the demonstrator writes them."""
    moods = rng.choice(len(MOODS), size=n, p=list(MOODS.values()))
    lengths = rng.choice(MAX_LEN, size=n, p=NUMBER_OF_WORDS) + 1
    return np.array([write_reply(rng, tuple(MOODS)[m], int(length)) for m, length in zip(moods, lengths, strict=True)])


def write_reply(rng: np.random.Generator, mood: str, n_words: int) -> int:
    """One reply of so many words in a mood, with exclamation marks as they come; its number."""
    words: list[str] = []
    for _ in range(n_words):
        weights = dict(zip(VOCABULARY, WORD_WEIGHTS[mood], strict=False))  # all but !
        if rng.random() >= SLIP:
            weights = {word: weight for word, weight in weights.items() if word not in words}
        cumulative = np.cumsum(list(weights.values()))
        words.append(list(weights)[int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))])
    chance = BANG[mood]
    while len(words) < MAX_LEN and rng.random() < chance:
        words.append("!")
        chance = ANOTHER_BANG
    return reply_index(words)


def train_sft(demonstrations: Indices, seed: int) -> Array:
    """Train the SFT policy, a GRU over tokens, by maximum likelihood; log-probabilities of all replies, float64.

    PyTorch's global generator is left as it was.
    """
    import torch  # here alone: all that needs no SFT policy runs without it
    from torch import nn

    class Policy(nn.Module):
        """Next-token logits of the eight words and END; the start symbol is END."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(END + 1, EMBEDDING)
            self.gru = nn.GRU(EMBEDDING, HIDDEN, batch_first=True)
            self.head = nn.Linear(HIDDEN, END + 1)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            """(B, T) tokens -> (B, T + 1, 9) log-probabilities of the token at each place, given those before it."""
            start = torch.full((len(tokens), 1), END)
            states, _ = self.gru(self.embedding(torch.cat([start, tokens], dim=1)))
            logits = self.head(states)
            no_empty_reply = torch.zeros_like(logits[:, :1])
            no_empty_reply[..., END] = -torch.inf
            return torch.log_softmax(torch.cat([logits[:, :1] + no_empty_reply, logits[:, 1:]], dim=1), dim=-1)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        policy = Policy().double()
    batches = torch.Generator().manual_seed(seed)
    targets = torch.as_tensor(demonstrations)
    # A reply's words and its first END count; after five tokens there is no place left for an END.
    counts = torch.cat([torch.ones(len(targets), 1), (targets[:, :-1] != END).double()], dim=1)
    optimizer = torch.optim.Adam(policy.parameters(), lr=SFT_LR)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, SFT_STEPS)
    for _ in range(SFT_STEPS):
        rows = torch.randint(len(targets), (SFT_BATCH,), generator=batches)
        token_lp = policy(targets[rows, :-1]).gather(2, targets[rows, :, None])[..., 0]
        loss = -(token_lp * counts[rows]).sum(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()

    # The prefixes of up to four tokens are the empty one and the replies of up to four: 4,680 rows, not 37,448.
    n_short = int(_FIRST_OF_LENGTH[MAX_LEN])
    with torch.no_grad():
        lp = policy(torch.tensor(REPLIES[:n_short, :-1])).numpy()
    prefix_lp = np.zeros(1)  # of the words so far, over the prefixes of one length
    next_lp = lp[:1, 0]  # of the token after each of them
    blocks = []
    for length in range(1, MAX_LEN):
        prefix_lp = (prefix_lp[:, None] + next_lp[:, :END]).ravel()
        next_lp = lp[_FIRST_OF_LENGTH[length] : _FIRST_OF_LENGTH[length + 1], length]
        blocks.append(prefix_lp + next_lp[:, END])
    blocks.append((prefix_lp[:, None] + next_lp[:, :END]).ravel())
    return np.concatenate(blocks)
