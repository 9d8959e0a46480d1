"""Words that the array-API standard has no function for, in words that it has.

They serve libraries that say nothing else, so that registering a namespace is enough to bring one.
None is as fast as what a library can do itself: one that minds implements the word.
"""
