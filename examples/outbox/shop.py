"""The shop: every order and what is told about it are one transaction.

Run it with the address of the database: ``python shop.py postgresql://ann@localhost/shop 20``
"""

import json
import sys
import uuid

import psycopg

CUSTOMERS = ("ann", "bob", "cem")


def place_order(
    connection: psycopg.Connection, order_id: str, customer: str, amount: float
) -> None:
    """Write the order and its event, or neither of them."""
    event = json.dumps({"order_id": order_id, "customer": customer, "amount": amount})
    with connection.transaction():
        connection.execute("INSERT INTO orders VALUES (%s, %s, %s)", (order_id, customer, amount))
        outbox = "INSERT INTO outbox VALUES (%s, 'order', %s, 'OrderPlaced', %s)"
        connection.execute(outbox, (uuid.uuid4(), order_id, event))


def place_orders(address: str, count: int) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        for number in range(count):
            customer = CUSTOMERS[number % len(CUSTOMERS)]
            place_order(connection, f"order-{uuid.uuid4()}", customer, 10.0 + number)


if __name__ == "__main__":
    place_orders(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10)
