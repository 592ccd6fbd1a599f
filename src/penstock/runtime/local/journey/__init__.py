"""Run one record beside an application, and note what every node does with it."""
