"""The leaderboard as files: markdown, HTML, and the tables and figures by themselves."""
