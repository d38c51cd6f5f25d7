"""The leaderboard: statistics, tables, figures and pages, from the records of a ledger alone. Imports no torch.

`rows.select` collects records into rows, `groups.groups` puts comparable rows together, `gains.gains_from` compares two
rows, `leaderboard.leaderboard` makes every table (rows of cells) and figure, and `page.write` renders them.
`console` has the tables that a run prints, and `results` the ledger as a data frame. A layout of tables, such as
`curves.fractions`, is a function of an experiment, its suite, the groups and the gains.
"""
