SELECT DISTINCT p.id, p.name, epoch_ms(p.dateTime) // 10000 * 10000 AS windowstart
FROM person p JOIN auction a
    ON p.id = a.seller AND epoch_ms(p.dateTime) // 10000 = epoch_ms(a.dateTime) // 10000
