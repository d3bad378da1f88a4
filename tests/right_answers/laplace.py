"""Right answers to laplace.py, written in other ways than the reference: they must pass every fact."""

import math

import numpy as np
import torch
from scipy import linalg, optimize, special, stats

from harness.variants import right_answer

# ---- sigmoid


@right_answer("sigmoid", "the textbook formula; its overflow to 1/inf = 0 is silenced")
def textbook_in_silence(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-np.asarray(x, dtype=float)))


@right_answer("sigmoid", "the textbook formula, RuntimeWarning and all")
def textbook_with_warning(x):
    return 1 / (1 + np.exp(np.negative(x, dtype=float)))


@right_answer("sigmoid", "by the hyperbolic tangent of half the argument")
def by_tanh(x):
    return np.tanh(np.true_divide(x, 2)) / 2 + 0.5


@right_answer("sigmoid", "in log space: exp(-log(1 + exp(-x)))")
def in_log_space(x):
    return np.exp(-np.logaddexp(0.0, -np.asarray(x, dtype=np.float64)))


@right_answer("sigmoid", "SciPy's expit")
def by_expit(x):
    return special.expit(np.asarray(x, dtype=np.float64))


@right_answer("sigmoid", "PyTorch in double precision")
def by_torch(x):
    return torch.sigmoid(torch.tensor(np.asarray(x, dtype=np.float64))).numpy()


@right_answer("sigmoid", "the distribution function of the logistic law; a Python float for a scalar")
def by_logistic_law(x):
    p = stats.logistic.cdf(np.asarray(x, dtype=np.float64))
    return float(p) if np.ndim(x) == 0 else np.asarray(p)


@right_answer("sigmoid", "math.exp on one entry after the other, with a branch, over a flat list")
def entry_by_entry(x):
    x = np.asarray(x)

    def one(value):
        if value < 0:
            return 1 - one(-value) if value > -1 else math.exp(value) / (1 + math.exp(value))
        return 1 / (1 + math.exp(-value))

    return np.array([one(float(value)) for value in x.ravel()], dtype=np.float64).reshape(x.shape)


@right_answer("sigmoid", "two safe branches filled by index, of an array with one axis more")
def branches_by_index(x):
    x = np.array(x, dtype=np.float64)[None]
    right, shape = x > 0, x.shape[1:]
    p = np.empty(x.shape)
    p[right] = 1 / (1 + np.exp(-x[right]))
    p[~right] = np.exp(x[~right]) / (1 + np.exp(x[~right]))
    return p.reshape(shape)


@right_answer("sigmoid", "the argument clipped to +-40, where the function is 0 or 1 to 4e-18")
def clipped_at_forty(x):
    return 1 / (1 + np.exp(-np.clip(np.asarray(x, dtype=np.float64), -40, 40)))


# ---- fit_laplace


def _terms(U, Y, lam):
    """The loss, its gradient and its Hessian, as functions of w."""
    U, Y = np.array(U, dtype=np.float64), np.array(Y, dtype=np.float64)

    def loss(w):
        z = U @ w
        return np.sum(np.logaddexp(0, z) - Y * z) + lam * (w @ w) / 2

    def gradient(w):
        return U.T @ (special.expit(U @ w) - Y) + lam * w

    def hessian(w):
        p = special.expit(U @ w)
        return U.T @ np.diag(p * special.expit(-U @ w)) @ U + lam * np.eye(U.shape[1])

    return loss, gradient, hessian


def _polished(w, gradient, hessian):
    for _ in range(3):
        w = w - np.linalg.solve(hessian(w), gradient(w))
    return w


@right_answer("fit_laplace", "SciPy's trust region with exact Hessian, and three Newton steps to finish")
def by_trust_region(U, Y, prior_precision=1.0):
    loss, gradient, hessian = _terms(U, Y, prior_precision)
    start = np.zeros(np.shape(U)[1])
    w = optimize.minimize(loss, start, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-6}).x
    w = _polished(w, gradient, hessian)
    return w, np.linalg.inv(hessian(w))


