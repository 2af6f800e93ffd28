"""The product's room under the model's simulator and checker, through an adapter.

In work by another hand since 01:50; whoever finds this and planned to write it: it is taken.
"""
