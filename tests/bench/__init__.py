"""Benches: ratios against a reference in the same run, and counts. Never timed tests.

python -m tests.bench            all of them, with goals
python -m tests.bench --quick    short runs that print and judge nothing
"""