@right_answer("fit_laplace", "full Newton steps until they are small, none of them halved")
def by_full_newton_steps(U, Y, prior_precision=1.0):
    _, gradient, hessian = _terms(U, Y, prior_precision)
    w = np.zeros(np.shape(U)[1])
    for _ in range(100):
        step = np.linalg.solve(hessian(w), gradient(w))
        w = w - step
        if np.abs(step).max() < 1e-12:
            break
    return w, np.linalg.inv(hessian(w))


@right_answer("fit_laplace", "L-BFGS to a small gradient, nothing after it; the covariance by a Cholesky solve")
def by_lbfgs(U, Y, prior_precision=1.0):
    loss, gradient, hessian = _terms(U, Y, prior_precision)
    w = np.zeros(np.shape(U)[1])
    for _ in range(6):  # its line search gives up early on steep losses: begin again where it stopped
        w = optimize.minimize(
            loss,
            w,
            jac=gradient,
            method="L-BFGS-B",
            options={"gtol": 1e-12, "ftol": 0, "maxiter": 20_000, "maxfun": 40_000},
        ).x
    return w, linalg.cho_solve(linalg.cho_factor(hessian(w)), np.eye(len(w)))


@right_answer("fit_laplace", "BFGS of SciPy as it comes")
def by_bfgs(U, Y, prior_precision=1.0):
    loss, gradient, hessian = _terms(U, Y, prior_precision)
    w = optimize.minimize(loss, np.zeros(np.shape(U)[1]), jac=gradient).x
    return w, np.linalg.inv(hessian(w))


