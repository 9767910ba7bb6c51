"""Sums up what step 'orders' found; 'rates' lies beside it."""

import rates


def main(orders: dict) -> dict:
    total = sum(row["amount"] * rates.in_euro(row["currency"]) for row in orders["rows"])
    return {"total": round(total, 2), "count": orders["count"]}
