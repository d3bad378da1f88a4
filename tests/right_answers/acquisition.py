"""Right answers to acquisition.py: other forms of the same information, other averages over the posterior."""

import math

import numpy as np
import torch
from scipy import linalg, stats
from scipy.special import entr, expit, log_expit, rel_entr

from harness.variants import right_answer


@right_answer("acquisition_scores", "SciPy's entr and expit, a quadratic form through the Cholesky factor")
def scipy_entropies(rule, U, w, cov, rng, samples=None):
    U = np.asarray(U, dtype=float)
    if rule == "random":
        return rng.uniform(size=U.shape[0])
    if rule == "dopt":
        root = linalg.cholesky(cov, lower=True)
        p = expit(U @ w)
        return np.log1p(p * expit(-(U @ w)) * np.square(U @ root).sum(axis=1))
    if rule == "bald":
        if samples is None:
            samples = rng.multivariate_normal(w, cov, size=300, method="eigh")
        p = expit(U @ np.transpose(samples))
        q = expit(-(U @ np.transpose(samples)))
        expected = entr(p).mean(axis=1) + entr(q).mean(axis=1)
        return entr(p.mean(axis=1)) + entr(q.mean(axis=1)) - expected
    raise ValueError("rule: expected random, bald or dopt")


@right_answer("acquisition_scores", "torch float64 throughout, NumPy out; draws from rng")
def torch_inside(rule, U, w, cov, rng, samples=None):
    u, mode, C = (torch.tensor(np.asarray(x), dtype=torch.float64) for x in (U, w, cov))
    match rule:
        case "random":
            return rng.random(len(u))
        case "dopt":
            z = torch.mv(u, mode)
            weight = torch.sigmoid(z) * torch.sigmoid(-z)
            return torch.log1p(weight * torch.einsum("md,de,me->m", u, C, u)).numpy()
        case "bald":
            if samples is None:
                noise = torch.from_numpy(rng.standard_normal((512, len(mode))))
                draws = mode + noise @ torch.linalg.cholesky(C).T
            else:
                draws = torch.tensor(np.asarray(samples), dtype=torch.float64)
            z = u @ draws.T
            p = torch.stack([torch.sigmoid(z), torch.sigmoid(-z)])
            entropy = torch.special.entr
            return (entropy(p.mean(dim=2)).sum(dim=0) - entropy(p).sum(dim=0).mean(dim=1)).numpy()
    raise ValueError(rule)


@right_answer("acquisition_scores", "dopt as a difference of log-determinants row by row; BALD as mean KL to the mean")
def differences_of_log_determinants(rule, U, w, cov, rng, samples=None):
    if rule not in {"random", "bald", "dopt"}:
        raise ValueError(f"no such rule: {rule}")
    if rule == "random":
        return np.array([rng.random() for _ in U])
    scores = np.zeros(len(U))
    if rule == "dopt":
        for i, u in enumerate(np.asarray(U, dtype=float)):
            z = u @ w
            # The d by d determinant of I + C g u u^T, without inverting C.
            gain = np.eye(len(u)) + expit(z) * expit(-z) * np.outer(np.asarray(cov) @ u, u)
            scores[i] = np.linalg.slogdet(gain)[1]
        return scores
    if samples is None:
        root = linalg.sqrtm(cov).real
        samples = [np.asarray(w) + root @ rng.standard_normal(len(w)) for _ in range(40)]
    for i, u in enumerate(np.asarray(U, dtype=float)):
        z = np.array([u @ draw for draw in samples])
        answers = np.stack([expit(z), expit(-z)])
        scores[i] = rel_entr(answers, answers.mean(axis=1, keepdims=True)).sum(axis=0).mean()
    return scores


@right_answer("acquisition_scores", "without samples BALD is integrated over u . w, which is normal, on a fine grid")
def quadrature(rule, U, w, cov, rng, samples=None):
    if rule == "random":
        return rng.random(np.shape(U)[0])
    if rule not in ("bald", "dopt"):
        raise ValueError(f"rule {rule!r}")
    U = np.asarray(U, dtype=float)
    mean, variance = U @ w, np.sum((U @ cov) * U, axis=1).clip(min=0.0)
    if rule == "dopt":
        return np.logaddexp(0.0, np.log(variance, where=variance > 0, out=np.full(len(U), -np.inf)) + _log_weight(mean))
    if samples is None:
        nodes = np.linspace(-9.0, 9.0, 1501)
        weights = stats.norm.pdf(nodes)
        blocks = [
            _information(mean[i : i + 64, None] + np.sqrt(variance[i : i + 64, None]) * nodes, weights / weights.sum())
            for i in range(0, len(U), 64)
        ]
        return np.concatenate(blocks)
    weights = np.full(len(samples), 1 / len(samples))
    return _information(U @ np.asarray(samples).T, weights)


