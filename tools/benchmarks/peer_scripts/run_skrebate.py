"""Functions of scikit-rebate, timed in its own environment."""

from common import main
from skrebate import ReliefF


def relieff(given, options):
    """Scores by ReliefF."""
    model = ReliefF(n_neighbors=options["neighbors"])
    return (
        lambda: model.fit(given["X"].copy(), given["y"]),
        lambda fitted: {"score": fitted.feature_importances_},
    )


if __name__ == "__main__":
    main("skrebate", {"relieff": relieff})
