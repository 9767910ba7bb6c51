"""What a unit of each currency is worth."""

RATES = {"EUR": 1.0, "USD": 0.9}


def in_euro(currency: str) -> float:
    return RATES[currency]


def known(summary: dict) -> dict:
    return {"currencies": sorted(RATES), "count": summary["count"]}
