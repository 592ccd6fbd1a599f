"""A program that runs a topology over history through Spark Connect, in a process of its own."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

import penstock as ps

builder = ps.StreamsBuilder()
words = builder.stream("words", key=str, value="json")
words.group_by(lambda key, value: value["word"], key=str, value="json").count(
    "counts"
).to_stream().to("out", key=str, value=int)

settings = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
session = SparkSession.builder.remote("local[2]")
for name, value in settings.items():
    session = session.config(name, value)
spark = session.getOrCreate()
rows = [(f"k{n}", json.dumps({"word": f"w{n % 3}"}), n) for n in range(30)]
frame = spark.createDataFrame(rows, "key string, value string, timestamp long")
with ps.run_batch(builder.build(), {"words": frame}, spark, num_partitions=2) as result:
    counts = {row["key"]: row["value"] for row in result.store("counts").collect()}
    out = result["out"].count()
print(json.dumps({"session": type(spark).__module__, "counts": counts, "out": out}))
spark.stop()
