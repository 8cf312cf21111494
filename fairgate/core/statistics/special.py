"""The functions of `scipy.special` that are used here, loaded with the first call.

Loading them takes as long as all of numpy, and nothing needs them before the first answers are there: a run asks its
first question that much sooner.
"""

from __future__ import annotations

from typing import Any


def ndtr(x: Any) -> Any:
    """The standard normal distribution function."""
    from scipy import special

    return special.ndtr(x)


def ndtri(p: Any) -> Any:
    """Its inverse: the quantile of `p`, 0 to 1."""
    from scipy import special

    return special.ndtri(p)


def betaincinv(a: Any, b: Any, p: Any) -> Any:
    """The quantile of `p`, 0 to 1, of a Beta(a, b) distribution."""
    from scipy import special

    return special.betaincinv(a, b, p)


def chdtrc(degrees: Any, x: Any) -> Any:
    """The chance of a chi-squared variable with so many degrees of freedom to be above `x`."""
    from scipy import special

    return special.chdtrc(degrees, x)


def stdtr(degrees: Any, t: Any) -> Any:
    """Student's distribution function."""
    from scipy import special

    return special.stdtr(degrees, t)


def stdtrit(degrees: Any, p: Any) -> Any:
    """Its inverse: the quantile of `p`, 0 to 1."""
    from scipy import special

    return special.stdtrit(degrees, p)


def ncfdtr(between: Any, within: Any, noncentrality: Any, x: Any) -> Any:
    """The noncentral F distribution function."""
    from scipy import special

    return special.ncfdtr(between, within, noncentrality, x)


def fdtr(between: Any, within: Any, x: Any) -> Any:
    """The F distribution function."""
    from scipy import special

    return special.fdtr(between, within, x)
