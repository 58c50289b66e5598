"""Optional dependencies of methods."""

from __future__ import annotations

from sfs_cli.errors import MissingExtraError


def require_sklearn(method: str) -> None:
    """Refuse to go on without scikit-learn.

    Parameters
    ----------
    method : str
        What to call the method in the message.

    Raises
    ------
    MissingExtraError
        When scikit-learn is not installed.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"{method} needs scikit-learn, which is not installed",
            hint="pip install 'sfs-cli[ml]'",
        ) from error
