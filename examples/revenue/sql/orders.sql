SELECT day, amount, currency
FROM orders
WHERE day BETWEEN ? AND ?
ORDER BY day
