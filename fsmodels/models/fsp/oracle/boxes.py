r"""The weight and the sigma of one feature, with bounds that scale with sigma, in the Newton system.

Bounds l sigma <= w <= u sigma add complementary pairs ``push (w - l sigma)`` and ``pull (u sigma - w)`` to those of
``oracle.relaxation``. With ``v~ = v + push - pull`` the conditions of a feature are ``w = sigma v~`` and ``r + gamma =
c + A'theta + zeta``, gamma = 1/2 v~^2 - l push + u pull, which is g(v) of ``problem`` at the best push and pull. Linear
in (dw, ds), with kp = push / (w - l sigma), kq = pull / (u sigma - w), and pairs to move by t5 and t6 ::

    (1/sigma + K) dw - (v~/sigma + L) ds = dv + tau + m / sigma                 K = kp + kq, L = l kp + u kq
    (1/h + v~^2/sigma + B) ds - (v~/sigma + L) dw = g~ - A'dtheta - v~ m/sigma   B = l^2 kp + u^2 kq
    tau = t5/(w - l sigma) - t6/(u sigma - w),   g~ = g - l t5/(w - l sigma) + u t6/(u sigma - w),   m = sigma v~ - w

Solved, dw = E dv + c - F A'dtheta and ds = F dv + e - S A'dtheta, where no difference of near numbers is left in ::

    Q = 1 + sigma K + h (kp (v~ - l)^2 + kq (v~ - u)^2 + sigma kp kq (u - l)^2)
    E = (h (v~^2 + sigma B) + sigma) / Q,   F = h (v~ + sigma L) / Q,   S = h (1 + sigma K) / Q
    c = E tau + F g~ + (1 + h (B - L v~)) m / Q,   e = F tau + S g~ + h (L - K v~) m / Q
    S - F^2/E = sigma h / (h (v~^2 + sigma B) + sigma)

Without bounds this is E = sigma + h v^2, F = h v, S = h; for a fixed sigma h = 0.
"""

from __future__ import annotations

from fsmodels.models.proofs.svm import Array


class Boxes:
    """The eliminated pairs of all features at one iterate; ``low``, ``up`` are 0 where ``kp``, ``kq`` are."""

    def __init__(self, sigma: Array, h: Array, v: Array, low: Array, up: Array, kp: Array, kq: Array) -> None:
        self.low, self.up = low, up
        K, L, B = kp + kq, low * kp + up * kq, low**2 * kp + up**2 * kq
        Q = 1 + sigma * K + h * (kp * (v - low) ** 2 + kq * (v - up) ** 2 + sigma * kp * kq * (up - low) ** 2)
        both = h * (v**2 + sigma * B) + sigma
        self.E, self.F, self.S = both / Q, h * (v + sigma * L) / Q, h * (1 + sigma * K) / Q
        self.kept = sigma * h / both  # S - F^2 / E
        self._to_w, self._to_x = (1 + h * (B - L * v)) / Q, h * (L - K * v) / Q

    def sides(self, missed: Array, g: Array, by_low: Array, by_up: Array) -> tuple[Array, Array]:
        """Return c and e; ``by_low``, ``by_up`` are t5 and t6 over their slacks, and ``g`` is 0 for a fixed sigma."""
        tau, g = by_low - by_up, g - self.low * by_low + self.up * by_up
        return self.E * tau + self.F * g + self._to_w * missed, self.F * tau + self.S * g + self._to_x * missed
