from made_records import record
from smtlayer_studies.reports.one_rule import portfolio_table


def portfolio(seed, accuracy, rounds, **options):
    members = [{"accuracies": [0.5] * count, "seconds": 2.0 * count} for count in rounds]
    return record(method="portfolio", seed=seed, accuracy=accuracy, **options) | {
        "members": members
    }


def single(seed, accuracy, **options):
    epochs = [{"seconds": 1.0}] * 4
    return record(method="one-rule", seed=seed, accuracy=accuracy, **options) | {"epochs": epochs}


def test_portfolios_are_compared_with_single_trainings_from_the_same_seeds():
    records = [single(0, 0.9), single(1, 0.5), single(2, 0.1)]
    records += [portfolio(0, 0.9, [4]), portfolio(1, 0.7, [4, 4]), portfolio(7, 0.2, [4])]
    assert portfolio_table(records).rows == (("MNIST+ 10 %", "2", "70.0", "80.0", "1.50", "3.00"),)


def test_experiments_without_both_are_left_out():
    roster = {"experiment": "roster"}
    records = [portfolio(0, 0.9, [4]), single(0, 0.5, **roster), portfolio(0, 0.9, [4], **roster)]
    assert [row[0] for row in portfolio_table(records).rows] == ["Roster"]