def _log_weight(z):
    """log p(1 - p)"""
    return log_expit(z) + log_expit(-z)


def _information(z, weights):
    """Mutual information of the answer and the draw for logits z (m, S), in log space."""
    log_p, log_q = log_expit(z), log_expit(-z)
    p, q = np.exp(log_p), np.exp(log_q)
    entropy = -(np.where(p > 0, p * log_p, 0.0) + np.where(q > 0, q * log_q, 0.0))
    return entr(p @ weights) + entr(q @ weights) - entropy @ weights


@right_answer("acquisition_scores", "Python numbers and loops over candidates, draws and features")
def python_loops(rule, U, w, cov, rng, samples=None):
    if rule == "random":
        return rng.random(len(U))
    if rule == "dopt":
        return np.array([_gain(list(map(float, u)), list(map(float, w)), np.asarray(cov).tolist()) for u in U])
    if rule == "bald":
        draws = rng.multivariate_normal(w, cov, 100) if samples is None else samples
        return np.array([_disagreement([float(np.dot(u, draw)) for draw in draws]) for u in U])
    raise ValueError(f"{rule} is not a rule")


def _sigmoid(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def _gain(u, w, cov):
    z = math.fsum(a * b for a, b in zip(u, w, strict=True))
    variance = math.fsum(u[i] * cov[i][j] * u[j] for i in range(len(u)) for j in range(len(u)))
    return math.log1p(_sigmoid(z) * _sigmoid(-z) * max(variance, 0.0))


def _disagreement(logits):
    def entropy(p, q):
        return -math.fsum(x * math.log(x) for x in (p, q) if x > 0)

    chances = [(_sigmoid(z), _sigmoid(-z)) for z in logits]
    mean_p, mean_q = (math.fsum(side) / len(logits) for side in zip(*chances, strict=True))
    return entropy(mean_p, mean_q) - math.fsum(entropy(p, q) for p, q in chances) / len(logits)


@right_answer("acquisition_scores", "probabilities clipped at 1e-15, antithetic own draws, the diagonal of U C U^T")
def clipped_and_antithetic(rule, U, w, cov, rng, samples=None):
    U = np.array(U, dtype=float)
    if rule == "random":
        return rng.random(len(U))
    if rule == "dopt":
        z = np.clip(U @ w, -500, 500)
        return np.log(1 + expit(z) * expit(-z) * np.diag(U @ cov @ U.T))
    if rule != "bald":
        raise ValueError("unknown rule")
    if samples is None:
        half = rng.standard_normal((128, len(w))) @ np.linalg.cholesky(cov).T
        samples = np.concatenate([w + half, w - half])
    p = np.clip(expit(U @ np.asarray(samples).T), 1e-15, 1 - 1e-15)
    mean = p.mean(1)
    h_mean = -mean * np.log(mean) - (1 - mean) * np.log(1 - mean)
    h = -p * np.log(p) - (1 - p) * np.log(1 - p)
    return np.maximum(h_mean - h.mean(1), 0.0)


@right_answer("acquisition_scores", "a fresh set of draws for every candidate")
def draws_for_each_candidate(rule, U, w, cov, rng, samples=None):
    U = np.atleast_2d(np.asarray(U, dtype=np.float64))
    z = U @ np.asarray(w)
    if rule == "random":
        return rng.integers(2**53, size=len(U)) / 2**53
    if rule not in ("bald", "dopt"):
        raise ValueError(f"rule: {rule}")
    variance = np.maximum(np.einsum("mi,ij,mj->m", U, cov, U), 0.0)
    if rule == "dopt":
        return np.log1p(variance / (2 + 2 * np.cosh(np.minimum(np.abs(z), 700.0))))
    if samples is None:
        # u . w is normal: one number for each candidate and draw is enough.
        logits = z[:, None] + np.sqrt(variance)[:, None] * rng.standard_normal((len(U), 200))
    else:
        logits = np.stack([U @ draw for draw in np.asarray(samples)], axis=1)
    size = np.abs(logits)
    odds = np.exp(-size)
    entropy = (np.log1p(odds) + size * odds / (1 + odds)).mean(axis=1)
    mean = expit(logits).mean(axis=1)
    return stats.bernoulli(mean).entropy() - entropy
