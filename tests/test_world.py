"""The reply world is what its description says, and its sums are exact."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import expit, logsumexp

from reference import world as reply_world
from reference.world import (
    ALL_FEATURES,
    ALL_GOLD,
    FEATURES,
    LENGTH,
    POINTS,
    REPLIES,
    VOCABULARY,
    World,
    exact_stats,
    optimal_logprobs,
    reply_index,
    reply_text,
)

BETA = 0.3
GOLD = {
    "fun plot great cast": 4.0,
    "fun plot great cast !": 3.0,
    "great plot !": 2.7,
    "fun music great music": 2.4,
    "great cast": 2.2,
    "fun plot": 1.8,
    "plot cast music": 1.2,
    "plot": 0.1,
    "dull plot": -0.8,
    "dull": -1.0,
    "great great great ! !": -1.0,
}


@pytest.fixture(scope="session")
def world():
    return World(0)


# Replies, features, points


def test_every_reply_of_one_to_five_tokens_is_listed_once():
    assert REPLIES.shape == (37_448, 5)
    assert len(np.unique(REPLIES, axis=0)) == 37_448
    assert np.bincount(LENGTH).tolist() == [0, 8, 64, 512, 4_096, 32_768]


def test_replies_are_in_order_of_length_then_tokens():
    assert [reply_text(i) for i in (0, 7, 8, 9, 16)] == ["great", "!", "great great", "great fun", "fun great"]
    assert reply_text(37_447) == "! ! ! ! !"


def test_reply_index_inverts_reply_text():
    for i in [*range(700), *range(700, 37_448, 97), 37_447]:
        assert reply_index(reply_text(i)) == i
    assert reply_index(["fun", "plot"]) == reply_index("fun plot")


@pytest.mark.parametrize("words", ["", "great great great great great great", "film", []])
def test_what_is_no_reply_has_no_index(words):
    with pytest.raises(ValueError, match="words"):
        reply_index(words)


def features_of(words):
    """The features by their description, one reply at a time."""
    tokens = words.split()
    praise = tokens.count("great") + tokens.count("fun")
    pairs = list(pairwise(tokens))
    return {
        "praise": praise,
        "great": tokens.count("great"),
        "criticism": tokens.count("dull"),
        "plot": "plot" in tokens,
        "cast": "cast" in tokens,
        "music": "music" in tokens,
        "off_topic": tokens.count("lunch"),
        "exclaim": tokens.count("!"),
        "ends_bang": tokens[-1] == "!",
        "one_word": len(tokens) == 1,
        "specific": sum(a in ("great", "fun") and b in ("plot", "cast", "music") for a, b in pairs),
        "mixed": praise > 0 and "dull" in tokens,
        "repeats": sum(max(tokens.count(word) - 1, 0) for word in VOCABULARY if word != "!"),
        "gushing": praise >= 3,
        "shouting": tokens.count("!") >= 2,
        "rambling": len(tokens) == 5,
    }


def test_features_agree_with_their_description():
    rng = np.random.default_rng(3)
    for i in [*range(600), *rng.integers(600, 37_448, 1_500)]:
        described = features_of(reply_text(i))
        assert tuple(described) == FEATURES
        np.testing.assert_array_equal(ALL_FEATURES[i], [float(value) for value in described.values()])


@pytest.mark.parametrize(("words", "gold"), GOLD.items())
def test_worked_golds(words, gold):
    assert ALL_GOLD[reply_index(words)] == pytest.approx(gold, abs=1e-12)


def test_gold_is_between_minus_one_and_four_which_twelve_replies_of_three_kinds_reach():
    best = np.flatnonzero(ALL_GOLD > 4 - 1e-9)
    assert ALL_GOLD.min() == -1
    assert ALL_GOLD.max() == pytest.approx(4, abs=1e-12)
    assert len(best) == 12
    assert len(np.unique(ALL_FEATURES[best], axis=0)) == 3
    assert ALL_FEATURES[reply_index("great great great ! !")] @ POINTS == pytest.approx(-3.6)


def test_features_and_constant_are_linearly_independent():
    kinds = np.unique(ALL_FEATURES, axis=0)
    assert len(kinds) == 2_528
    assert np.linalg.matrix_rank(np.column_stack([kinds, np.ones(len(kinds))])) == 17


# The SFT policy


def test_sft_policy_is_a_law_on_all_replies(world):
    assert world.ref_lp.dtype == np.float64
    assert np.isfinite(world.ref_lp).all()
    assert np.exp(world.ref_lp).sum() == pytest.approx(1, abs=1e-12)


def test_sft_policy_is_like_its_demonstrations(world):
    """It gives words their share of the demonstrations, and the hazards little."""
    p = np.exp(world.ref_lp)
    shown = np.bincount(world.demos, minlength=len(p)) / len(world.demos)
    np.testing.assert_allclose(p @ world.X, shown @ world.X, atol=0.1)
    for hazard, most in {"repeats": 0.05, "gushing": 0.01, "shouting": 0.02, "rambling": 0.08}.items():
        assert 0 < p[world.X[:, FEATURES.index(hazard)] > 0].sum() < most
    assert exact_stats(world.ref_lp, world.ref_lp)["gold"] == pytest.approx(0.43, abs=0.15)
    assert exact_stats(world.ref_lp, world.ref_lp)["entropy"] == pytest.approx(5.8, abs=0.2)


def test_demonstrations_follow_the_demonstrator():
    demos = reply_world.write_demonstrations(np.random.default_rng(5), 8_000)
    is_word = (REPLIES[demos] < 7).sum(axis=1)
    shares = np.bincount(is_word, minlength=6)[1:] / len(demos)
    np.testing.assert_allclose(shares, [0.20, 0.40, 0.28, 0.10, 0.02], atol=0.025)
    one_word = REPLIES[demos[is_word == 1], 0]
    lunch = 0.4 * 0.1 / 8.7 + 0.4 * 0.2 / 8.2 + 0.2 * 3 / 5.7
    assert np.mean(one_word == 6) == pytest.approx(lunch, abs=0.035)
    bang = (REPLIES[demos] == 7).any(axis=1)
    assert np.mean(bang[is_word < 5]) == pytest.approx(0.4 * 0.25 + 0.4 * 0.05 + 0.2 * 0.1, abs=0.02)


def legacy_state() -> Any:
    """State of NumPy's global generator."""
    state: Any = np.random.get_state()
    return state[1].copy()


