"""The layouts of tables, one module each: `layout` in the yaml of an experiment names
one of them.
"""
