CREATE TABLE IF NOT EXISTS orders (day TEXT, amount REAL, currency TEXT);
DELETE FROM orders;
INSERT INTO orders VALUES ('2026-10-03', 120, 'EUR'), ('2026-10-19', 100, 'USD'), ('2026-11-02', 75, 'EUR');
