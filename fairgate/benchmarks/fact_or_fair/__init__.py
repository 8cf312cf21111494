"""Fact-or-Fair: 19 U.S. statistics, objective and subjective queries, S_fact and S_fair."""