def test_same_seed_same_policy_another_seed_another_policy(world):
    """And training leaves the global generators where they were."""
    legacy, torch_state = legacy_state(), torch.random.get_rng_state()
    again, other = reply_world.train_sft(REPLIES[world.demos], 0), World(1)
    np.testing.assert_array_equal(legacy_state(), legacy)
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    np.testing.assert_array_equal(again, world.ref_lp)
    assert not np.array_equal(other.demos, world.demos)
    assert np.abs(np.exp(other.ref_lp) - np.exp(world.ref_lp)).sum() > 0.05
    assert World(0).ref_lp is world.ref_lp


def test_shared_arrays_are_read_only(world):
    of_a_world = (world.X, world.gold, world.util, world.ref_lp, world.demos)
    for array in (REPLIES, LENGTH, POINTS, ALL_FEATURES, ALL_GOLD, *of_a_world):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_gold_and_util(world):
    assert world.gold is ALL_GOLD
    np.testing.assert_array_equal(world.util, 2 * ALL_GOLD)


# Policies in closed form


def test_zero_reward_is_the_sft_policy(world):
    stats, sft = world.downstream(np.zeros(16), BETA), exact_stats(world.ref_lp, world.ref_lp)
    assert stats == pytest.approx(sft, abs=1e-12)
    assert stats["kl"] == pytest.approx(0, abs=1e-12)


def test_policy_depends_on_reward_differences_over_beta(world):
    r = world.X @ np.linspace(-1, 1, 16)
    lp = optimal_logprobs(world.ref_lp, r, BETA)
    assert logsumexp(lp) == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(optimal_logprobs(world.ref_lp, r + 7, BETA), lp, atol=1e-9)
    np.testing.assert_allclose(optimal_logprobs(world.ref_lp, 4 * r, 4 * BETA), lp, atol=1e-12)