@right_answer("fit_laplace", "L-BFGS of PyTorch with its line search, nothing after it")
def by_torch_lbfgs(U, Y, prior_precision=1.0):
    features, answers = (torch.tensor(np.asarray(x), dtype=torch.float64) for x in (U, Y))
    w = torch.zeros(features.shape[1], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [w], max_iter=500, tolerance_grad=1e-12, tolerance_change=1e-14, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        misfit = torch.nn.functional.binary_cross_entropy_with_logits(features @ w, answers, reduction="sum")
        loss = misfit + prior_precision / 2 * (w @ w)
        loss.backward()
        return loss

    optimizer.step(closure)
    mode = w.detach().numpy()
    return mode, np.linalg.inv(_terms(U, Y, prior_precision)[2](mode))


@right_answer("fit_laplace", "Newton steps as least squares problems, by QR of the weighted rows on top of the prior's")
def by_qr(U, Y, prior_precision=1.0):
    loss, gradient, _ = _terms(U, Y, prior_precision)
    U, w = np.asarray(U, dtype=np.float64), np.zeros(np.shape(U)[1])

    def triangle(w):
        weight = special.expit(U @ w) * special.expit(-U @ w)
        rows = np.vstack([np.sqrt(weight)[:, None] * U, np.sqrt(prior_precision) * np.eye(len(w))])
        return np.linalg.qr(rows, mode="r")

    for _ in range(80):
        R = triangle(w)
        step = linalg.solve_triangular(R, linalg.solve_triangular(R, gradient(w), trans="T"))
        size = 1.0
        while loss(w - size * step) > loss(w) and size > 1e-6:
            size *= 0.5
        w = w - (size if size > 1e-6 else 1.0) * step
        if np.linalg.norm(step) < 1e-14 * (1 + np.linalg.norm(w)):
            break
    root = linalg.solve_triangular(triangle(w), np.eye(len(w)))
    return w, root @ root.T


@right_answer("fit_laplace", "PyTorch's derivatives by automatic differentiation, in damped Newton steps")
def by_autograd(U, Y, prior_precision=1.0):
    U, Y = torch.tensor(np.asarray(U, dtype=np.float64)), torch.tensor(np.asarray(Y, dtype=np.float64))

    def loss(w):
        z = U @ w
        return torch.nn.functional.softplus(z, threshold=700).sum() - Y @ z + prior_precision / 2 * (w @ w)

    w = torch.zeros(U.shape[1], dtype=torch.float64)
    for _ in range(60):
        gradient = torch.autograd.functional.jacobian(loss, w)
        step = torch.linalg.solve(torch.autograd.functional.hessian(loss, w), gradient)
        size = 1.0
        while size > 1e-6 and loss(w - size * step) > loss(w) - 1e-3 * size * (step @ gradient):
            size /= 2
        w = w - (size if size > 1e-6 else 1.0) * step
        if step.abs().max() < 1e-13 * (1 + w.abs().max()):
            break
    return w.numpy(), torch.linalg.inv(torch.autograd.functional.hessian(loss, w)).numpy()


@right_answer(
    "fit_laplace", "as a Gaussian process over the comparisons, whose kernel is U U'/lam (Rasmussen, Williams 3.1)"
)
def over_the_comparisons(U, Y, prior_precision=1.0):
    loss, _, _ = _terms(U, Y, prior_precision)
    U, Y = np.asarray(U, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    K, alpha = U @ U.T / prior_precision, np.zeros(len(U))

    def mode(alpha):
        return U.T @ alpha / prior_precision

    def pieces(alpha):
        f = K @ alpha
        root = np.sqrt(special.expit(f) * special.expit(-f))
        return f, root, np.eye(len(U)) + root[:, None] * K * root

    for _ in range(80):
        f, root, B = pieces(alpha)
        target = root**2 * f + Y - special.expit(f)
        step = target - root * np.linalg.solve(B, root * (K @ target)) - alpha
        size = 1.0
        while size > 1e-6 and loss(mode(alpha + size * step)) > loss(mode(alpha)) + 1e-14:
            size /= 2
        alpha = alpha + (size if size > 1e-6 else 1.0) * step
        if np.abs(step).max(initial=0.0) < 1e-14:
            break
    _, root, B = pieces(alpha)
    seen = root[:, None] * U / prior_precision
    return mode(alpha), np.eye(U.shape[1]) / prior_precision - seen.T @ np.linalg.solve(B, seen)


@right_answer("fit_laplace", "by continuation: from a prior so strong that w is nearly 0 down to the one asked for")
def by_continuation(U, Y, prior_precision=1.0):
    w = np.zeros(np.shape(U)[1])
    strongest = 4 * float(np.sum(np.square(np.asarray(U, dtype=np.float64)))) + prior_precision
    path = np.geomspace(strongest, prior_precision, 60)
    for lam in [*path, prior_precision]:
        _, gradient, hessian = _terms(U, Y, lam)
        for _ in range(6):
            w = w - np.linalg.solve(hessian(w), gradient(w))
    return [w, np.linalg.inv(hessian(w))]


# ---- posterior_samples


@right_answer("posterior_samples", "NumPy's multivariate normal, by Cholesky")
def numpy_multivariate_normal(w, cov, n, rng):
    return rng.multivariate_normal(w, cov, size=n, method="cholesky")


@right_answer("posterior_samples", "NumPy's multivariate normal as it comes, by singular values")
def numpy_by_singular_values(w, cov, n, rng):
    return rng.multivariate_normal(w, cov, n)


@right_answer("posterior_samples", "SciPy's multivariate normal, brought into shape")
def scipy_multivariate_normal(w, cov, n, rng):
    if n == 0:
        return np.empty((0, len(w)))
    return np.reshape(stats.multivariate_normal.rvs(w, cov, size=n, random_state=rng), (n, len(w)))


@right_answer("posterior_samples", "the symmetric square root from an eigendecomposition")
def symmetric_root(w, cov, n, rng):
    values, vectors = np.linalg.eigh(cov)
    return w + rng.standard_normal((n, len(w))) @ (vectors * np.sqrt(values) @ vectors.T)


@right_answer("posterior_samples", "one column of noise for all draws at a time, turned into rows at the end")
def columns_turned_into_rows(w, cov, n, rng):
    noise = np.stack([rng.normal(size=n) for _ in range(len(w))])
    return np.ascontiguousarray((np.linalg.cholesky(cov) @ noise + np.reshape(w, (-1, 1))).T)


@right_answer("posterior_samples", "one draw at a time, weight by weight: each given those before it")
def weight_by_weight(w, cov, n, rng):
    cov, rows = np.asarray(cov), np.empty((n, len(w)))
    for row in rows:
        for k in range(len(w)):
            regression = np.linalg.solve(cov[:k, :k], cov[:k, k])
            mean = w[k] + regression @ (row[:k] - w[:k])
            row[k] = rng.normal(mean, np.sqrt(cov[k, k] - regression @ cov[:k, k]))
    return rows


@right_answer("posterior_samples", "a triangular solve with the Cholesky factor of the precision")
def from_the_precision(w, cov, n, rng):
    root = np.linalg.cholesky(np.linalg.inv(cov))
    return w + linalg.solve_triangular(root, rng.standard_normal((len(w), n)), lower=True, trans="T").T


@right_answer("posterior_samples", "uniform numbers through the quantile function of the normal law")
def by_quantiles(w, cov, n, rng):
    noise = special.ndtri(1 - rng.random((n, len(w))))
    return np.einsum("ij,nj->ni", np.linalg.cholesky(cov), np.minimum(noise, 40.0)) + w


@right_answer("posterior_samples", "PyTorch's normal numbers, from a generator that rng has seeded")
def torch_noise(w, cov, n, rng):
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    noise = torch.randn(n, len(w), generator=generator, dtype=torch.float64)
    root = torch.linalg.cholesky(torch.tensor(np.asarray(cov)))
    return (torch.tensor(np.asarray(w)) + noise @ root.T).numpy()


@right_answer("posterior_samples", "noise in single precision, which is enough for random numbers")
def noise_in_single_precision(w, cov, n, rng):
    return w + rng.standard_normal((n, len(w)), dtype=np.float32) @ np.linalg.cholesky(cov).T


# ---- sherman_morrison_update


@right_answer("sherman_morrison_update", "two plain inversions: the same matrix, in O(d^3)")
def inverted_twice(cov, u, p):
    return np.linalg.inv(np.linalg.inv(cov) + p * (1 - p) * np.outer(u, u))


@right_answer("sherman_morrison_update", "entry by entry, in Python lists")
def entry_by_entry_in_lists(cov, u, p):
    d = len(u)
    Cu = [sum(float(cov[i][j]) * float(u[j]) for j in range(d)) for i in range(d)]
    weight = float(p) * (1.0 - float(p))
    factor = weight / (1.0 + weight * sum(float(u[i]) * Cu[i] for i in range(d)))
    return np.array([[float(cov[i][j]) - factor * Cu[i] * Cu[j] for j in range(d)] for i in range(d)])


@right_answer("sherman_morrison_update", "u scaled by the root of its weight, einsum, symmetrised at the end")
def scaled_question(cov, u, p):
    v = np.sqrt(p * (1 - p)) * u
    new = cov - np.einsum("ij,j,k,kl->il", cov, v, v, cov) / (1 + np.einsum("i,ij,j", v, cov, v))
    return 0.5 * (new + new.T)


@right_answer("sherman_morrison_update", "Joseph's form of the Kalman update, symmetric and positive by construction")
def joseph_form(cov, u, p):
    weight = p * (1 - p)
    gain = weight * (cov @ u) / (1 + weight * (u @ cov @ u))
    keep = np.eye(len(u)) - np.outer(gain, u)
    noise = np.outer(gain, gain) / weight if weight > 0 else 0.0
    return keep @ cov @ keep.T + noise


@right_answer("sherman_morrison_update", "a Cholesky factor that is shrunk along one direction")
def through_the_cholesky_factor(cov, u, p):
    L = np.linalg.cholesky(cov)
    v = np.sqrt(p * (1 - p)) * (L.T @ u)
    # I - v v'/(1 + v'v) is the square of I - t v v' with this t.
    length = v @ v
    t = 1 / (1 + length + np.sqrt(1 + length))
    factor = L - np.outer(L @ v, t * v)
    return factor @ factor.T


@right_answer("sherman_morrison_update", "PyTorch in double precision, a rank-one addr on a copy")
def rank_one_in_torch(cov, u, p):
    C, u = torch.tensor(np.asarray(cov, dtype=np.float64)), torch.tensor(np.asarray(u, dtype=np.float64))
    Cu, weight = C @ u, float(p) * (1 - float(p))
    return torch.addr(C, Cu, Cu, alpha=-weight / (1 + weight * float(u @ Cu))).numpy()


@right_answer("sherman_morrison_update", "a new precision from the Cholesky solve of the old, and its solve back")
def by_cholesky_solves(cov, u, p):
    eye = np.eye(len(u))
    precision = linalg.cho_solve(linalg.cho_factor(cov), eye) + p * (1 - p) * np.outer(u, u)
    return linalg.cho_solve(linalg.cho_factor(precision), eye)
