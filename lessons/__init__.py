"""The course: one Markdown file a lesson in `<language>/NN-name.md`, and the code that reads and checks such files.

Nothing here draws. `parse` turns a file into blocks, `expressions` computes the numbers in its prose, `check` names
faults by file and line, and `views.lesson` puts the blocks on a page.
"""