def test_policy_maximises_the_objective(world):
    """E[r] - beta KL is beta log Z at the optimum and less by beta KL(p || optimum) at any other p."""
    log_z = logsumexp(world.ref_lp + world.util / BETA)
    best = optimal_logprobs(world.ref_lp, world.util, BETA)
    objective = np.exp(best) @ world.util - BETA * exact_stats(best, world.ref_lp)["kl"]
    assert objective == pytest.approx(BETA * log_z, abs=1e-9)
    for lp in (world.ref_lp, optimal_logprobs(world.ref_lp, 2 * world.util, BETA)):
        p = np.exp(lp)
        value = p @ world.util - BETA * exact_stats(lp, world.ref_lp)["kl"]
        assert value == pytest.approx(BETA * log_z - BETA * (p @ (lp - best)), abs=1e-9)


def test_gold_rises_from_the_sft_value_to_four_as_beta_falls(world):
    betas = [1e6, 10, 1, 0.3, 0.1]
    gold = [exact_stats(optimal_logprobs(world.ref_lp, world.util, beta), world.ref_lp)["gold"] for beta in betas]
    assert gold == sorted(gold)
    assert gold[0] == pytest.approx(exact_stats(world.ref_lp, world.ref_lp)["gold"], abs=1e-4)
    limit = exact_stats(optimal_logprobs(world.ref_lp, world.util, 1e-3), world.ref_lp)["gold"]
    assert gold[-1] < limit == pytest.approx(4, abs=1e-9)


def test_the_floor_does_not_matter_to_the_perfect_policy(world):
    perfect = exact_stats(optimal_logprobs(world.ref_lp, world.util, BETA), world.ref_lp)
    assert perfect["gold"] == pytest.approx(3.96, abs=0.03)
    assert world.downstream(2 * POINTS, BETA)["gold"] == pytest.approx(perfect["gold"], abs=1e-4)


def test_stats_of_a_policy_by_hand():
    lp = np.full(37_448, -np.inf)
    i, j = reply_index("great cast"), reply_index("plot")
    ref_lp = np.full(37_448, -np.log(37_448))
    with np.errstate(invalid="ignore"):
        lp[[i, j]] = np.log([0.25, 0.75])
        stats = exact_stats(np.maximum(lp, -1e300), ref_lp)
    assert stats["gold"] == pytest.approx(0.25 * 2.2 + 0.75 * 0.1)
    assert stats["same"] == pytest.approx(0.625)
    entropy = -0.25 * np.log(0.25) - 0.75 * np.log(0.75)
    assert stats["entropy"] == pytest.approx(entropy)
    assert stats["kl"] == pytest.approx(np.log(37_448) - entropy)


# Sampling and labels


def test_samples_follow_the_policy_and_never_the_impossible(world):
    with np.errstate(divide="ignore"):
        lp = np.log([0.0, 0.5, 0.0, 0.3, 0.2, 0.0])
    draws = world.sample(lp, 100_000, np.random.default_rng(1))
    np.testing.assert_allclose(np.bincount(draws, minlength=6) / 100_000, np.exp(lp), atol=0.01)
    assert set(draws) == {1, 3, 4}
    assert world.sample(lp, 0, np.random.default_rng(1)).shape == (0,)


def test_sampling_is_inverse_cdf_as_in_choice(world):
    p = np.exp(world.ref_lp)
    chosen = np.random.default_rng(2).choice(len(p), 500, p=p / p.sum())
    np.testing.assert_array_equal(world.sample(world.ref_lp, 500, np.random.default_rng(2)), chosen)


def test_labels_are_bradley_terry_in_the_utilities(world):
    a, b = reply_index("fun plot"), reply_index("plot cast music")
    n = 100_000
    answers = world.label(np.full(n, a), np.full(n, b), np.random.default_rng(3))
    assert set(answers) == {0.0, 1.0}
    assert answers.mean() == pytest.approx(expit(2 * (1.8 - 1.2)), abs=0.01)
    assert world.label(np.full(n, a), np.full(n, a), np.random.default_rng(4)).mean() == pytest.approx(0.5, abs=0.01)


def test_labels_use_one_uniform_number_each(world):
    a, b = np.random.default_rng(5).integers(0, 37_448, (2, 1_000))
    probability = expit(world.util[a] - world.util[b])
    expected = np.random.default_rng(6).random(1_000) < probability
    np.testing.assert_array_equal(world.label(a, b, np.random.default_rng(6)), expected)
